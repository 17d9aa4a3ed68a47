"""LangChain's callbacks as an observer of runs: a chain run for each graph, each attempt of a node, each path function.

The shape of a trace is the one that tools built for LangGraph expect: the names, tags (`graph:step:2` on a node's run,
`seq:step:3` on what it calls and on its path functions), metadata and nesting. What a node itself calls finds the manager
for it in its config, see `Record.callbacks`.

How an event reaches its handlers is `dispatch.py`'s part.
"""

from __future__ import annotations

import sys
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

from langchain_core.callbacks.manager import CallbackManager, ahandle_event, handle_event

from stepgraph.langchain.dispatch import Told, atell, tell
from stepgraph.langchain.record import Handlers, Record, new_run_id, tap_of
from stepgraph.langchain.tokens import ModelHandler
from stepgraph.pregel.config import merge_configs, root_metadata, task_place
from stepgraph.pregel.observing import Observer
from stepgraph.values.names import TAG_HIDDEN

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine
    from stepgraph.pregel.plan import BranchPlan
    from stepgraph.pregel.task import Task

INTEGRATION = {"ls_integration": "langgraph"}


class CallbackObserver(Observer):
    """Tells LangChain's handlers; what it knows of a run stands in records on machines and tasks."""

    # ---- runs of graphs

    def run_begins(self, machine: Machine, input: Any) -> None:
        tell(machine, self._run(machine, input, False))

    async def arun_begins(self, machine: Machine, input: Any) -> None:
        await atell(self._run(machine, input, True))

    def _run(self, machine: Machine, input: Any, on_loop: bool) -> Told | None:
        """The record of a run, and the event that it begins."""
        given, machine.observed = machine.observed, None
        config = _run_config(machine, None if given is None else given.callbacks)
        manager = CallbackManager.configure(
            inheritable_callbacks=config.get("callbacks"),
            inheritable_tags=config.get("tags"),
            inheritable_metadata=config["metadata"],
        )
        if machine.parent is None:
            _leave_other_streams(manager)
        if given is not None and given.handler is not None:
            manager.add_handler(given.handler)
        record = Record(
            Handlers(manager.handlers, manager.inheritable_handlers),
            config.get("run_id") or new_run_id(),
            manager.parent_run_id,
            manager.tags,
            manager.inheritable_tags,
            manager.inheritable_metadata,
        )
        record.on_loop = on_loop
        machine.observed = record
        if not record.handlers.chains:
            return None
        name = config.get("run_name") or machine.plan.graph_name
        return Told(record, "on_chain_start", None, input, metadata=manager.metadata, name=name)

    def run_resumes(self, machine: Machine) -> None:
        event = _lifecycle(machine, "on_resume")
        if event is not None:
            handle_event(event[0], "on_resume", None, event[1])

    async def arun_resumes(self, machine: Machine) -> None:
        event = _lifecycle(machine, "on_resume")
        if event is not None:
            await ahandle_event(event[0], "on_resume", None, event[1])

    def run_ends(self, machine: Machine, output: Any) -> None:
        event = _lifecycle(machine, "on_interrupt")
        if event is not None:
            handle_event(event[0], "on_interrupt", None, event[1])
        tell(machine, _ended(machine.observed, output))

    async def arun_ends(self, machine: Machine, output: Any) -> None:
        event = _lifecycle(machine, "on_interrupt")
        if event is not None:
            await ahandle_event(event[0], "on_interrupt", None, event[1])
        await atell(_ended(machine.observed, output))

    def run_fails(self, machine: Machine, error: BaseException) -> None:
        tell(machine, _failed(machine.observed, error))

    async def arun_fails(self, machine: Machine, error: BaseException) -> None:
        await atell(_failed(machine.observed, error))

    # ---- attempts of tasks

    def task_begins(self, task: Task) -> None:
        told = self._task(task, False)
        if told is None:
            return
        if not told.handlers.tracers:
            tell(task.machine, told)
        else:
            for part in _by_policy(task, told, "process_inputs", 1):
                tell(task.machine, part)
            _trace_from_here(task)

    async def atask_begins(self, task: Task) -> None:
        told = self._task(task, True)
        if told is None:
            return
        if not told.handlers.tracers:
            await atell(told)
        else:
            for part in _by_policy(task, told, "process_inputs", 1):
                await atell(part)
            _trace_from_here(task)

    def _task(self, task: Task, on_loop: bool) -> Told | None:
        """The record of an attempt, and the event that it begins."""
        caller = getattr(task, "caller", None)
        outer: Record | None = task.machine.observed if caller is None else caller.observed
        task.observed = None
        if outer is None or (task.node.hidden and not task.node.branches):
            return None
        node = task.node
        tags = [f"graph:step:{task.machine.step}" if caller is None else "seq:step:1"]
        inherited = outer.inherited_tags
        if node.tags:
            inherited = [*inherited, *node.tags]
        if inherited:
            tags += inherited
        if node.hidden:
            tags.append(TAG_HIDDEN)
        metadata = outer.inherited_metadata.copy()
        metadata.update(task_place(task))
        record = Record(outer.handlers.below(), new_run_id(), outer.run_id, tags, inherited, metadata)
        record.on_loop = on_loop
        record.tag = "seq:step:1"
        record.outer = outer
        task.observed = record
        task._config = None
        if not record.handlers.chains:
            return None
        return Told(record, "on_chain_start", None, _input_of(task), metadata=metadata.copy(), name=node.name)

    def task_ends(self, task: Task, result: Any) -> None:
        told = _ended(task.observed, _plain(task, result))
        if told is None:
            return
        record: Record = task.observed
        tap = tap_of(task)
        if tap is not None and not record.tapped:
            for _ in tap.tap_output_iter(record.run_id, iter([told.arguments[0]])):
                pass
        if not told.handlers.tracers:
            tell(task.machine, told)
        else:
            for part in _by_policy(task, told, "process_outputs", 0):
                tell(task.machine, part)

    async def atask_ends(self, task: Task, result: Any) -> None:
        told = _ended(task.observed, _plain(task, result))
        if told is None:
            return
        record: Record = task.observed
        tap = tap_of(task)
        if tap is not None and not record.tapped:
            async for _ in tap.tap_output_aiter(record.run_id, _one(told.arguments[0])):
                pass
        if not told.handlers.tracers:
            await atell(told)
        else:
            for part in _by_policy(task, told, "process_outputs", 0):
                await atell(part)

    def task_fails(self, task: Task, error: BaseException) -> None:
        tell(task.machine, _failed(task.observed, error))

    async def atask_fails(self, task: Task, error: BaseException) -> None:
        await atell(_failed(task.observed, error))

    # ---- path functions

    def branch_begins(self, task: Task, branch: BranchPlan, number: int, state: Any) -> None:
        tell(task.machine, self._branch(task, branch, number, state))

    async def abranch_begins(self, task: Task, branch: BranchPlan, number: int, state: Any) -> None:
        await atell(self._branch(task, branch, number, state))

    def _branch(self, task: Task, branch: BranchPlan, number: int, state: Any) -> Told | None:
        """The record of a path function's run. A runnable that is a path tells of itself, one step further on."""
        outer: Record | None = task.observed
        if outer is None:
            return None
        step = f"seq:step:{_steps_before(task) + number + 1}"
        path = branch.action
        own = isinstance(path, (FunctionType, MethodType)) or not hasattr(path, "invoke")
        record = Record(
            outer.handlers,
            new_run_id() if own else outer.run_id,
            outer.run_id if own else outer.parent_run_id,
            [step, *outer.inherited_tags, *([TAG_HIDDEN] if task.node.hidden else ())],
            outer.inherited_tags,
            outer.inherited_metadata,
        )
        record.on_loop = outer.on_loop
        record.tag = None if own else step
        record.outer = outer
        task.observed = record
        task._config = None
        if not own or not record.handlers.chains:
            return None
        name = getattr(path, "__name__", "<lambda>")
        return Told(
            record,
            "on_chain_start",
            None,
            state,
            metadata=record.inherited_metadata.copy(),
            name="RunnableCallable" if name == "<lambda>" else name,
        )

    def branch_ends(self, task: Task, answer: Any) -> None:
        tell(task.machine, _ended(_leave_branch(task), answer))

    async def abranch_ends(self, task: Task, answer: Any) -> None:
        await atell(_ended(_leave_branch(task), answer))

    def branch_fails(self, task: Task, error: BaseException) -> None:
        tell(task.machine, _failed(_leave_branch(task), error))

    async def abranch_fails(self, task: Task, error: BaseException) -> None:
        await atell(_failed(_leave_branch(task), error))


