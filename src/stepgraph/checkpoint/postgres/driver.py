"""What blocking and awaited connections have in common: texts, errors, when a connection is given back.

Rules: `psycopg` is imported here, and a missing one says how to install it. Nothing here waits.
"""

from __future__ import annotations

import select
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from stepgraph.checkpoint.postgres.schema import UNUSUAL

try:
    import psycopg
    import psycopg_pool
    from psycopg.pq import TransactionStatus
    from psycopg.rows import tuple_row
except ImportError as error:
    raise ImportError(
        "Savers and stores on PostgreSQL need the packages psycopg and psycopg_pool, which are not installed."
        ' Install them with: pip install "stepgraph[postgres]"'
    ) from error

if TYPE_CHECKING:
    from stepgraph.checkpoint.step_saver import Encoded

__all__ = (
    "BEGIN_READ",
    "BEGIN_WRITE",
    "MAX_CONNECTIONS",
    "explained",
    "in_transaction",
    "is_dead",
    "is_unusual",
    "native",
    "options_of",
    "psycopg",
    "psycopg_pool",
    "tuple_row",
    "where",
)

MAX_CONNECTIONS: Final = 10
"""So many connections are open at once for a saver that is made from a URL; who needs more waits."""
BEGIN_READ: Final = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
BEGIN_WRITE: Final = "ISOLATION LEVEL READ COMMITTED READ WRITE"


def options_of() -> dict[str, Any]:
    """How our own connections are opened: statements that come again are prepared from the second time on."""
    return {"autocommit": True, "prepare_threshold": 1, "application_name": "stepgraph"}


@lru_cache(1024)
def native(sql: str) -> str:
    """A statement with this package's marks for parameters."""
    return sql.replace("?", "%s")


def in_transaction(connection: psycopg.BaseConnection[Any]) -> bool:
    """Whether whoever made the connection began a transaction that is still open."""
    return connection.info.transaction_status != TransactionStatus.IDLE


def is_dead(connection: psycopg.BaseConnection[Any]) -> bool:
    """Whether a connection that nobody uses is closed, or has something to say: it says good-bye, or the server is gone."""
    if connection.closed:
        return True
    try:
        return _has_something_to_read(connection.fileno())
    except (OSError, ValueError, psycopg.Error):
        return True


def _has_something_to_read(handle: int) -> bool:
    if not hasattr(select, "poll"):
        return bool(select.select([handle], [], [], 0)[0])
    poll = select.poll()  # unlike `select`, it takes any number of open files
    poll.register(handle, select.POLLIN)
    return bool(poll.poll(0))


def is_unusual(error: psycopg.Error) -> bool:
    """Whether one of our functions asks for a closer look."""
    return error.sqlstate == UNUSUAL


def where(batch: Sequence[Encoded]) -> str:
    """The place of a batch, for people."""
    keys = sorted({item.key for item in batch})
    return " and ".join(f"thread {thread!r}, namespace {namespace!r}" for thread, namespace in keys[:3])


@contextmanager
def explained(what: str, reconnects: bool, who: str = "saver") -> Iterator[None]:
    """Say what was under way when the server or the way to it failed, and what to do.

    Args:
        what: What was under way.
        reconnects: Whether the next use opens another connection.
        who: What was at work.
    """
    try:
        yield
    except psycopg.DataError as error:
        if "NUL" not in str(error):
            raise
        raise ValueError(
            f"PostgreSQL holds no NUL character in text, so {what} failed: thread ids, namespaces, ids of checkpoints, tasks"
            " and runs must be without \\0. Values of the state may contain it."
        ) from error
    except psycopg.Error as error:
        if not _is_about_the_connection(error):
            error.add_note(f"This happened while {what} was under way; nothing of it is stored.")
            raise
        mend = (
            f"Run again when the server is back: this {who} opens another connection by itself."
            if reconnects
            else f"This {who} works on one connection that its maker opened: open another one and make a {who} with it,"
            " or make it from a pool or with from_conn_string(url), which open another one by themselves."
        )
        raise ConnectionError(
            f"No working connection to PostgreSQL, so {what} failed: {str(error).strip()}. What was being stored is there as"
            f" a whole or not at all. {mend}"
        ) from error


def _is_about_the_connection(error: psycopg.Error) -> bool:
    """Whether the server or the way to it is gone, and not only what was asked of it."""
    if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))
