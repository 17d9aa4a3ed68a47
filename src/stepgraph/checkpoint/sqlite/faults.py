"""What SQLite's errors mean for a person, and what to do about them: said as a note on the error itself.

Rules: it changes no error and hides none; the class and the text stay SQLite's.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

__all__ = ("explained",)

_KEPT: Final = "What was not stored is not there in part: the transaction was undone, and the next run goes on from what is."
_MENDS: Final = (
    (
        "SQLITE_FULL",
        f"The disk, or the size that this process may write, is full. Make room and run again. {_KEPT}",
    ),
    (
        "SQLITE_IOERR",
        f"Reading or writing the file failed: often the disk is full. Make room and run again. {_KEPT}",
    ),
    (
        "SQLITE_BUSY",
        f"Another connection held the file locked for too long. End its transaction and run again. {_KEPT}",
    ),
    ("SQLITE_LOCKED", f"Another statement on this connection holds a table. End it and run again. {_KEPT}"),
    (
        "SQLITE_READONLY",
        "The file or its folder may only be read: give this process the right to write both.",
    ),
    (
        "SQLITE_CANTOPEN",
        "The file cannot be opened: its folder must exist, and this process must have the right to write.",
    ),
    (
        "SQLITE_CORRUPT",
        "The file is damaged. Look at it with PRAGMA integrity_check, or restore it from a copy.",
    ),
    ("SQLITE_NOTADB", "The file is no SQLite database, or is encrypted. Check the path."),
)
_OTHER_THREAD: Final = (
    "The engine stores from threads of its own: open the connection with sqlite3.connect(path, check_same_thread=False), or use"
    " SqliteSaver.from_conn_string(path)."
)


@contextmanager
def explained(place: str | None = None) -> Iterator[None]:
    """Add to an error of SQLite what it means and what to do.

    Args:
        place: The file, where it is known.
    """
    try:
        yield
    except sqlite3.Error as error:
        _explain(error, place)
        raise


def _explain(error: sqlite3.Error, place: str | None) -> None:
    if getattr(error, "__notes__", None):
        return
    if isinstance(error, sqlite3.ProgrammingError):
        if "same thread" in str(error):
            error.add_note(_OTHER_THREAD)
        return
    name = getattr(error, "sqlite_errorname", None) or ""
    for prefix, mend in _MENDS:
        if name.startswith(prefix):
            error.add_note(f"In the database {place or 'in memory'}: {mend}" if place is not None else mend)
            return
