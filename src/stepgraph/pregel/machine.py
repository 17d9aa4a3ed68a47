"""The superstep machine: it decides, it never waits.

Theory of operation. One `Machine` is one level of one run. A driver asks it to begin (`begin_input`, or
`restore.restore` for a stored checkpoint), runs the tasks that it answers, tells it what became of each (`done`,
`paused`, `handed_up`, `failed`), and asks for the next ones (`commit`). When `commit` answers no tasks, `status` says
why: `done`, `paused`, `handed_up` or `drained`. Errors of the person's data are raised from the call that found them.

Rules of this file: no I/O, no clock, no thread, no event loop, no randomness; ids and times come in through the scope.
What goes out leaves through two ports: the ledger (what is stored) and the sink (what is streamed); both are None when
nobody asked, and then cost one comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.errors import GraphRecursionError, InvalidUpdateError, is_invalid_resume
from stepgraph.pregel.commit import commit_objects, finish_objects, fold_mapping, fold_pairs, gathered
from stepgraph.pregel.identity import namespace_tuple
from stepgraph.pregel.invariants import Footprint, check
from stepgraph.pregel.reports import limit_message, report_half_filled, report_lost_edits
from stepgraph.pregel.task import Task
from stepgraph.values.names import ERROR, ERROR_SOURCE_NODE, INTERRUPT

if TYPE_CHECKING:
    from stepgraph.pregel.ledger import Ledger
    from stepgraph.pregel.plan import JoinPlan, NodePlan, Plan
    from stepgraph.pregel.scope import Level, Scope
    from stepgraph.stream.sink import Sink
    from stepgraph.values.commands import Command, Interrupt, Send

_NOTHING: dict[str, Any] = {}


class Machine:
    """One level of one run: its state, and what runs next."""

    __slots__ = (
        "_checkpoint_id",
        "_namespace",
        "_namespace_parts",
        "alone",
        "child_sink",
        "commands",
        "containers",
        "context",
        "deferred",
        "direct",
        "drained_below",
        "finished_joins",
        "footprint",
        "fresh_objects",
        "guard",
        "handing_up",
        "joined",
        "joins",
        "ledger",
        "level",
        "listens",
        "memos",
        "objects",
        "observed",
        "output_keys",
        "parent",
        "pass_breakpoint",
        "pausing",
        "plan",
        "produced",
        "recorder",
        "restored",
        "resuming",
        "scope",
        "shown_state",
        "sink",
        "state",
        "status",
        "step",
        "stop",
        "stop_requested",
        "stops",
        "store",
        "tasks",
    )

    def __init__(self, plan: Plan, scope: Scope, level: Level, parent: Task | None = None) -> None:
        self.plan = plan
        self.scope = scope
        self.level = level
        self.parent = parent
        self._namespace = level.namespace
        self._namespace_parts: tuple[str, ...] | None = None
        self.sink = level.sink
        self.child_sink: Sink | None = None
        self.context: Any = None
        self.store: Any = None
        self.ledger: Ledger | None = None
        self.guard: Any = None if parent is None else parent.machine.guard
        self.listens = level.sink is not None
        self.state: dict[str, Any] = {name: make() for name, make in plan.starts}
        self.containers: set[str] = {
            name for name, value in self.state.items() if type(value) in (list, dict, set)
        }
        self.objects = (
            {name: channel.copy() for name, channel in plan.objects.items()} if plan.objects else _NOTHING
        )
        self.joins: dict[str, set[str]] = {}
        self.joined: tuple[NodePlan, ...] = ()
        self.deferred: dict[str, NodePlan] = {}
        self.finished_joins: list[JoinPlan] = []
        self.memos: dict[str, dict[str, Any]] = {}
        self.tasks: Sequence[Task] = ()
        self.commands: list[Command[Any]] = []
        self.alone = False
        self.pausing = False
        self.drained_below = False
        self.recorder: Any = scope.recorder if scope.saver is not None else None
        self.handing_up = False
        self.produced = False
        self.resuming = False
        self.pass_breakpoint = False
        self.shown_state: dict[str, Any] | None = None
        self.status = "running"
        self.stop_requested = False
        self.observed: Any = None
        self.restored = False
        self.step = 0
        self.stop = scope.limit if level.limit is None else level.limit
        self.stops = bool(level.interrupt_before or level.interrupt_after or scope.control is not None)
        self.footprint: Footprint | None = None
        watched = (self.sink is not None and not self.sink.plain) or scope.debug
        self.direct = not (watched or plan.unusual)
        self.output_keys = plan.output_keys
        if level.output_channels is not None:
            chosen = level.output_channels
            self.output_keys = frozenset((chosen,) if isinstance(chosen, str) else chosen)
        self._checkpoint_id: str | None = None

    # ---- what others look at

    @property
    def checkpoint_id(self) -> str:
        """The checkpoint that this superstep's tasks start from; made on demand where nothing is stored."""
        if self.ledger is not None:
            return self.ledger.head
        if self._checkpoint_id is None:
            self._checkpoint_id = self.scope.new_id() if self.parent is None else self.parent.id
        return self._checkpoint_id

    @property
    def namespace(self) -> str:
        """Where in the thread this level stands; a nested graph's is made on demand where nothing is stored."""
        known = self._namespace
        if known is None:
            assert self.parent is not None
            known = self._namespace = self.level.place(self.parent)
        return known

    @property
    def namespace_parts(self) -> tuple[str, ...]:
        known = self._namespace_parts
        if known is None:
            known = self._namespace_parts = namespace_tuple(self.namespace)
        return known

    def memo(self, key: str) -> dict[str, Any]:
        """A dict that belongs to one channel of this run; reducers may keep an index in it."""
        memo = self.memos.get(key)
        if memo is None:
            memo = self.memos[key] = {}
        return memo

    def output(self) -> Any:
        """The state as the output schema shows it."""
        channels = self.level.output_channels
        if channels is None:
            channels = self.plan.output_channels
        return self.view(channels, self.shown_state or self.state)

    def view(self, channels: str | Sequence[str], state: dict[str, Any]) -> Any:
        if isinstance(channels, str):
            return state.get(channels)
        return {key: state[key] for key in channels if key in state}

    def with_managed(self, node: NodePlan, value: dict[str, Any]) -> dict[str, Any]:
        for key, get in node.managed:
            value[key] = get(self)
        return value

    # ---- beginning

    def begin_input(self, input: Any) -> Sequence[Task]:
        """Take in the run's input and answer the first tasks."""
        plan = self.plan
        start = plan.start
        if start is None:
            return self._begin_channels(input)
        task = Task(self, start, input)
        self.alone = True
        self.tasks = (task,)
        if self.ledger is not None:
            self.ledger.record_input(self, input)
            if self.sink is not None:
                self.sink.checkpoint(self, self.tasks)
        if start.branches:
            return self.tasks
        start.take(task, input)
        return self.commit(self.tasks)

    def _begin_channels(self, input: Any) -> Sequence[Task]:
        """The input of a low-level graph: written to its input channels directly."""
        from stepgraph.pregel.lowlevel import input_writes

        task = Task(self, self.plan.nodes["__input__"], input)
        task.updates = input_writes(self, input)
        folded, changed, empty = self._fold((task,))
        self.apply(folded, empty)
        pulls = self._readers(folded)
        if self.ledger is not None:
            self.ledger.record_channels(self, folded, changed, pulls)
        self._show_values(folded)
        return self._settle(pulls, None, ())

    def begin_restored(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Go on from a loaded checkpoint with these tasks; some of them may have finished before."""
        self.restored = True
        self.produced = self.ledger is None or not self.output_keys.isdisjoint(self.ledger.versions)
        if self.sink is not None:
            self.sink.values(self, None)
            if self.ledger is not None:
                self.sink.checkpoint(self, tasks)
        if not tasks:
            self.status = "done"
            return ()
        if self.step > self.stop:
            raise GraphRecursionError(limit_message(self, tasks))
        self.alone = len(tasks) == 1
        self.tasks = tasks
        if self.scope.control is not None and self.scope.control.drain_requested:
            self.status = "drained"
            return ()
        if self.sink is not None:
            self.sink.tasks_begin(tasks)
        return tasks

    # ---- what became of a task

    def done(self, task: Task) -> None:
        """A task finished; called from whatever thread ran it."""
        task.finished = True
        ledger = self.ledger
        if ledger is not None and not (self.alone or ledger.holds or task.saved):
            task.saved = True
            ledger.write(task, task.pairs())
        if self.sink is not None and not task.node.hidden:
            self.sink.task_done(task)

    def paused(self, task: Task, interrupts: tuple[Interrupt[Any], ...]) -> None:
        """A task asked a question, or a graph inside it stopped at a breakpoint."""
        task.interrupts = interrupts
        self.pausing = True
        acting = task.handler or task
        acting.interrupts = interrupts
        if acting.ended_children is not None:
            _store_ended(acting)
        if self.ledger is not None and interrupts:
            self.ledger.write(acting, [(INTERRUPT, interrupts)])
        if self.sink is not None and interrupts:
            self.sink.task_paused(acting)

    def handed_up(self, task: Task, commands: Sequence[Command[Any]]) -> None:
        """A task handed control to the parent graph; its siblings of this step still run to their end."""
        task.commands = list(commands)
        self.handing_up = True

    def failed(self, task: Task, error: BaseException, handled: bool = False) -> None:
        """A task failed for good: the run will fail once its siblings have stopped, unless a handler takes over."""
        acting = task.handler or task
        task.error = acting.error = error
        if acting.ended_children is not None:
            _store_ended(acting)
        if self.ledger is not None and not is_invalid_resume(error):
            mark = [(ERROR_SOURCE_NODE, task.node.name)] if handled else []
            self.ledger.write(acting, [(ERROR, error), *mark])
        if self.sink is not None and not task.node.hidden:
            self.sink.task_failed(acting)

    # ---- the commit

    def commit(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Fold what the tasks wrote, and answer the tasks of the next superstep; none when the run is over."""
        if self.pausing or self.handing_up:
            return self._stop_early(tasks)
        plan = self.plan
        if len(tasks) == 1 and self.direct and not self.stops:
            return self._commit_lone(tasks)
        if plan.objects:
            folded, changed, empty = self._fold(tasks)
        else:
            changed, empty = None, None
            if len(tasks) == 1:
                task = tasks[0]
                known = task.folded
                if known is not None:
                    folded = known
                elif not task.updates:
                    folded = _NOTHING
                elif type(task.updates) is dict:
                    folded = fold_mapping(self, task.updates, task)
                else:
                    folded = fold_pairs(self, tasks)
            else:
                folded = fold_pairs(self, tasks)
        if self.containers:
            report_lost_edits(self, tasks)
        if self.footprint is not None:
            self.footprint.report(self, tasks)
        if len(tasks) == 1:
            task = tasks[0]
            pulls: Sequence[NodePlan] = task.targets
            sends = task.sends
        else:
            pulls, sends = gathered(tasks)
        joined = self._arrive(tasks) if plan.joins else ()
        if joined:
            pulls = (*pulls, *[join.target for join in joined])
        if plan.has_deferred:
            pulls = self._hold_back(pulls)
        if folded or empty:
            self.apply(folded, empty)
            if plan.reader_triggers:
                pulls = (*pulls, *self._readers(folded))
        if not pulls and not sends:
            pulls = self._finish(folded, changed)
        if self.ledger is not None:
            self.ledger.record_step(self, tasks, folded, changed, pulls, sends, joined)
        elif self._checkpoint_id is not None:
            self._checkpoint_id = None
        if folded:
            self._show_values(folded)
        self.step += 1
        self.resuming = False
        return self._settle(pulls, sends, tasks)

    def _commit_lone(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """The same for a lone task, where only what is plain is shown and only plain edges lead on."""
        task = tasks[0]
        folded = task.folded
        if folded is None and task.updates:
            updates = task.updates
            folded = fold_mapping(self, updates, task) if type(updates) is dict else fold_pairs(self, tasks)
        if self.containers:
            report_lost_edits(self, tasks)
        if folded:
            self.apply(folded)
        if self.ledger is not None:
            self.ledger.record_lone(self, task, folded or _NOTHING)
        self._checkpoint_id = None
        if folded and (self.sink is not None or not self.produced):
            self._show_values(folded)
        self.resuming = self.pass_breakpoint = False
        self.step = step = self.step + 1
        pulls = task.targets
        if len(pulls) == 1 and task.sends is None and step <= self.stop:
            node = pulls[0]
            self.tasks = following = (Task(self, node, self.read(node)),)
            return following
        return self._settle(pulls, task.sends, tasks)

    def _fold(self, tasks: Sequence[Task]) -> tuple[dict[str, Any], set[str], set[str]]:
        folded = fold_pairs(self, tasks)
        changed, empty = commit_objects(self, tasks, folded) if self.objects else (set(), set())
        return folded, changed, empty

    def apply(self, folded: dict[str, Any], empty: set[str] | None = None) -> None:
        state = self.state
        size = len(state)
        state.update(folded)
        containers = self.containers
        for key, value in folded.items():
            kind = type(value)
            if kind is list or kind is dict or kind is set:
                containers.add(key)
            elif containers:
                containers.discard(key)
        if empty:
            for key in empty:
                state.pop(key, None)
                containers.discard(key)
        if len(state) > size and size:
            self.state = {key: state[key] for key in self.plan.fields if key in state}

    def _readers(self, folded: dict[str, Any]) -> list[NodePlan]:
        triggers = self.plan.reader_triggers
        return [node for key in folded if key in triggers for node in triggers[key]]

    def _arrive(self, tasks: Sequence[Task]) -> tuple[Any, ...]:
        """Count arrivals at waiting edges; answers the joins that are full now."""
        full = []
        for task in tasks:
            if task.handler is not None:
                continue
            for join in task.node.joins:
                arrived = self.joins.get(join.channel)
                if arrived is None:
                    arrived = self.joins[join.channel] = set()
                elif len(arrived) == len(join.sources):
                    continue
                arrived.add(task.node.name)
                if len(arrived) == len(join.sources):
                    full.append(join)
        for join in full:
            if not join.deferred:
                self.joins[join.channel] = set()
        return tuple(full)

    def _hold_back(self, pulls: Sequence[NodePlan]) -> Sequence[NodePlan]:
        """Deferred nodes wait until nothing else runs."""
        for node in pulls:
            if node.deferred:
                self.deferred[node.name] = node
        return [node for node in pulls if not node.deferred]

    def _finish(self, folded: dict[str, Any], changed: set[str] | None) -> Sequence[NodePlan]:
        """Nothing triggers any more: deferred nodes get their turn."""
        pulls: Sequence[NodePlan] = ()
        if self.deferred:
            pulls = tuple(self.deferred.values())
            self.deferred = {}
            for join in self.plan.joins.values():
                if join.deferred and len(self.joins.get(join.channel, ())) == len(join.sources):
                    self.joins[join.channel] = set()
                    self.finished_joins.append(join)
        if self.objects:
            shown: dict[str, Any] = {}
            finished, empty = finish_objects(self, shown)
            if changed is not None:
                changed |= finished
            if shown or empty:
                self.apply(shown, empty)
                folded.update(shown)
                pulls = (*pulls, *self._readers(shown))
        return pulls

    # ---- what runs next

    def _settle(
        self, pulls: Sequence[NodePlan], sends: Sequence[Send] | None, ran: Sequence[Task]
    ) -> Sequence[Task]:
        """Stop where a breakpoint, a drain or the limit says so; else make the next tasks."""
        if self.sink is not None and self.ledger is not None and self.sink.wants_checkpoints:
            self.sink.checkpoint(self, self.make_tasks(pulls, sends))
        if self.stops and self._stops_here(pulls, sends, ran):
            return ()
        if self.step > self.stop:
            raise GraphRecursionError(limit_message(self, ran))
        self.pass_breakpoint = False
        if len(pulls) == 1 and not sends:
            self.alone = True
            tasks: Sequence[Task] = (Task(self, pulls[0], self.read(pulls[0])),)
        elif not pulls and not sends:
            self.status = "done"
            if self.joins:
                report_half_filled(self)
            return ()
        else:
            tasks = self.make_tasks(pulls, sends)
            self.alone = len(tasks) == 1
        self.tasks = tasks
        if self.scope.debug:
            check(self)
            self.footprint = Footprint(self)
        if self.sink is not None:
            self.sink.tasks_begin(tasks)
        return tasks

    def make_tasks(self, pulls: Sequence[NodePlan], sends: Sequence[Send] | None) -> list[Task]:
        """The tasks of one superstep in the order of their paths: nodes by name, then Sends as they were sent."""
        if len(pulls) > 1:
            pulls = sorted({node.name: node for node in pulls}.values(), key=_by_name)
        tasks = [Task(self, node, self.read(node)) for node in pulls]
        if sends:
            nodes = self.plan.nodes
            for index, send in enumerate(sends):
                node = nodes.get(send.node)
                if node is None:
                    raise InvalidUpdateError(
                        f"A stored Send names {send.node!r}, which is no node of graph {self.plan.graph_name!r} any more."
                    )
                task = Task(self, node, send.arg)
                task.argument = send.arg
                task.index = index
                if send.timeout is not None:
                    task.timeout = send.timeout
                tasks.append(task)
        return tasks

    def read(self, node: NodePlan) -> Any:
        """What the node receives: its channels, with top-level containers of its own."""
        keys = node.keys
        state = self.state
        value: Any
        if keys is None:
            value = state.copy()
            for key in self.containers:
                value[key] = value[key].copy()
        elif type(keys) is str:
            value = state.get(keys)
            if keys in self.containers:
                value = value.copy()
        else:
            containers = self.containers
            value = {
                key: (state[key].copy() if key in containers else state[key]) for key in keys if key in state
            }
        if node.managed:
            self.with_managed(node, value)
        if node.mapper is None:
            return value
        try:
            return node.mapper(value)
        except Exception as error:
            error.add_note(
                f"While the state was made into the input of node {node.name!r} of graph {self.plan.graph_name!r} in step "
                f"{self.step}."
            )
            raise

    def _stops_here(
        self, pulls: Sequence[NodePlan], sends: Sequence[Send] | None, ran: Sequence[Task]
    ) -> bool:
        control = self.scope.control
        if control is not None and control.drain_requested and (pulls or sends) and ran:
            self.status = "drained"
            return True
        level = self.level
        after = level.interrupt_after
        if after and ran and any(not t.node.hidden and (after == "*" or t.node.name in after) for t in ran):
            self.status = "breakpoint"
            return True
        before = level.interrupt_before
        if before and not self.pass_breakpoint and (pulls or sends):
            names = [node.name for node in pulls if not node.hidden] + [send.node for send in sends or ()]
            if any(before == "*" or name in before for name in names):
                self.status = "breakpoint"
                return True
        return False

    def _stop_early(self, tasks: Sequence[Task]) -> Sequence[Task]:
        if self.ledger is not None:
            self.ledger.release(tasks)
        if self.handing_up:
            self.status = "handed_up"
            self.commands = [command for task in tasks for command in task.commands or ()]
            return ()
        self.status = "drained" if self.drained_below else "paused"
        finished = [task for task in tasks if task.interrupts is None and task.error is None]
        if finished and self.parent is None:
            folded = fold_pairs(self, finished)
            shown = {**self.state, **folded}
            self.shown_state = {key: shown[key] for key in self.plan.fields if key in shown}
            if not self.output_keys.isdisjoint(folded):
                self.produced = True
                if self.sink is not None and self.status == "paused":
                    self.sink.values(self, self.output())
        return ()

    def interrupts(self) -> tuple[Interrupt[Any], ...]:
        """All questions that this level waits for, in the order of tasks."""
        return tuple(i for task in self.tasks for i in task.interrupts or ())

    # ---- telling

    def _show_values(self, folded: dict[str, Any]) -> None:
        if not self.output_keys.isdisjoint(folded):
            self.produced = True
            if self.sink is not None:
                self.sink.values(self, None)


def _store_ended(task: Task) -> None:
    """Durability `exit` stores no child that ended, unless the task that called it has to go on later."""
    for ledger in task.ended_children or ():
        ledger.flush()
    task.ended_children = None


def _by_name(node: NodePlan) -> str:
    return node.name
