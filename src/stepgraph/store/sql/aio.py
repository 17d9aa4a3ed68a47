"""What stores on a SQL database have in common, for an event loop.

Rules of this file: as in `sync`; the sweeper is a task of the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Any, TypeVar

from stepgraph.store.base.batch import AsyncBatchedBaseStore
from stepgraph.store.base.config import TTLConfig, sweep_seconds
from stepgraph.store.base.indexing import Indexing
from stepgraph.store.base.ops import Op, Result
from stepgraph.store.base.program import Embed, Program, aembed, arun
from stepgraph.store.base.sweeper_aio import AsyncSweeper
from stepgraph.store.sql.program import Read, StorePlan, Write, batch_program, sweep_program
from stepgraph.store.sql.statements import Change, Query

Outcome = TypeVar("Outcome")


class AsyncSqlStore(AsyncBatchedBaseStore):
    """A store on a SQL database whose connection is awaited."""

    ttl_config: TTLConfig | None
    _indexing: Indexing | None
    _is_ready: bool
    _sweeper: AsyncSweeper | None = None

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.stop_ttl_sweeper()

    async def setup(self) -> None:
        """Create or bring up to date the tables, unless that was done."""
        raise NotImplementedError

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out several operations at once, see `BaseStore.batch`. The writes are one transaction."""
        return await self._run(batch_program(self._plan(), ops))

    async def sweep_ttl(self) -> int:
        """Remove what is expired.

        Returns:
            How many items that were.
        """
        return await self._run(sweep_program(self._plan()))

    async def start_ttl_sweeper(self, sweep_interval_minutes: float | None = None) -> asyncio.Task[None]:
        """Start to remove expired items in the background, at once and then again and again.

        Args:
            sweep_interval_minutes: Minutes between two sweeps; left out, as configured, else 5.

        Returns:
            The task; it ends at once where the store has no TTL configuration. A sweeper that runs already goes on as
            it is.
        """
        if not self.ttl_config:
            return asyncio.create_task(asyncio.sleep(0))
        if self._sweeper is None:
            seconds = sweep_seconds(self.ttl_config, sweep_interval_minutes)
            self._sweeper = AsyncSweeper(self.sweep_ttl, seconds)
        return self._sweeper.task

    async def stop_ttl_sweeper(self, timeout: float | None = None) -> bool:
        """Stop the background sweeper.

        Args:
            timeout: Seconds to wait for a sweep under way; `None` waits as long as it takes.

        Returns:
            Whether no sweeper runs any more.
        """
        if self._sweeper is None:
            return True
        stopped = await self._sweeper.stop(timeout)
        if stopped:
            self._sweeper = None
        return stopped

    def _plan(self) -> StorePlan:
        raise NotImplementedError

    async def _read(self, queries: list[Query]) -> list[list[Any]]:
        """The rows of each query, all from one state of the database."""
        raise NotImplementedError

    async def _write(self, changes: list[Change]) -> int:
        """Make changes in one transaction; how many rows the last one touched."""
        raise NotImplementedError

    async def _run(self, program: Program[Outcome]) -> Outcome:
        if not self._is_ready:
            await self.setup()
        return await arun(program, self._perform)

    async def _perform(self, request: Embed | Read | Write) -> Any:
        if isinstance(request, Read):
            return await self._read(request.queries)
        if isinstance(request, Write):
            return await self._write(request.changes)
        assert self._indexing is not None
        return await aembed(self._indexing, request)
