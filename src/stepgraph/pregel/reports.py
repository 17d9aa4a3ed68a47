"""What a machine tells a person who lost something without an error: an edit, half a waiting edge, the way out of a loop.

Rules: warnings and texts only; nothing here changes a run.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.warnings import HalfFilledJoinWarning, LostEditWarning

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.task import Task


def report_lost_edits(machine: Machine, tasks: Sequence[Task]) -> None:
    """Warn where a node changed the length of a container it was given and did not return it."""
    state, containers = machine.state, machine.containers
    for task in tasks:
        given = task.input
        if type(given) is not dict or task.index >= 0 or task.restored or task.node.hidden:
            continue
        for key in containers if len(containers) < len(given) else given:
            held = given.get(key)
            if key not in containers or held is None or type(held) is not type(state[key]):
                continue
            if len(held) != len(state[key]):
                updates = task.updates
                if key not in (updates if isinstance(updates, dict) else dict(updates)):
                    _warn_lost_edit(task, key)


def _warn_lost_edit(task: Task, key: str) -> None:
    warnings.warn(
        f"Node {task.node.name!r} of graph {task.node.plan.graph_name!r} changed the length of state[{key!r}] in place "
        f"and did not return it: the change is lost. Return {{{key!r}: ...}} from the node.",
        LostEditWarning,
        stacklevel=2,
    )


def report_half_filled(machine: Machine) -> None:
    """Warn where a run ended while some but not all sources of a waiting edge had run."""
    for channel, arrived in machine.joins.items():
        join = machine.plan.joins.get(channel)
        if join is not None and arrived and len(arrived) < len(join.sources):
            _warn_half_filled(machine, join, arrived)


def _warn_half_filled(machine: Machine, join: Any, arrived: set[str]) -> None:
    missing = sorted(join.sources - arrived)
    warnings.warn(
        f"The run of graph {machine.plan.graph_name!r} ended while the waiting edge {sorted(join.sources)} -> "
        f"{join.target.name!r} was half filled: {sorted(arrived)} arrived, {missing} never ran. It may fire in the "
        "thread's next run. Use add_conditional_edges or defer=True where a branch may not be taken.",
        HalfFilledJoinWarning,
        stacklevel=2,
    )


def limit_message(machine: Machine, ran: Sequence[Task]) -> str:
    """What the error of a run without an end says: the limit, the last nodes, and how to raise it."""
    names = ", ".join(repr(task.node.name) for task in ran[:5])
    where = f" at {machine.namespace!r}" if machine.namespace else ""
    return (
        f"Recursion limit of {machine.scope.limit} reached without hitting a stop condition in graph "
        f"{machine.plan.graph_name!r}{where}; the last to run: {names}. You can increase the limit by setting the "
        "`recursion_limit` config key: graph.invoke(input, {'recursion_limit': N}), where k supersteps need k + 1."
    )
