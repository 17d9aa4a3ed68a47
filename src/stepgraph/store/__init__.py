"""Memory that outlives a thread: namespaced key-value items with filters, expiry and vector search.

Rooms:

| module | lives there |
|---|---|
| `store.base` | the protocol (`BaseStore`), its operations, and every rule that all stores share, as pure functions |
| `store.base.batch` | `AsyncBatchedBaseStore`: groups concurrent async calls into one batch |
| `store.memory` | `InMemoryStore` |
| `store.sql` | the same operations as SQL statements with parameters, for any SQL dialect |
| `store.sqlite` | `SqliteStore` and `AsyncSqliteStore` |
| `store.postgres` | `PostgresStore` and `AsyncPostgresStore`: filters and texts as PostgreSQL needs them |

Data walks one way: operations -> `BatchPlan` (checked, grouped) -> a program that yields requests (embed, read, write)
-> a thin sync or async runner that carries the requests out.
"""
