"""Run a program to its end, through every pause, and write down what could be seen of it.

Theory: two runs of one program may differ in ids, times and versions, and in the order of parallel tasks of a step.
Everything else must be the same. So ids become labels that follow from the structure: a task is `name@step#k` (the
k-th task of that name in that step of its namespace), a checkpoint is `ck n` (the n-th of its namespace), and stream
parts are gathered by namespace and step as multisets. What is left can be compared with `==`, over drivers, savers
and packages.
"""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from .build import Setting, build
from .programs import FIELDS, Program

MODES = ["values", "updates", "custom", "tasks", "checkpoints", "debug"]
MOST_TURNS = 40


@dataclass
class Turn:
    """One call of the graph: its input, the parts it streamed, its result or the error that left it."""

    payload: str
    parts: list[tuple[tuple[str, ...], str, Any]] = field(default_factory=list)
    result: Any = None
    error: str | None = None


@dataclass
class Run:
    """A program that is being run: the graph, its thread, and the turns so far."""

    program: Program
    graph: Any
    setting: Setting
    saver: Any = None
    driver: str = "stream"
    durability: str | None = None
    thread: str = "1"
    one_by_one: bool = False
    turns: list[Turn] = field(default_factory=list)

    @property
    def config(self) -> dict[str, Any]:
        """The config of the head of the thread."""
        return {"configurable": {"thread_id": self.thread}, "recursion_limit": 80}

    def state(self) -> Any:
        """The snapshot of the head; the asynchronous face is asked when the driver is asynchronous."""
        if self.driver.startswith("a"):
            return asyncio.run(self.graph.aget_state(self.config))
        return self.graph.get_state(self.config)

    def to_end(self) -> Run:
        """Give the input, then answer every pause, until nothing is left to run or an error leaves a turn."""
        if not self.turn(self.program.input()) or self.saver is None:
            return self
        return self.onwards()

    def onwards(self) -> Run:
        """Answer pauses and go on from the head until nothing is left to run or an error leaves a turn."""
        for _ in range(MOST_TURNS):
            state = self.state()
            if not state.next:
                return self
            if not self.turn(self.answer(state)):
                return self
        self.turns[-1].error = f"still not at the end after {MOST_TURNS} turns"
        return self

    def answer(self, state: Any) -> Any:
        """What to give next: the answers to what is asked, or None to leave a breakpoint."""
        if not state.interrupts:
            return None
        pending = sorted(state.interrupts, key=lambda one: json.dumps(one.value))
        chosen = pending[:1] if self.one_by_one else pending
        answers = {one.id: f"{one.value['ask']}{one.value['n']}!" for one in chosen}
        return self.setting.module("types").Command(resume=answers)

    def turn(self, payload: Any, config: dict[str, Any] | None = None) -> bool:
        """Call the graph once; whether it ended without an error."""
        turn = Turn("resume" if payload is not None and self.turns else json.dumps(payload))
        self.turns.append(turn)
        options = {"durability": self.durability} if self.durability and self.saver is not None else {}
        try:
            if self.driver in ("astream", "ainvoke"):
                asyncio.run(self._acall(turn, payload, config or self.config, options))
            else:
                self._call(turn, payload, config or self.config, options)
        except Exception as error:
            turn.error = type(error).__name__
            return False
        return True

    def _call(self, turn: Turn, payload: Any, config: Any, options: dict[str, Any]) -> None:
        if self.driver == "invoke":
            turn.result = self.graph.invoke(payload, config, **options)
            return
        for part in self.graph.stream(payload, config, stream_mode=MODES, subgraphs=True, **options):
            turn.parts.append(part)

    async def _acall(self, turn: Turn, payload: Any, config: Any, options: dict[str, Any]) -> None:
        if self.driver == "ainvoke":
            turn.result = await self.graph.ainvoke(payload, config, **options)
            return
        async for part in self.graph.astream(payload, config, stream_mode=MODES, subgraphs=True, **options):
            turn.parts.append(part)


def start(
    program: Program,
    setting: Setting,
    *,
    driver: str = "stream",
    saver: Any = "memory",
    durability: str | None = None,
    one_by_one: bool = False,
) -> Run:
    """Build `program` and make it ready to run; `saver` is "memory", "sqlite", None, or a saver."""
    if saver == "memory":
        saver = setting.module("checkpoint.memory").InMemorySaver()
    elif saver == "sqlite":
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        saver = setting.module("checkpoint.sqlite").SqliteSaver(connection)
    graph = build(program, setting, saver)
    return Run(program, graph, setting, saver, driver, durability, one_by_one=one_by_one)


