"""What is asked of a database: one statement, its parameters, and whether it is run for many of them.

A program is a generator that yields statements and is sent what they give: rows, or for many the number of rows that
changed. So everything about storage is written once, for connections that block and for those that are awaited.

Rules: SQL texts are constants; whatever comes from a person is a parameter, and a question mark stands for it.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

__all__ = ("R", "Statement", "StatementProgram")


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
