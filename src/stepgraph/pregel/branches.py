"""Following a conditional edge.

A branch sees the state **as it is after its own node's writes**, not other tasks' writes. That view is the committed
state overlaid with the task's folded writes; when the task is alone in its superstep the folded values are kept and
reused at commit, so that a reducer runs once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stepgraph.errors import InvalidUpdateError
from stepgraph.pregel.commit import fold_mapping, fold_pairs
from stepgraph.pregel.results import checked_send, target_node
from stepgraph.values.commands import Send
from stepgraph.values.names import END, START

if TYPE_CHECKING:
    from stepgraph.pregel.plan import BranchPlan
    from stepgraph.pregel.task import Task


def own_folded(task: Task) -> dict[str, Any]:
    """What this task's own writes make of the fields that they touch."""
    machine = task.machine
    folded = task.folded
    if folded is None:
        updates = task.updates
        if not updates:
            return {}
        folded = (
            fold_mapping(machine, updates, task)
            if isinstance(updates, dict)
            else fold_pairs(machine, (task,))
        )
        task.folded = folded
    return folded


def fresh_state(task: Task) -> dict[str, Any]:
    """The committed state overlaid with this task's own folded writes."""
    return {**task.machine.state, **own_folded(task)}


def branch_input(task: Task, branch: BranchPlan) -> Any:
    """What the branch's path function receives: no more of the state than it reads is looked at."""
    keys = branch.keys
    if keys is None:
        value: Any = fresh_state(task)
    elif type(keys) is str:
        folded = own_folded(task)
        value = folded[keys] if keys in folded else task.machine.state.get(keys)
    else:
        folded, state = own_folded(task), task.machine.state
        value = {
            key: folded[key] if key in folded else state[key] for key in keys if key in folded or key in state
        }
        for key, get in branch.managed:
            value[key] = get(task.machine)
    return value if branch.mapper is None else branch.mapper(value)


def follow_branches(task: Task) -> None:
    """Run every path function of the task's node and add where they lead."""
    for branch in task.node.branches:
        if branch.keys is None and branch.mapper is None:
            given: Any = {**task.machine.state, **own_folded(task)}
        else:
            given = branch_input(task, branch)
        plain = branch.plain
        answer = plain(given) if plain is not None else branch.path(given, task)  # type: ignore[misc]
        found = branch.jumps.get(answer) if type(answer) is str else None
        if found is None:
            follow(task, branch, answer)
        else:
            task.targets += found


def follow(task: Task, branch: BranchPlan, answer: Any) -> None:
    """Turn a path function's answer (names, labels, Sends, or a list of these) into targets and sends."""
    plan = task.node.plan
    if type(answer) is list and set(map(type, answer)) == {Send} and task.sends is None:
        for node in {send.node: send for send in answer}.values():
            checked_send(plan, node, task.node.name)
        task.sends = answer.copy()
        return
    ends = branch.ends
    for label in answer if isinstance(answer, (list, tuple, set, frozenset)) else (answer,):
        if isinstance(label, Send):
            checked_send(plan, label, task.node.name)
            if task.sends is None:
                task.sends = [label]
            else:
                task.sends.append(label)
            continue
        name = label
        if ends is not None:
            name = _destination(task, branch, label)
        if name == END:
            continue
        if name is None or name == START:
            raise InvalidUpdateError(
                f"Branch {branch.name!r} of node {task.node.name!r} answered {name!r}: a branch must answer the name of a "
                "node, END, a Send, or a list of these."
            )
        node = target_node(plan, name, f"branch {branch.name!r} of node {task.node.name!r}")
        if node is not None:
            task.targets += (node,)


def _destination(task: Task, branch: BranchPlan, label: Any) -> Any:
    ends = branch.ends
    assert ends is not None
    try:
        return ends[label]
    except (KeyError, TypeError):
        if label == END:
            return END
        known = ", ".join(repr(known) for known in ends)
        raise InvalidUpdateError(
            f"Branch {branch.name!r} of node {task.node.name!r} in graph {task.node.plan.graph_name!r} answered {label!r}, "
            f"which its path_map does not list. Its labels are: {known}. Add the label, or answer one of these."
        ) from None