CALLBACKS = CallbackObserver()


def _run_config(machine: Machine, callbacks: Any) -> dict[str, Any]:
    """The config of a run's own: callbacks, tags, metadata, name and id."""
    config: dict[str, Any]
    parent = machine.parent
    if parent is None:
        config = {**machine.scope.config, "callbacks": callbacks}
        config["metadata"] = {**root_metadata(machine.scope.config), **INTEGRATION}
        return config
    outer = parent.observed
    above = {} if outer is None else {"callbacks": outer.callbacks, "tags": outer.inherited_tags}
    own = {**(machine.level.config or {}), "callbacks": callbacks}
    config = merge_configs({**above, "metadata": parent.config["metadata"]}, own)
    config["metadata"] = {"checkpoint_ns": parent.namespace, **config["metadata"], **INTEGRATION}
    return config


def _leave_other_streams(manager: Any) -> None:
    """A root run that a node starts is no part of what streams that node's run."""
    for handler in [handler for handler in manager.handlers if isinstance(handler, ModelHandler)]:
        manager.remove_handler(handler)


def _ended(record: Record | None, output: Any) -> Told | None:
    if record is None or not record.handlers.chains:
        return None
    return Told(record, "on_chain_end", output)


def _failed(record: Record | None, error: BaseException) -> Told | None:
    if record is None or not record.handlers.chains:
        return None
    return Told(record, "on_chain_error", error)


