"""What a node returned becomes the task's writes.

Rules of this file: pure functions on a task and a value; nothing here waits or knows a driver. A node may return None,
a dict, an instance of any annotated class, a `Command`, a `Send`, or a list or tuple of these; the first line that
knows the type answers, so the common dict costs one comparison.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stepgraph.errors import InvalidUpdateError, ParentCommand
from stepgraph.schema.objects import fields_of
from stepgraph.values.commands import Command, Send
from stepgraph.values.names import BRANCH_TO, END, NO_WRITES, ROOT, TASKS
from stepgraph.values.spelling import nearest

if TYPE_CHECKING:
    from stepgraph.pregel.plan import NodePlan, Plan
    from stepgraph.pregel.task import Task


def take_state_result(task: Task, result: Any) -> None:
    """Set the task's updates, targets and sends from what a node of a `StateGraph` returned."""
    node = task.node
    task.targets = node.targets
    if type(result) is dict:
        task.updates = result if result.keys() <= node.plan.fieldset else _known_fields(task, result)
    elif result is not None:
        _take_other(task, result, _state_pairs)


def take_child_result(task: Task, result: Any) -> None:
    """The same for a compiled graph that is a node: what it does not share with this graph stays private, silently."""
    known = task.node.plan.fieldset
    if type(result) is dict and not result.keys() <= known:
        result = {key: value for key, value in result.items() if key in known}
    take_state_result(task, result)


def take_root_result(task: Task, result: Any) -> None:
    """The same for a graph whose state is one bare value."""
    task.targets = task.node.targets
    if isinstance(result, (Command, Send)) or (
        isinstance(result, (list, tuple)) and any(isinstance(item, (Command, Send)) for item in result)
    ):
        _take_other(task, result, _root_pairs)
    elif result is not None:
        task.updates = {ROOT: result}


def take_input(task: Task, input: Any) -> None:
    """What the hidden start node does: split the run's input into the fields of the input schema."""
    plan = task.node.plan
    task.targets = task.node.targets
    if isinstance(input, Command):
        take_root_result(task, input) if plan.root else take_state_result(task, input)
    elif plan.root:
        task.updates = {ROOT: input}
    elif isinstance(input, Mapping):
        if input.keys() <= plan.input_keys:
            task.updates = dict(input)
        else:
            unknown = [k for k in input if k not in plan.fieldset and k not in plan.managed]
            if unknown and task.machine.parent is None and not task.machine.scope.quiet_unknown:
                report_unknown_keys(plan, "The input", unknown)
            task.updates = {key: value for key, value in input.items() if key in plan.input_keys}
    else:
        fields = fields_of(input, True, plan.folds)
        if fields is None:
            raise InvalidUpdateError(
                f"Expected dict, got {input!r}: the input of graph {plan.graph_name!r} must be a dict of its input "
                "schema's fields, or an instance of that schema."
            )
        task.updates = {key: value for key, value in fields.items() if key in plan.input_keys}


def _take_other(task: Task, result: Any, pairs_of: Any) -> None:
    if isinstance(result, (list, tuple)) and not hasattr(result, "_fields"):
        items: Iterable[Any] = result
    else:
        items = (result,)
    pairs: list[tuple[str, Any]] = []
    targets = task.targets
    sends: list[Send] = []
    for item in items:
        if isinstance(item, Command):
            if item.graph is not None:
                _leave_for_parent(task, item)
                continue
            if item.update is not None:
                pairs += _command_pairs(task, item, pairs_of)
            targets = _add_targets(task, item.goto, targets, sends)
        elif isinstance(item, Send):
            sends.append(checked_send(task.node.plan, item, task.node.name))
        elif item is not None:
            pairs += pairs_of(task, item)
    task.targets = targets
    if sends:
        task.sends = sends
    if pairs:
        updates = dict(pairs)
        task.updates = updates if len(updates) == len(pairs) else pairs
    if task.commands:
        handed: Any = task.commands[0] if len(task.commands) == 1 else tuple(task.commands)
        raise ParentCommand(handed)


def _leave_for_parent(task: Task, command: Command[Any]) -> None:
    if command.graph != Command.PARENT:
        raise InvalidUpdateError(
            f"Node {task.node.name!r} returned Command(graph={command.graph!r}): only Command.PARENT names another graph. "
            "Use graph=Command.PARENT to hand control one level up."
        )
    task.commands = [*(task.commands or ()), command]