class Labels:
    """Names for ids that follow from the structure of a run."""

    def __init__(self) -> None:
        self.tasks: dict[str, str] = {}
        self.checkpoints: dict[str, str] = {}

    def learn_tasks(self, run: Run) -> None:
        """Label tasks from the `debug` parts of all turns, in which each start carries its step."""
        counts: Counter[tuple[Any, ...]] = Counter()
        for turn in run.turns:
            for namespace, mode, part in turn.parts:
                if mode == "debug" and part["type"] == "task":
                    identity, name = part["payload"]["id"], part["payload"]["name"]
                    if identity not in self.tasks:
                        key = (namespace, part["step"], name)
                        self.tasks[identity] = f"{name}@{part['step']}#{counts[key]}"
                        counts[key] += 1

    def learn_checkpoints(self, stored: list[Any]) -> None:
        """Label checkpoints by their place among those of their namespace."""
        places: Counter[str] = Counter()
        for saved in sorted(stored, key=lambda one: str(one.checkpoint["id"])):
            namespace = saved.config["configurable"]["checkpoint_ns"]
            self.checkpoints[saved.checkpoint["id"]] = f"ck{places[namespace]}"
            places[namespace] += 1

    def task(self, identity: str) -> str:
        """The label of a task id."""
        return self.tasks.get(identity, "?")

    def checkpoint(self, identity: str | None) -> str | None:
        """The label of a checkpoint id."""
        return None if identity is None else self.checkpoints.get(identity, "?")

    def namespace(self, namespace: str) -> str:
        """A stored namespace with labels in the place of task ids."""
        return "|".join(self.segment(segment) for segment in namespace.split("|")) if namespace else ""

    def segment(self, segment: str) -> str:
        """One level of a namespace."""
        name, colon, identity = segment.partition(":")
        return f"{name}:{self.task(identity)}" if colon else segment


def plain(value: Any, labels: Labels) -> Any:
    """A value of a stream part as something that prints and compares: no ids, times or package classes."""
    if isinstance(value, BaseException):
        return f"!{type(value).__name__}"
    if hasattr(value, "id") and hasattr(value, "value"):
        return {"asked": plain(value.value, labels)}
    if isinstance(value, dict) and {"id", "value"} <= set(value) <= {"id", "value", "response_schema"}:
        return {"asked": plain(value["value"], labels)}
    if hasattr(value, "node") and hasattr(value, "arg"):
        return {"send": value.node, "arg": plain(value.arg, labels)}
    if isinstance(value, dict):
        return {key: _keyed(key, item, labels) for key, item in value.items() if key != "timestamp"}
    if isinstance(value, list | tuple):
        items = [plain(item, labels) for item in value]
        questions = bool(items) and all(isinstance(item, dict) and "asked" in item for item in items)
        return sorted(items, key=text) if questions else items
    return value


def _keyed(key: str, item: Any, labels: Labels) -> Any:
    if key == "id" and isinstance(item, str):
        return labels.task(item)
    if key == "state" and isinstance(item, dict):
        return _names_only(item)
    if key == "checkpoint_id":
        return labels.checkpoint(item)
    if key == "checkpoint_ns" and isinstance(item, str):
        return labels.namespace(item)
    if key in ("checkpoint_map", "parents") and isinstance(item, dict):
        return {labels.namespace(ns): labels.checkpoint(identity) for ns, identity in item.items()}
    return plain(item, labels)


def _error_name(error: Any) -> str | None:
    """The class of a stored error, which may come back as the error or as its text."""
    return (
        None
        if error is None
        else str(error if isinstance(error, str) else type(error).__name__).partition("(")[0]
    )


def _names_only(config: dict[str, Any]) -> str:
    """Where a task's state is: the names of the levels, since whether ids are kept may differ (docs/differences.md)."""
    namespace = str(config["configurable"]["checkpoint_ns"])
    return "|".join(segment.partition(":")[0] for segment in namespace.split("|"))


def text(value: Any) -> str:
    """A canonical text of a plain value."""
    return json.dumps(value, sort_keys=True, default=repr)


