"""What is asked of a database: one statement, its parameters, and whether it is run for many of them.

A program is a generator that yields statements and is sent what they give: rows, or for many the number of rows that
changed. So everything about storage is written once, for connections that block and for those that are awaited.

Rules: SQL texts are constants; whatever comes from a person is a parameter.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

__all__ = ("Statement", "StatementProgram", "in_chunks", "marks")


class Statement(NamedTuple):
    """One statement.

    Attributes:
        sql: Its text.
        params: Its parameters; with `many`, a sequence of them for each time that it is run.
        many: Whether it is run many times.
    """

    sql: str
    params: Sequence[Any] = ()
    many: bool = False


R = TypeVar("R")
StatementProgram: TypeAlias = Generator[Statement, Any, R]

_CHUNK: Final = 500
"""So many parameters a statement: fewer than any build of SQLite allows."""


def in_chunks(values: Sequence[str]) -> list[Sequence[str]]:
    """Values in parts that fit into one statement each."""
    return [values[i : i + _CHUNK] for i in range(0, len(values), _CHUNK)]


def marks(count: int) -> str:
    """So many question marks."""
    return ",".join("?" * count)
