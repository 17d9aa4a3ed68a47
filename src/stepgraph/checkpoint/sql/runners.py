"""How blocking work is waited for by async callers, and awaited work by blocking ones.

Rules: knows no database. What runs a program is given.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop, get_running_loop, run_coroutine_threadsafe
from collections.abc import Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from stepgraph.checkpoint.sql.programs import Programs
from stepgraph.checkpoint.sql.statements import StatementProgram

if TYPE_CHECKING:
    from stepgraph.checkpoint.step_saver import Encoded

__all__ = ("Blocking", "LoopRunner", "ThreadRunner")

R = TypeVar("R")


class Blocking(Protocol):
    """Connections that block.

    Attributes:
        ready: Whether the tables are known to be there.
    """

    ready: bool

    def set_up(self) -> None:
        """Make or migrate the tables, once."""

    def read(self, program: StatementProgram[R]) -> R:
        """Run a program that reads."""

    def write(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program that writes."""


class ThreadRunner:
    """Runs programs on connections that block: in the caller's thread, or for async callers in a worker thread.

    Args:
        connections: The connections.
        programs: The programs for this kind of database.
    """

    def __init__(self, connections: Blocking, programs: Programs) -> None:
        self.connections: Any = connections
        self.programs = programs
        self.set_up = connections.set_up
        self.read = connections.read
        self.write = connections.write

    @property
    def ready(self) -> bool:
        """Whether the tables are known to be there."""
        known: bool = self.connections.ready
        return known

    def may_wait(self) -> bool:
        """Connections that block can be used from anywhere."""
        return True

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch in one transaction."""
        return self.write(self.programs.store_batch(batch), durable=durable)

    async def aset_up(self) -> None:
        """Make or migrate the tables, once."""
        from asyncio import to_thread

        await to_thread(self.set_up)

    async def aread(self, program: StatementProgram[R]) -> R:
        """Run a program that reads."""
        from asyncio import to_thread

        return await to_thread(self.read, program)

    async def awrite(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program that writes."""
        from asyncio import to_thread

        return await to_thread(self.write, program, durable=durable)

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch in one transaction."""
        from asyncio import to_thread

        return await to_thread(self.store, batch, durable=durable)


class LoopRunner:
    """Base of what runs programs on connections that are awaited: for callers in other threads than the event loop's.

    Args:
        mend: What to say to who calls a synchronous method on the loop itself.
    """

    def __init__(self, mend: str) -> None:
        self.ready = False
        self._mend = mend
        self._loop = running_loop()

    async def aset_up(self) -> None:
        """Make or migrate the tables, once."""
        raise NotImplementedError

    async def aread(self, program: StatementProgram[R]) -> R:
        """Run a program that reads."""
        raise NotImplementedError

    async def awrite(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program that writes."""
        raise NotImplementedError

    async def astore(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch in one transaction."""
        raise NotImplementedError

    def set_up(self) -> None:
        """Make or migrate the tables, once."""
        self._wait(self.aset_up())

    def read(self, program: StatementProgram[R]) -> R:
        """Run a program that reads, on the connection's event loop."""
        return self._wait(self.aread(program))

    def write(self, program: StatementProgram[R], *, durable: bool = True) -> R:
        """Run a program that writes, on the connection's event loop."""
        return self._wait(self.awrite(program, durable=durable))

    def store(self, batch: Sequence[Encoded], *, durable: bool) -> Mapping[int, int]:
        """Store a batch in one transaction, on the connection's event loop."""
        return self._wait(self.astore(batch, durable=durable))

    def may_wait(self) -> bool:
        """Whether this is another thread than that of the connection's event loop, and the loop runs."""
        loop = self._loop
        return loop is not None and loop is not running_loop() and loop.is_running()

    def _wait(self, work: Coroutine[Any, Any, R]) -> R:
        if not self.may_wait():
            work.close()
            raise RuntimeError(self._mend)
        assert self._loop is not None
        return run_coroutine_threadsafe(work, self._loop).result()


def running_loop() -> AbstractEventLoop | None:
    """The event loop that runs in this thread."""
    try:
        return get_running_loop()
    except RuntimeError:
        return None