def _leave_branch(task: Task) -> Record | None:
    """Back from a path function to its node; answers the record of its run, None if it told of itself."""
    record: Record | None = task.observed
    if record is None:
        return None
    task.observed = record.outer
    task._config = None
    return record if record.tag is None else None


def _steps_before(task: Task) -> int:
    """How many steps of a node come before its path functions: what it runs, its writes, its edges."""
    node = task.node
    action = node.action
    runs = 0 if node.hidden else len(action.steps) if type(action).__name__ == "RunnableSequence" else 1
    return runs + 1 + len(node.targets) + len(node.joins)


def _input_of(task: Task) -> Any:
    """What a node is given; for a call of a function with arguments of its own, those by name."""
    if getattr(task, "caller", None) is None:
        return task.input
    from inspect import signature

    arguments, named = task.input
    try:
        bound = signature(task.node.action).bind_partial(*arguments, **named)
        bound.apply_defaults()
        return dict(bound.arguments)
    except (TypeError, ValueError):
        return {"args": arguments, "kwargs": named}


def _plain(task: Task, result: Any) -> Any:
    """What the person's function returned."""
    calls = sys.modules.get("stepgraph.pregel.calls")
    if calls is not None and type(result) is calls.Returned:
        result = result.value
        if type(result).__qualname__ == "entrypoint.final":
            return result.value
    return result


def _by_policy(task: Task, told: Told, part: str, position: int) -> list[Told]:
    """The event once as it is, or for tracers with the payload that the node's trace policy makes of it."""
    policy = task.node.trace_policy
    process = None if policy is None else getattr(policy, part)
    if process is None or not told.handlers.tracers:
        return [told]
    handlers = told.handlers
    shown, hidden = Told.__new__(Told), Told.__new__(Told)
    for copy in (shown, hidden):
        for name in Told.__slots__:
            setattr(copy, name, getattr(told, name))
    others = [handler for handler in handlers.own if handler not in handlers.tracers]
    shown.handlers = Handlers(others, others)
    hidden.handlers = Handlers(handlers.tracers, handlers.tracers)
    payload = list(told.arguments)
    payload[position] = process(payload[position])
    hidden.arguments = tuple(payload)
    return [shown, hidden]


def _trace_from_here(task: Task) -> None:
    """Let functions that LangSmith traces by itself hang below this node in the trace."""
    if task.observed.handlers.tracers:
        from langchain_core.runnables.config import _set_config_context, var_child_runnable_config

        ambient = var_child_runnable_config.get()
        _set_config_context(task.config)  # type: ignore[arg-type]
        var_child_runnable_config.set(ambient)


async def _one(value: Any) -> Any:
    yield value


def _lifecycle(machine: Machine, name: str) -> tuple[list[Any], Any] | None:
    """The handlers of `stepgraph.callbacks` and what they are told, if there are any and it is their turn."""
    callbacks = sys.modules.get("stepgraph.callbacks")
    record: Record | None = machine.observed
    if callbacks is None or record is None:
        return None
    handlers = [h for h in record.handlers.own if isinstance(h, callbacks.GraphCallbackHandler)]
    if not handlers:
        return None
    if name == "on_resume":
        event = callbacks.GraphResumeEvent(
            record.run_id, "pending", machine.checkpoint_id, machine.namespace_parts
        )
        return handlers, event
    if machine.parent is not None or machine.status not in ("paused", "breakpoint"):
        return None
    event = callbacks.GraphInterruptEvent(
        record.run_id, _stopped(machine), machine.checkpoint_id, (), machine.interrupts()
    )
    return handlers, event


def _stopped(machine: Machine) -> str:
    """Why a root run stands where it stands."""
    if machine.status == "paused":
        return "pending"
    after = machine.level.interrupt_after or ()
    ran = [task for task in machine.tasks if not task.node.hidden]
    return "interrupt_after" if any(after == "*" or t.node.name in after for t in ran) else "interrupt_before"
