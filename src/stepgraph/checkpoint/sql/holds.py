"""Holds of runs on threads, and the time at which threads expire, as programs that yield statements.

Both stand in one row a thread, which is there only while there is something to say. Times are those of the database's
clock, so that processes on several machines agree. A lease is taken by one statement that finds it free: of two that try
at once, one does.

Rules: no connections, no waiting. A program runs in a write transaction: whoever runs it sees to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from stepgraph.checkpoint.holds import Hold, in_use
from stepgraph.checkpoint.sql.reading import Reading
from stepgraph.checkpoint.sql.statements import Statement, StatementProgram

__all__ = ("Holds",)


class Holds(Reading):
    """The programs about holds."""

    def lock_threads(self, threads: Iterable[str]) -> StatementProgram[None]:
        """Let nobody else store in these threads, nor delete there, until the transaction ends."""
        raise NotImplementedError
        yield

    def delete_thread(self, thread_id: str) -> StatementProgram[None]:
        """Delete all of a thread."""
        raise NotImplementedError
        yield

    def begin_hold(self, hold: Hold, ttl: float | None) -> StatementProgram[str | None]:
        """Begin a hold; what is left of a thread that has expired is deleted first.

        Args:
            hold: The hold.
            ttl: Seconds that the thread lives from now on.

        Returns:
            The run whose lease had lapsed and was taken over, if there was one.

        Raises:
            ThreadBusyError: Another run has the lease.
        """
        thread_id = hold.thread_id
        if ttl is not None and (yield from self.is_expired(thread_id)):
            yield from self.lock_threads([thread_id])
            if (yield from self.is_expired(thread_id)):
                yield from self.delete_thread(thread_id)
        lapsed = None
        if hold.token is not None:
            lapsed = yield from self._take_lease(hold)
        if ttl is not None:
            yield from self.live_on(thread_id, ttl)
        return lapsed

    def live_on(self, thread_id: str, ttl: float) -> StatementProgram[None]:
        """From now on a thread lives for so many seconds."""
        yield Statement(
            f"INSERT INTO stepgraph_threads (thread_id, expires_at) VALUES (?, {self.now} + ?)"
            " ON CONFLICT (thread_id) DO UPDATE SET expires_at = excluded.expires_at",
            (thread_id, ttl),
        )

    def _take_lease(self, hold: Hold) -> StatementProgram[str | None]:
        look = "SELECT token, run_id, held_until - {} FROM stepgraph_threads WHERE thread_id = ?"
        before = yield Statement(look.format(self.now), (hold.thread_id,))
        yield Statement(
            "INSERT INTO stepgraph_threads (thread_id, run_id, token, held_until)"
            f" VALUES (?, ?, ?, {self.now} + ?) ON CONFLICT (thread_id) DO UPDATE SET"
            " run_id = excluded.run_id, token = excluded.token, held_until = excluded.held_until"
            f" WHERE stepgraph_threads.held_until IS NULL OR stepgraph_threads.held_until <= {self.now}",
            (hold.thread_id, hold.run_id, hold.token, hold.seconds),
        )
        token, run_id, left = (yield Statement(look.format(self.now), (hold.thread_id,)))[0]
        if token != hold.token:
            raise in_use(hold, run_id, left)
        return before[0][1] if before and before[0][0] is not None else None

    def renew_holds(self, holds: Sequence[Hold], ttl: float | None) -> StatementProgram[list[Hold]]:
        """Let holds be good for as long again, and their threads live on.

        Returns:
            The holds whose lease is another's by now.
        """
        leases = [hold for hold in holds if hold.token is not None]
        if leases:
            yield Statement(
                f"UPDATE stepgraph_threads SET held_until = {self.now} + ? WHERE thread_id = ? AND token = ?",
                [(hold.seconds, hold.thread_id, hold.token) for hold in leases],
                True,
            )
        threads = sorted({hold.thread_id for hold in holds})
        if ttl is not None:
            for condition, ids in self.among("thread_id", threads):
                sql = f"UPDATE stepgraph_threads SET expires_at = {self.now} + ? WHERE {condition}"
                yield Statement(sql, (ttl, *ids))
        tokens: dict[str, str | None] = {}
        if leases:
            for condition, ids in self.among("thread_id", threads):
                found = yield Statement(
                    f"SELECT thread_id, token FROM stepgraph_threads WHERE {condition}", ids
                )
                tokens.update(found)
        return [hold for hold in leases if tokens.get(hold.thread_id) != hold.token]

    def end_hold(self, hold: Hold, ttl: float | None) -> StatementProgram[None]:
        """End a hold; from now on the thread lives for as long as its time to live says."""
        if hold.token is not None:
            yield Statement(
                "UPDATE stepgraph_threads SET run_id = NULL, token = NULL, held_until = NULL"
                " WHERE thread_id = ? AND token = ?",
                (hold.thread_id, hold.token),
            )
        if ttl is not None:
            yield Statement(
                f"UPDATE stepgraph_threads SET expires_at = {self.now} + ? WHERE thread_id = ?",
                (ttl, hold.thread_id),
            )
        else:
            yield from self.forget_row(hold.thread_id)

    def forget_row(self, thread_id: str) -> StatementProgram[None]:
        """Delete the row of a thread that nobody holds and that lives for ever."""
        yield Statement(
            "DELETE FROM stepgraph_threads WHERE thread_id = ? AND token IS NULL AND expires_at IS NULL",
            (thread_id,),
        )

    def forget_expiry(self, thread_id: str) -> StatementProgram[None]:
        """A thread is deleted: there is nothing left that may expire. Who holds it still does."""
        yield Statement("UPDATE stepgraph_threads SET expires_at = NULL WHERE thread_id = ?", (thread_id,))
        yield from self.forget_row(thread_id)

    def sweep(self, limit: int) -> StatementProgram[list[str]]:
        """Delete threads that have expired.

        Args:
            limit: So many at most.

        Returns:
            The threads.
        """
        sql = f"SELECT thread_id FROM stepgraph_threads WHERE {self.expired} ORDER BY thread_id LIMIT ?"
        threads = [row[0] for row in (yield Statement(sql, (limit,)))]
        yield from self.lock_threads(threads)
        gone = []
        for thread_id in threads:
            if (yield from self.is_expired(thread_id)):
                yield from self.delete_thread(thread_id)
                gone.append(thread_id)
        return gone