def stream_shape(turn: Turn, labels: Labels) -> dict[str, Any]:
    """The parts of a turn: by namespace and step as a multiset, and the states of each namespace in order."""
    steps: dict[str, int] = {}
    gathered: dict[str, Counter[str]] = {}
    states: dict[str, list[str]] = {}
    for namespace, mode, part in turn.parts:
        where = "|".join(labels.segment(segment) for segment in namespace)
        if mode == "debug":
            steps[where] = part["step"]
        line = f"{mode} {text(plain(part, labels))}"
        gathered.setdefault(f"{where or '/'} step {steps.get(where, '-')}", Counter())[line] += 1
        if mode == "values" and "__interrupt__" not in (part or {}):
            states.setdefault(where, []).append(line)
    return {
        "parts": {key: dict(sorted(counts.items())) for key, counts in gathered.items()},
        "states": states,
    }


def out_of_order(turn: Turn) -> Iterator[str]:
    """Parts of a child that came after its parent's task had ended."""
    ended: set[str] = set()
    for namespace, mode, part in turn.parts:
        for segment in namespace:
            identity = segment.partition(":")[2]
            if identity in ended:
                yield f"{mode} part in {namespace} after its task ended: {part}"
        if mode == "tasks" and "result" in part:
            ended.add(part["id"])
        if mode == "tasks" and "input" in part:
            ended.discard(part["id"])


def stored(run: Run) -> list[Any]:
    """Every checkpoint of the thread, all levels, as the saver lists them."""
    return [] if run.saver is None else list(run.saver.list({"configurable": {"thread_id": run.thread}}))


def history(run: Run, labels: Labels) -> dict[str, list[str]]:
    """By namespace, oldest first: source, step, fields, parent, and the parents in the metadata.

    Parallel tasks of one node are told apart by no label: their histories stand one after the other, by content.
    """
    lines: dict[str, list[str]] = {}
    for saved in sorted(stored(run), key=lambda one: str(one.checkpoint["id"])):
        values = saved.checkpoint["channel_values"]
        above = (saved.parent_config or {}).get("configurable", {}).get("checkpoint_id")
        line = {
            "source": saved.metadata["source"],
            "step": saved.metadata["step"],
            "parents": _keyed("parents", saved.metadata.get("parents", {}), labels),
            "parent": labels.checkpoint(above),
            "values": {key: values[key] for key in FIELDS if key in values},
        }
        lines.setdefault(saved.config["configurable"]["checkpoint_ns"], []).append(text(line))
    labelled: dict[str, list[list[str]]] = {}
    for namespace, told in lines.items():
        labelled.setdefault(labels.namespace(namespace), []).append(told)
    return {label: [line for told in sorted(levels) for line in told] for label, levels in labelled.items()}


def snapshots(run: Run, labels: Labels) -> list[str]:
    """The history of the root as `get_state_history` tells it, oldest first."""
    if run.saver is None:
        return []
    found = list(run.graph.get_state_history(run.config))
    return [text(snapshot_shape(snapshot, labels)) for snapshot in reversed(found)]


def snapshot_shape(snapshot: Any, labels: Labels) -> Any:
    """A snapshot without ids and times; a child's snapshot is shown within its task."""
    if snapshot is None:
        return None
    if isinstance(snapshot, dict):
        return _names_only(snapshot)
    return {
        "values": snapshot.values,
        "next": list(snapshot.next),
        "metadata": plain(snapshot.metadata, labels),
        "asked": sorted(text(one.value) for one in snapshot.interrupts),
        "tasks": [
            {
                "name": task.name,
                "path": list(task.path),
                "error": _error_name(task.error),
                "asked": sorted(text(one.value) for one in task.interrupts),
                "result": plain(task.result, labels),
                "state": snapshot_shape(task.state, labels),
            }
            for task in snapshot.tasks
        ],
    }


def head(run: Run, labels: Labels) -> Any:
    """The snapshot of the head of the thread, or the name of the error that asking for it raises."""
    if run.saver is None:
        return None
    try:
        return snapshot_shape(run.state(), labels)
    except Exception as error:
        return f"unreadable: {type(error).__name__}"


def shape(run: Run) -> dict[str, Any]:
    """Everything that is comparable of a run."""
    labels = Labels()
    labels.learn_tasks(run)
    labels.learn_checkpoints(stored(run))
    return {
        "turns": [
            {
                "payload": turn.payload,
                "error": turn.error,
                "result": plain(turn.result, labels),
                **stream_shape(turn, labels),
            }
            for turn in run.turns
        ],
        "head": head(run, labels),
        "history": history(run, labels),
        "snapshots": snapshots(run, labels),
        "calls": dict(sorted(Counter(name for name, _ in run.setting.log.entered).items())),
    }


def outcome(run: Run) -> Any:
    """The end of a run: the error that left it, or the state it ended in."""
    last = run.turns[-1]
    if last.error:
        return last.error
    return run.state().values if run.saver is not None else last.result
