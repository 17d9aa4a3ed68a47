"""One computation at a time for each key: who computes, and who waits for the result.

Rules of this file: bookkeeping under one short lock, and one place where a thread waits. It knows no cache and no engine;
waiting in an event loop is in `single_flight_aio.py`.

Theory of operation. Whoever misses a key in a cache enters it and gets a `Ticket`. The first one leads: it computes, and
then finishes with a result or gives up (its attempt failed, was cancelled, was interrupted). The others wait. When the
leader finishes, all get the result; when it gives up, the one that has waited longest leads, and the rest wait for that.

    state     | event                  | next state
    ----------|------------------------|-------------------------------------
    (none)    | enter, key is free     | LEADING
    (none)    | enter, key is taken    | WAITING, or ALONE if it would wait for itself
    WAITING   | leader finishes        | DONE (has the result)
    WAITING   | leader gives up        | LEADING if first in line, else WAITING
    WAITING   | leave                  | LEFT
    LEADING   | finish, give up, leave | LEFT
    ALONE     | finish, give up, leave | LEFT

A computation may enter further keys (a cached graph with cached nodes). It says so by `within`, and a wait that could
never end, because somebody in the line waits for this very computation, is refused: the ticket computes alone.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from enum import Enum
from typing import Any


class State(Enum):
    """Where a ticket stands."""

    LEADING = "leading"
    WAITING = "waiting"
    DONE = "done"
    ALONE = "alone"
    LEFT = "left"


class Ticket:
    """One caller's place at one key. Use it as a context manager, so that it is left whatever happens.

    Attributes:
        key: The key.
        state: Where the ticket stands.
        result: What the leader finished with, once the state is `DONE`.
    """

    __slots__ = ("_flights", "_wake", "_within", "key", "result", "state")

    def __init__(self, flights: SingleFlight, key: Hashable, within: Ticket | None) -> None:
        self.key = key
        self.state = State.LEADING
        self.result: Any = None
        self._flights = flights
        self._within = within
        self._wake: Callable[[], Any] | None = None

    def wait(self, timeout: float | None = None) -> bool:
        """Wait, in this thread, until somebody has the result or it is this ticket's turn to compute.

        Args:
            timeout: Seconds to wait at most.

        Returns:
            Whether the result is there. If not, this ticket must compute (or, after a timeout, still waits).
        """
        lock = threading.Lock()
        lock.acquire()
        if self.notify(lock.release):
            lock.acquire(timeout=-1 if timeout is None else timeout)
            self.notify(None)
        return self.state is State.DONE

    def notify(self, wake: Callable[[], Any] | None) -> bool:
        """Say what to call, once, when the ticket no longer waits. The call may come from any thread.

        Returns:
            Whether the ticket waits; if not, nothing will be called.
        """
        return self._flights._notify(self, wake)

    def finish(self, result: Any = None) -> None:
        """Give the result to all that wait. It is shared: give bytes, or what nobody changes."""
        self._flights._leave(self, finished=True, result=result)

    def leave(self) -> None:
        """Stop waiting, or give up computing; a ticket that was left already is left as it is."""
        self._flights._leave(self, finished=False, result=None)

    def __enter__(self) -> Ticket:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def ancestors(self) -> Iterator[Ticket]:
        """The tickets within whose computations this one is used."""
        ticket = self._within
        while ticket is not None:
            yield ticket
            ticket = ticket._within


class _Flight:
    __slots__ = ("leader", "waiting")

    def __init__(self, leader: Ticket) -> None:
        self.leader = leader
        self.waiting: list[Ticket] = []


class SingleFlight:
    """The keys that are being computed right now.

    Attributes:
        finished: How many computations have finished with a result.

    Example:
        >>> flights = SingleFlight()
        >>> with flights.enter("key") as ticket:
        ...     if not ticket.wait():
        ...         ticket.finish("computed")
        >>> len(flights)
        0
    """

    __slots__ = ("_flights", "_lock", "finished")

    def __init__(self) -> None:
        self._flights: dict[Hashable, _Flight] = {}
        self._lock = threading.Lock()
        self.finished = 0

    def __len__(self) -> int:
        return len(self._flights)

    def enter(self, key: Hashable, within: Ticket | None = None) -> Ticket:
        """Take a place at a key.

        Args:
            key: What is to be computed.
            within: The ticket of the computation that this one is part of.

        Returns:
            A ticket that leads, waits, or computes alone.
        """
        ticket = Ticket(self, key, within)
        with self._lock:
            flight = self._flights.get(key)
            if flight is None:
                self._flights[key] = _Flight(ticket)
            elif within is not None and self._waits_for(flight, set(ticket.ancestors())):
                ticket.state = State.ALONE
            else:
                ticket.state = State.WAITING
                flight.waiting.append(ticket)
        return ticket

    def _waits_for(self, flight: _Flight, ancestors: set[Ticket]) -> bool:
        """Whether a flight can only end after one of the tickets has."""
        seen: set[Hashable] = set()
        pending = [flight]
        while pending:
            leader = pending.pop().leader
            if leader in ancestors:
                return True
            if leader.key in seen:
                continue
            seen.add(leader.key)
            pending += [
                other
                for other in self._flights.values()
                if any(leader in waiting.ancestors() for waiting in other.waiting)
            ]
        return False

    def _notify(self, ticket: Ticket, wake: Callable[[], Any] | None) -> bool:
        with self._lock:
            if ticket.state is not State.WAITING:
                return False
            ticket._wake = wake
            return True

    def _leave(self, ticket: Ticket, *, finished: bool, result: Any) -> None:
        with self._lock:
            state, ticket.state = ticket.state, State.LEFT
            if state is State.WAITING:
                self._flights[ticket.key].waiting.remove(ticket)
            if state is State.DONE:
                ticket.state = state
            if state is not State.LEADING:
                return
            self.finished += finished
            flight = self._flights.pop(ticket.key)
            woken = flight.waiting if finished else flight.waiting[:1]
            for waiting in woken:
                waiting.state = State.DONE if finished else State.LEADING
                waiting.result = result
            if woken and not finished:
                flight.leader = woken[0]
                flight.waiting = flight.waiting[1:]
                self._flights[ticket.key] = flight
        for waiting in woken:
            self._wake_up(waiting)

    def _wake_up(self, ticket: Ticket) -> None:
        wake, ticket._wake = ticket._wake, None
        if wake is None:
            return
        try:
            wake()
        except RuntimeError:  # its event loop is closed: whoever waited there is gone
            ticket.leave()


def flights_of(cache: Any) -> SingleFlight:
    """The keys of a cache that are being computed right now in this process."""
    flights = getattr(cache, "_flights", None)
    if not isinstance(flights, SingleFlight):
        flights = cache.__dict__.setdefault("_flights", SingleFlight())
    assert isinstance(flights, SingleFlight)
    return flights
