"""What must hold of a machine after every superstep; checked in debug mode and in tests.

A broken invariant is a fault of the engine, never of a person's graph; the error carries its number and the place.
What debug mode finds besides, a change deep inside a node's input that was not returned, is the person's to know.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.task import Task


class BrokenInvariantError(AssertionError):
    """The engine contradicts itself; please report it with the message."""


def check(machine: Machine) -> None:
    """Check every invariant of a machine between two supersteps.

    Raises:
        BrokenInvariantError: One does not hold.
    """
    for number, (text, holds) in enumerate(INVARIANTS, 1):
        if not holds(machine):
            raise BrokenInvariantError(
                f"Invariant {number} of the engine does not hold after step {machine.step - 1} of graph "
                f"{machine.plan.graph_name!r} at {machine.namespace!r}: {text}."
            )


def _state_is_of_the_plan(machine: Machine) -> bool:
    order = {name: place for place, name in enumerate(machine.plan.fields)}
    places = [order.get(name, -1) for name in machine.state]
    return places == sorted(places) and -1 not in places


def _containers_are_known(machine: Machine) -> bool:
    return machine.containers == {k for k, v in machine.state.items() if type(v) in (list, dict, set)}


def _joins_wait(machine: Machine) -> bool:
    joins = machine.plan.joins
    return all(
        arrived <= joins[channel].sources and (arrived < joins[channel].sources or joins[channel].deferred)
        for channel, arrived in machine.joins.items()
        if channel in joins
    )


def _tasks_are_in_order(machine: Machine) -> bool:
    paths = [task.path_text for task in machine.tasks if task.index >= 0]
    names = [task.node.name for task in machine.tasks if task.index < 0]
    return paths == sorted(paths) and names == sorted(names) and len({*paths}) == len(paths)


def _live_channels_have_versions(machine: Machine) -> bool:
    ledger = machine.ledger
    return ledger is None or all(channel in ledger.versions for channel in ledger.live)


def _due_nodes_have_news(machine: Machine) -> bool:
    """What runs next by the writes is what would run next by versions, had the checkpoint been loaded."""
    ledger = machine.ledger
    if ledger is None or ledger.carried:
        return True
    for task in machine.tasks:
        if task.index >= 0 or task.node.hidden or task.call_path is not None:
            continue
        seen = ledger.seen.get(task.node.name, {})
        news = [c for c in task.node.triggers if ledger.versions.get(c) != seen.get(c)]
        if not news:
            return False
    return True


INVARIANTS = (
    ("the state holds fields of the plan only, in the order of the schema", _state_is_of_the_plan),
    ("the set of containers is that of the state's lists, dicts and sets", _containers_are_known),
    ("no waiting edge is full and still waits", _joins_wait),
    ("the tasks of a step are in the order of their paths, each once", _tasks_are_in_order),
    ("every control channel that holds a value has a version", _live_channels_have_versions),
    ("a node that runs has a trigger that is newer than what it last saw", _due_nodes_have_news),
)


class Footprint:
    """The bytes of every field at the start of a superstep, to find what nodes change in place below the surface."""

    __slots__ = ("_fields", "_pack")

    def __init__(self, machine: Machine) -> None:
        from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

        self._pack = JsonPlusSerializer().pack
        self._fields = {key: self._bytes(value) for key, value in machine.state.items()}

    def _bytes(self, value: Any) -> bytes | None:
        try:
            return self._pack(value)
        except (TypeError, ValueError):
            return None

    def report(self, machine: Machine, tasks: Sequence[Task]) -> None:
        """Warn of every field whose committed value is no longer what it was, though no task returned it."""
        import warnings

        from stepgraph.warnings import LostEditWarning

        returned: set[str] = set()
        for task in tasks:
            updates = task.updates
            returned.update(updates if isinstance(updates, dict) else [key for key, _ in updates])
        names = ", ".join(repr(task.node.name) for task in tasks)
        for key, before in self._fields.items():
            if before is None or key in returned or self._bytes(machine.state.get(key)) == before:
                continue
            warnings.warn(
                f"One of {names} of graph {machine.plan.graph_name!r} changed something inside state[{key!r}] in place "
                f"and did not return {key!r}: the change reaches siblings at random and may be lost. Change a copy and "
                "return it.",
                LostEditWarning,
                stacklevel=2,
            )
