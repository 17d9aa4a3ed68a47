"""Calls of `@task` functions: what one call is, what of it is stored, and how a resume finds it again.

Theory of operation. A call is a task of its own (`CallTask`) below the task that makes it (its caller). Its place is the
caller's id, the caller's attempt and the number of the call; with the task's name that gives its id. A call that ends well
is stored at once, as a pending write of the caller's checkpoint; one that fails is stored as failed, and runs again after a
resume. When the caller runs again from its top, each of its calls looks for what is stored under its id: a result is
answered without running the task, answers to its questions are given to it. If another name is stored at its place, the
caller makes its calls in another order than before, and the stored results would go to the wrong calls: that is an error.

A call is no level of the graph: it has its caller's machine, its events appear in its caller's namespace, and a question
that it asks pauses its caller. Graphs that it runs live below the caller and the call: `node:<id>|task:<id>`.

Rules of this file: pure; starting and waiting are the drivers' part (`drivers/calls.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from stepgraph.errors import GraphBubbleUp, GraphInterrupt, TaskOrderError, is_invalid_resume
from stepgraph.pregel.call import INJECT, is_async_callable
from stepgraph.pregel.identity import call_id, call_place, child_namespace, interrupt_id, name_digest
from stepgraph.pregel.interrupts import question_id
from stepgraph.pregel.plan import NodePlan, Plan
from stepgraph.pregel.recorded import marks_of, recognise_call
from stepgraph.pregel.task import Task
from stepgraph.schema.callables import injected_arguments
from stepgraph.stream.calls import call_began, call_ended
from stepgraph.values.names import ERROR, PUSH, RESUME, RETURN

if TYPE_CHECKING:
    from stepgraph.pregel.policies import NodePolicy

Pending = Mapping[str, Sequence[tuple[str, Any]]]

NAMES: dict[str, str] = {}
"""Digest of a name to the name, of every task that was declared in this process."""


class CallTask(Task):
    """One call of a task function; `input` is its arguments, `caller` the task that made it.

    `bubble` is what ended it where that was no failure: a pause, a drain, or a graph below that handed control up, which
    passes the call and reaches its caller. `future`, `handle`, `shown`
    (the one of both that the caller has) and `lent` are the drivers'.
    """

    result: Any = None
    bubble: GraphBubbleUp | None = None
    takes_commands = False
    future: Any = None
    handle: Any = None
    shown: Any = None
    lent: Any = None

    def __init__(
        self, caller: Task, node: NodePlan, input: tuple[tuple[Any, ...], dict[str, Any]], number: int
    ) -> None:
        super().__init__(caller.machine, node, input)
        self.caller = caller
        self.number = number
        self.caller_attempt = caller.attempt

    @property
    def path(self) -> tuple[Any, ...]:
        return (PUSH, self.caller.path, self.number, True)

    @property
    def path_text(self) -> str:
        return f"~{PUSH}, {self.caller.path_text}, {self.number:010d}, {1:010d}"

    @property
    def id(self) -> str:
        known = self._id
        if known is None:
            known = self._id = call_id(self.caller.id, self.caller_attempt, self.number, self.node.name)
        return known

    @property
    def namespace(self) -> str:
        return child_namespace(self.caller.namespace, self.node.name, self.id)

    @property
    def triggers(self) -> tuple[str, ...]:
        return (PUSH,)

    @property
    def checkpoint_map(self) -> dict[str, str]:
        return {**self.caller.checkpoint_map, self.caller.namespace: self.machine.checkpoint_id}

    @property
    def previous(self) -> Any:
        return None

    @property
    def above(self) -> Task | None:
        return self.caller

    @property
    def arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        given: tuple[tuple[Any, ...], dict[str, Any]] = self.input
        return given


class Calls:
    """The calls that one attempt of a task made. The driver's subclass knows how to wait for them.

    `outdated` says that what is stored of further calls may rest on an answer that is given anew.
    """

    __slots__ = ("children", "numbers", "outdated", "places", "recorded")

    def __init__(self) -> None:
        self.children: list[CallTask] = []
        self.numbers = count()
        self.outdated = False
        self.places: dict[str, str] | None = None
        self.recorded: bool | None = None

    def stored_at(self, id: str, pending: Pending) -> str | None:
        """The id of whatever call is stored at the place of the call with this id."""
        if self.places is None:
            self.places = {call_place(stored): stored for stored in pending}
        return self.places.get(call_place(id))

    def settle(self, task: Task) -> None:
        """The caller has returned: wait for its calls; raises what they hand up."""
        raise NotImplementedError

    def close(self, task: Task, error: BaseException) -> None:
        """The caller has raised: end its calls; raises what takes the place of its error, if anything."""
        raise NotImplementedError

    async def asettle(self, task: Task) -> None:
        """The same as `settle`, awaited."""
        raise NotImplementedError

    async def aclose(self, task: Task, error: BaseException) -> None:
        """The same as `close`, awaited."""
        raise NotImplementedError


# ---- declaring


class Returned:
    """What a function returned, `None` too, on its way to where it is taken apart."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def call_node(name: str, function: Callable[..., Any], policy: NodePolicy | None) -> NodePlan:
    """The plan of a task function: a node without a graph, called with arguments of its own."""
    NAMES[name_digest(name)] = name
    node = NodePlan(name)
    node.action = function
    node.policy = policy
    node.trigger, node.triggers = PUSH, (PUSH,)
    node.take = _take_return
    call = bind_arguments(function)
    if is_async_callable(function):
        node.is_async = True
        node.acall = awaited(call)
    else:
        node.call = returned(call)
    plan = Plan(name)
    plan.nodes = {name: node}
    plan.fields = (RETURN,)
    plan.seal()
    return node


