"""Results of nodes and tasks, kept so that equal work is done once.

| module | lives there |
|---|---|
| `cache.base` | `BaseCache`, the protocol |
| `cache.memory` | `InMemoryCache` |
| `cache.sqlite` | `SqliteCache`: one file, shared by processes |
| `cache.redis` | `RedisCache`: one server, shared by machines (`pip install "stepgraph[redis]"`) |
| `cache.keys` | how namespaces and keys are written as text |
| `cache.single_flight` | who computes, and who waits, when several miss the same key at once |
| `cache.lookup` | the two put together: look up, wait, or be told to compute |

A cache keeps what it is given: that only results of attempts that succeeded are given to it is up to the engine.
"""
