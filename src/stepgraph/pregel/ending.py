"""How one level of a run ends: what is still stored, and what its caller gets.

Rules of this file: pure decisions on a machine's status; waiting for the recorder is the drivers' part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepgraph.errors import GraphDrained, GraphInterrupt, InvalidUpdateError, ParentCommand
from stepgraph.values.names import INTERRUPT

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine


def close(machine: Machine) -> None:
    """Store what durability `exit` held back: always for a root or a graph that persists, else only where it stopped."""
    ledger = machine.ledger
    if ledger is None:
        return
    if ledger.at_exit:
        if machine.parent is None or machine.level.persistent or machine.status in _STOPPED:
            ledger.flush()
        elif machine.status == "done":
            machine.parent.ended_children = [*(machine.parent.ended_children or ()), ledger]
            return  # it may still be stored, on top of what the recorder knows of it
    if machine.parent is not None:
        machine.recorder.forget(machine.namespace)


_STOPPED = frozenset(("paused", "breakpoint", "drained"))


def close_failed(machine: Machine) -> None:
    """A level failed: finished work is kept, so that a resume does not repeat it."""
    ledger = machine.ledger
    if ledger is None:
        return
    if machine.tasks:
        ledger.release(machine.tasks)
    if ledger.at_exit:
        ledger.flush()
    if machine.parent is not None:
        machine.recorder.forget(machine.namespace)


def outcome(machine: Machine) -> Any:
    """The output of a level that ended.

    Raises:
        GraphInterrupt: A nested level waits for a person, or stands at a breakpoint.
        ParentCommand: A nested level handed control up.
        GraphDrained: The run was asked to stop at a superstep border.
        InvalidUpdateError: A root handed control up, where there is no parent.
    """
    status = machine.status
    if status == "done":
        return machine.output() if machine.produced else None
    if status == "drained":
        raise GraphDrained(machine.scope.control.drain_reason or "shutdown")
    if status == "handed_up":
        commands = tuple(machine.commands)
        if machine.parent is None:
            raise InvalidUpdateError(
                f"A node of root graph {machine.plan.graph_name!r} returned Command(graph=Command.PARENT), but a root has no "
                "parent. Leave graph out, or run this graph as a node of another."
            )
        handed_up = ParentCommand(commands[0] if len(commands) == 1 else commands)  # type: ignore[arg-type]
        machine.parent.handed_up_by = machine.plan.graph_name
        raise handed_up
    if machine.parent is not None:
        pause = GraphInterrupt(machine.interrupts())
        machine.parent.swallowed = pause
        raise pause
    asked = machine.interrupts()
    if not asked:
        return machine.output() if machine.produced else None
    output = machine.output()
    return {**(output if isinstance(output, dict) else {}), INTERRUPT: list(asked)}


def stands_at_breakpoint(machine: Machine) -> bool:
    """Whether a root stopped because a breakpoint says so, its own or one of a graph inside."""
    if machine.parent is not None:
        return False
    return machine.status == "breakpoint" or (machine.status == "paused" and not machine.interrupts())