def returned(call: Callable[[Task], Any]) -> Callable[[Task], Returned]:
    """The same call; what it returns is wrapped, so that the engine does not look into it."""
    return lambda task: Returned(call(task))


def awaited(call: Callable[[Task], Any]) -> Callable[[Task], Any]:
    """The same for a call that answers an awaitable."""

    async def acall(task: Task) -> Returned:
        return Returned(await call(task))

    return acall


def _take_return(task: Task, result: Any) -> None:
    task.updates = {RETURN: result.value}


def bind_arguments(function: Callable[..., Any]) -> Callable[[Task], Any]:
    """A call with the caller's arguments, and with what the function wants injected and was not given."""
    wanted = injected_arguments(function)
    if not wanted:
        return lambda task: function(*task.input[0], **task.input[1])

    def call(task: Task) -> Any:
        arguments, named = task.input
        injected = {
            name: INJECT[kind](task)
            for name, (kind, place) in wanted.items()
            if name not in named and (place is None or place >= len(arguments))
        }
        return function(*arguments, **named, **injected)

    return call


# ---- one call


def begin_call(
    calls: Calls, caller: Task, node: NodePlan, arguments: tuple[Any, ...], named: dict[str, Any]
) -> CallTask:
    """Note a call of `caller`, and give it what is stored of it.

    Raises:
        TaskOrderError: Another task is stored at the place of this call.
    """
    call = CallTask(caller, node, (arguments, named), next(calls.numbers))
    if caller.swallowed is None:
        caller.swallowed = calls
    ledger = call.machine.ledger
    if ledger is not None and ledger.pending:
        _recall(call, calls, ledger.pending)
    calls.children.append(call)
    call_began(call)
    return call


def call_done(call: CallTask) -> None:
    """A call returned: its result is stored before anybody sees it."""
    machine = call.machine
    updates = call.updates
    assert isinstance(updates, dict)
    call.result = updates[RETURN]
    if machine.ledger is not None:
        machine.ledger.write(call, [(RETURN, call.result)])
    call_ended(call)


def call_failed(call: CallTask, error: BaseException) -> None:
    """A call raised. A pause, a hand-over or a drain goes on to the caller, a failure is stored and shown."""
    ledgers, call.ended_children = call.ended_children, None
    for ledger in ledgers or ():
        ledger.flush()
    if isinstance(error, GraphInterrupt):
        call.interrupts = tuple(error.args[0]) if error.args else ()
    if isinstance(error, GraphBubbleUp):
        call.bubble = error
        return
    call.error = error
    if call.cancelled:
        return
    if isinstance(error, Exception) and call.machine.ledger is not None and not is_invalid_resume(error):
        call.machine.ledger.write(call, [(ERROR, error)])
    call_ended(call)