def _command_pairs(task: Task, command: Command[Any], pairs_of: Any) -> list[tuple[str, Any]]:
    update = command.update
    if isinstance(update, (list, tuple)) and all(
        isinstance(pair, tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in update
    ):
        return known_pairs(task, update)
    pairs: list[tuple[str, Any]] = pairs_of(task, update)
    return pairs


def _state_pairs(task: Task, value: Any) -> list[tuple[str, Any]]:
    if isinstance(value, Mapping):
        return known_pairs(task, value.items())
    fields = fields_of(value, True, task.node.plan.folds)
    if fields is None:
        raise InvalidUpdateError(
            f"Expected dict, got {value!r}: node {task.node.name!r} of graph {task.node.plan.graph_name!r} returned "
            f"a {type(value).__name__}. Return a dict of state fields, None, a Command, a Send, or a list of these."
        )
    known = task.node.plan.fieldset
    return [(key, item) for key, item in fields.items() if key in known]


def _root_pairs(task: Task, value: Any) -> list[tuple[str, Any]]:
    return [(ROOT, value)]


def known_pairs(task: Task, pairs: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Those of these writes that go to channels of the graph; the others are reported."""
    pairs = list(pairs)
    known = task.node.plan.fieldset
    kept = [pair for pair in pairs if pair[0] in known]
    if len(kept) < len(pairs):
        _known_fields(task, dict(pairs))
    return kept


def _known_fields(task: Task, result: Mapping[str, Any]) -> dict[str, Any]:
    plan = task.node.plan
    unknown = [key for key in result if key not in plan.fieldset and key not in plan.managed]
    if unknown and not task.machine.scope.quiet_unknown:
        report_unknown_keys(plan, task.node.name, unknown)
    return {key: value for key, value in result.items() if key in plan.fieldset}


def report_unknown_keys(plan: Plan, where: str, unknown: Iterable[Any]) -> None:
    """Warn, once for each place and key, that a written key is no field of the graph and so is lost."""
    import warnings

    from stepgraph.warnings import UnknownStateKeyWarning

    for key in unknown:
        close = nearest(key, plan.fields)
        hint = "" if close is None else f" Did you mean {close!r}?"
        warnings.warn(
            f"{where!r} of graph {plan.graph_name!r} wrote key {key!r}, which no schema of the graph declares: the value "
            f"is dropped.{hint} Declare it in the state, or do not return it.",
            UnknownStateKeyWarning,
            stacklevel=2,
        )


def _add_targets(
    task: Task, goto: Any, targets: tuple[NodePlan, ...], sends: list[Send]
) -> tuple[NodePlan, ...]:
    if not goto:
        return targets
    for name in (goto,) if isinstance(goto, (str, Send)) else goto:
        if isinstance(name, Send):
            sends.append(checked_send(task.node.plan, name, task.node.name))
        elif name != END:
            by = f", handed up by graph {task.handed_up_by!r}," if task.handed_up_by else ""
            node = target_node(task.node.plan, name, f"Command(goto=...) of node {task.node.name!r}{by}")
            if node is not None:
                targets += (node,)
    return targets


def checked_send(plan: Plan, send: Send, source: str) -> Send:
    """The Send itself, after its node's name was looked up."""
    if send.node not in plan.nodes:
        target_node(plan, send.node, f"a Send of {source!r}")
    return send


def target_node(plan: Plan, name: Any, source: str) -> NodePlan | None:
    """The node that a goto, branch or Send names.

    Raises InvalidUpdateError for an unknown name, with the nearest match; with `unknown_target="warn"` it warns and
    answers None.
    """
    node = plan.nodes.get(name) if isinstance(name, str) else None
    if node is not None and node is not plan.start:
        return node
    names = [known for known in plan.nodes if not known.startswith("__")]  # hidden ones are no choices
    if name == "END":
        hint = "To end the run, import END from stepgraph.graph and use it in place of the text 'END'."
    else:
        close = nearest(name, names)
        hint = "" if close is None else f"Did you mean {close!r}? "
        hint += f"Its nodes are: {', '.join(map(repr, names))}."
    message = f"{source} names {name!r}, which is no node of graph {plan.graph_name!r}. {hint}"
    if plan.unknown_target == "warn":
        import warnings

        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return None
    raise InvalidUpdateError(message)


def add_writes(task: Task, pairs: Iterable[tuple[str, Any]]) -> None:
    """Writes that a node makes through its config's send function; they join what it returns."""
    task.written = [*(task.written or ()), *pairs]


def join_written(task: Task) -> None:
    """Put what the node wrote by itself before what it returned."""
    written, task.written = task.written or (), None
    plan = task.node.plan
    updates = task.updates
    task.updates = [
        *[pair for pair in written if pair[0] in plan.fieldset],
        *(updates.items() if isinstance(updates, Mapping) else updates),
    ]
    for channel, value in written:
        if channel == TASKS:
            task.sends = [*(task.sends or ()), value]
        elif channel.startswith(BRANCH_TO):
            node = target_node(plan, channel[len(BRANCH_TO) :], f"a write of node {task.node.name!r}")
            if node is not None:
                task.targets += (node,)


def wire_writes(task: Task) -> list[tuple[str, Any]]:
    """A finished task's writes as (channel, value) pairs: state, then joins and targets, then Sends."""
    pairs = writes_without_sends(task)
    if task.sends:
        pairs += [(TASKS, send) for send in task.sends]
    return pairs or [(NO_WRITES, None)]


def writes_without_sends(task: Task) -> list[tuple[str, Any]]:
    """What of them is no Send."""
    updates = task.updates
    pairs: list[tuple[str, Any]] = list(updates.items() if isinstance(updates, Mapping) else updates)
    if task.node.joins:
        name = task.node.name
        pairs += [(join.channel, name) for join in task.node.joins]
    pairs += [(node.trigger, None) for node in task.targets]
    return pairs


def restore_writes(task: Task, pairs: Iterable[tuple[str, Any]]) -> None:
    """The other way round: a task that finished before gets its stored writes back and is not run again."""
    plan = task.node.plan
    updates: list[tuple[str, Any]] = []
    targets: list[NodePlan] = []
    sends: list[Send] = []
    for channel, value in pairs:
        if channel in plan.fieldset:
            updates.append((channel, value))
        elif channel == TASKS:
            sends.append(value)
        elif channel.startswith(BRANCH_TO):
            node = plan.nodes.get(channel[len(BRANCH_TO) :])
            if node is not None:
                targets.append(node)
        elif (
            channel == task.node.name
        ):  # an imported checkpoint of an older form: it tells its followers that it has run
            targets.extend(task.node.targets)
    as_dict = dict(updates)
    task.updates = as_dict if len(as_dict) == len(updates) else updates
    task.targets = tuple(targets)
    task.sends = sends or None
    task.restored = task.saved = True
