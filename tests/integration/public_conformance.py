"""Run the public suite for savers, `langgraph-checkpoint-conformance`, on one of ours; prints its report, exits with 0 if all passes.

A program of its own: it imports the field's own base class, which has no place in a process that tests this package.

    python -m integration.public_conformance memory|sqlite|async-sqlite|aiosqlite
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any


@asynccontextmanager
async def open_saver(kind: str, path: Path) -> AsyncIterator[Any]:
    """One of our savers."""
    if kind == "memory":
        from stepgraph.checkpoint.memory import InMemorySaver

        yield InMemorySaver()
        return
    if kind == "aiosqlite":
        import aiosqlite

        from stepgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        async with aiosqlite.connect(path / "checkpoints.db") as connection:
            yield AsyncSqliteSaver(connection)
        return
    opened: Any
    if kind == "sqlite":
        from stepgraph.checkpoint.sqlite import SqliteSaver

        opened = SqliteSaver.from_conn_string(str(path / "checkpoints.db"))
    else:
        from stepgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        opened = AsyncSqliteSaver.from_conn_string(str(path / "checkpoints.db"))
    if isinstance(opened, AbstractAsyncContextManager):
        async with opened as saver:
            yield saver
    elif isinstance(opened, AbstractContextManager):
        with opened as saver:
            yield saver


def under_the_other_base(saver: Any) -> Any:
    """The saver as an instance of the field's own base class too; every method is ours."""
    from langgraph.checkpoint.base import BaseCheckpointSaver

    own = type(saver)
    saver.__class__ = type(own.__name__, (own, BaseCheckpointSaver), {})
    return saver


async def check(kind: str) -> bool:
    """Run the suite."""
    from langgraph.checkpoint.conformance import checkpointer_test, validate

    async def factory() -> AsyncIterator[Any]:
        with tempfile.TemporaryDirectory() as folder:
            async with open_saver(kind, Path(folder)) as saver:
                yield under_the_other_base(saver)

    report = await validate(checkpointer_test(name=kind)(factory))
    report.print_report()
    lacking = [name for name, result in report.results.items() if not result.passed]
    for name in lacking:
        print(name, report.results[name])
    return not lacking


if __name__ == "__main__":
    sys.exit(0 if asyncio.run(check(sys.argv[1])) else 1)