def bubbled(calls: Sequence[CallTask], error: BaseException | None) -> BaseException | None:
    """What a caller must raise once all its calls have ended.

    A question that a call asks pauses its caller, whatever became of the call's future; all questions are asked at once.

    Args:
        calls: The caller's calls.
        error: What the caller itself raised, if it did.
    """
    if error is not None and not isinstance(error, GraphBubbleUp):
        return error
    bubbles = [call.bubble for call in calls if call.bubble is not None]
    if error is not None:
        bubbles.append(error)
    asked: dict[str, Any] = {}
    for bubble in bubbles:
        if not isinstance(bubble, GraphInterrupt):
            return bubble
        asked.update((question.id, question) for question in (bubble.args[0] if bubble.args else ()))
    for bubble in bubbles:
        if len(bubble.args[0] if bubble.args else ()) == len(asked):
            return bubble
    return GraphInterrupt(tuple(asked.values())) if bubbles else None


def report_uncollected(caller: Task, failed: Sequence[CallTask]) -> None:
    """Warn that failures of calls went unnoticed."""
    import warnings

    from stepgraph.warnings import UncollectedFailureWarning

    for call in failed:
        warnings.warn(
            f"Task {call.node.name!r}, call {call.number} of {caller.node.name!r} in graph "
            f"{caller.machine.plan.graph_name!r}, failed with {call.error!r}, and nothing looked at its result: the run goes "
            "on without it. Call .result() on its future, or await it; catch the error there if it does not matter.",
            UncollectedFailureWarning,
            stacklevel=2,
        )


# ---- what is stored of a call


def _recall(call: CallTask, calls: Calls, pending: Pending) -> None:
    pairs = pending.get(call.id) or _recorded(call, calls, pending)
    if pairs is None:
        _check_order(call, calls, pending)
        return
    given = next((value for channel, value in pairs if channel == RESUME), None)
    if given is not None:
        call.answers = list(given) if isinstance(given, (list, tuple)) else [given]
    if _is_outdated(call, calls, pending) or _is_on_path(call):
        return
    for channel, value in pairs:
        if channel == RETURN:
            call.updates = {RETURN: value}
            call.result = value
            call.restored = call.saved = True


def _recorded(call: CallTask, calls: Calls, pending: Pending) -> Sequence[tuple[str, Any]] | None:
    """What is stored of a call under an id that was given elsewhere; the call takes that id."""
    if calls.recorded is None:
        calls.recorded = bool(marks_of(pending))
    if calls.recorded and call.caller_attempt == 1 and recognise_call(call, pending):
        return pending[call.id]
    return None


def _check_order(call: CallTask, calls: Calls, pending: Pending) -> None:
    stored = calls.stored_at(call.id, pending)
    if stored is not None:
        before = NAMES.get(stored[len(call_place(stored)) :])
        raise TaskOrderError(
            call.number, call.caller.node.name, call.node.name, before, call.machine.plan.graph_name
        )


def _is_on_path(call: CallTask) -> bool:
    """Whether the run was asked to go on from a checkpoint inside a graph that this call runs."""
    return any(
        namespace.startswith(call.namespace) for namespace in call.machine.scope.checkpoint_map if namespace
    )


def _is_outdated(call: CallTask, calls: Calls, pending: Pending) -> bool:
    """Whether an old checkpoint is answered anew, and this call's result may rest on what was answered before.

    That is so for a call that asked, for those that the caller makes after it, after a question of its own, or after it
    ran a graph.
    """
    scope = call.machine.scope
    if not scope.rewind or scope.answers is None:
        return False
    if calls.outdated:
        call.answers = None
        return True
    caller, answered = call.caller, scope.answers.by_id
    if _asked_in(call.id, calls, pending, answered):
        calls.outdated = True
        call.answers = _answers_before(call, answered)
    elif caller.child_count or any(question_id(caller, n) in answered for n in range(caller.interrupt_count)):
        calls.outdated = True
        call.answers = None
    return calls.outdated


def _asked_in(id: str, calls: Calls, pending: Pending, answered: Mapping[str, Any]) -> bool:
    """Whether a call, or one below it, asked a question that is answered now."""
    given = next((value for channel, value in pending.get(id, ()) if channel == RESUME), ())
    if any(interrupt_id(id, index) in answered for index in range(len(given) + 1)):
        return True
    for number in count():
        below = calls.stored_at(call_id(id, 1, number, ""), pending)
        if below is None:
            return False
        if _asked_in(below, calls, pending, answered):
            return True
    return False


def _answers_before(call: CallTask, answered: Mapping[str, Any]) -> list[Any] | None:
    """The stored answers to a call's questions that come before the one that is answered now."""
    given = call.answers or []
    for index in range(len(given) + 1):
        if question_id(call, index) in answered:
            return given[:index] or None
    return given or None
