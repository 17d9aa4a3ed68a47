"""What stores on a SQL database have in common, for callers that wait.

Rules of this file: running programs and carrying out their requests. A store adds its tables (`setup`), its configuration
(`_plan`) and how its connection reads and writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from stepgraph.store.base.indexing import Indexing
from stepgraph.store.base.ops import Op, Result
from stepgraph.store.base.program import Embed, Program, aembed, arun, embed, run
from stepgraph.store.base.protocol import BaseStore
from stepgraph.store.base.sweeper import SweepingStore
from stepgraph.store.sql.program import Read, StorePlan, Write, batch_program, sweep_program
from stepgraph.store.sql.statements import Change, Query

Outcome = TypeVar("Outcome")


class SqlStore(SweepingStore, BaseStore):
    """A store on a SQL database that blocks. Its async methods run in worker threads."""

    _indexing: Indexing | None
    _is_ready: bool

    def setup(self) -> None:
        """Create or bring up to date the tables, unless that was done."""
        raise NotImplementedError

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out several operations at once, see `BaseStore.batch`. The writes are one transaction."""
        return self._run(batch_program(self._plan(), ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`; the database is waited for in worker threads, an async embedding function is awaited."""
        from asyncio import to_thread  # a coroutine runs: the module is loaded

        if not self._is_ready:
            await to_thread(self.setup)
        return await arun(batch_program(self._plan(), ops), self._aperform)

    def sweep_ttl(self) -> int:
        """Remove what is expired.

        Returns:
            How many items that were.
        """
        return self._run(sweep_program(self._plan()))

    def _plan(self) -> StorePlan:
        raise NotImplementedError

    def _read(self, queries: list[Query]) -> list[list[Any]]:
        """The rows of each query, all from one state of the database."""
        raise NotImplementedError

    def _write(self, changes: list[Change]) -> int:
        """Make changes in one transaction; how many rows the last one touched."""
        raise NotImplementedError

    def _run(self, program: Program[Outcome]) -> Outcome:
        self.setup()
        return run(program, self._perform)

    def _perform(self, request: Embed | Read | Write) -> Any:
        if isinstance(request, Read):
            return self._read(request.queries)
        if isinstance(request, Write):
            return self._write(request.changes)
        assert self._indexing is not None
        return embed(self._indexing, request)

    async def _aperform(self, request: Embed | Read | Write) -> Any:
        from asyncio import to_thread  # a coroutine runs: the module is loaded

        if isinstance(request, Embed):
            assert self._indexing is not None
            return await aembed(self._indexing, request)
        return await to_thread(self._perform, request)
