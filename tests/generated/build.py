"""From a program (data) to a compiled graph of a given package.

The package is named by its import name, so that the same program can be built twice and run side by side. Nodes note
in a `CallLog` when they start and when they end, with the path of their task, so that a test can say which task ran
again. `Faults` make chosen nodes fail on purpose; `delay` lets parallel tasks end in another order.
"""

from __future__ import annotations

import asyncio
import importlib
import operator
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypedDict

from .programs import (
    END,
    FIELDS,
    Branch,
    Call,
    Fan,
    Jump,
    Level,
    Loop,
    Nest,
    Node,
    Pick,
    Program,
    Quiet,
    Up,
    Write,
)

Update = dict[str, Any]


class Fault(RuntimeError):
    """What a node raises when a test asks it to fail."""


@dataclass
class CallLog:
    """Which tasks entered and left their node function, in the order in which it happened."""

    entered: list[tuple[str, str]] = field(default_factory=list)
    left: list[tuple[str, str]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def enter(self, name: str, path: str) -> None:
        """Note that the node `name` starts in the task at `path`."""
        with self.lock:
            self.entered.append((name, path))

    def leave(self, name: str, path: str) -> None:
        """Note that the node `name` returned in the task at `path`."""
        with self.lock:
            self.left.append((name, path))


@dataclass
class Setting:
    """How a program is built: node colours, delays, and nodes that fail."""

    package: str = "stepgraph"
    colour: str = "sync"
    faulty: set[str] = field(default_factory=set)
    delay: Callable[[str], float] | None = None
    log: CallLog = field(default_factory=CallLog)

    def module(self, path: str) -> Any:
        """The module `path` of the package, such as `graph`."""
        return importlib.import_module(f"{self.package}.{path}")

    def is_async(self, node: Node) -> bool:
        """Whether the node is a coroutine function; among mixed ones, all that call a graph are."""
        if self.colour == "mixed":
            return isinstance(node.action, Call) or sum(map(ord, node.name)) % 2 == 0
        return self.colour == "async"


def merge(old: Mapping[str, Any], new: Mapping[str, Any]) -> Update:
    """The fold of `seen`."""
    return {**old, **new}


def largest(old: int, new: int) -> int:
    """The fold of `top`."""
    return max(old, new)


ANNOTATIONS: dict[str, Any] = {
    "log": Annotated[list[str], operator.add],
    "seen": Annotated[dict[str, int], merge],
    "top": Annotated[int, largest],
    "word": str,
    "trail": str,
}


def schema(name: str, fields: Iterable[str]) -> Any:
    """A TypedDict of the fields, in the order of the vocabulary."""
    wanted = set(fields)
    make: Any = TypedDict
    return make(name, {key: ANNOTATIONS[key] for key in FIELDS if key in wanted})


def build(program: Program, setting: Setting, checkpointer: Any = None) -> Any:
    """Compile the root level with `checkpointer`."""
    return _compile(program.root, setting, checkpointer)


def _compile(level: Level, setting: Setting, checkpointer: Any) -> Any:
    graph = setting.module("graph")
    builder = graph.StateGraph(
        schema("State", FIELDS),
        input_schema=schema("Input", level.takes),
        output_schema=schema("Output", level.gives),
    )
    for node in level.nodes:
        builder.add_node(node.name, _runnable(node, setting), defer=node.defer)
    for start in level.starts:
        builder.add_edge(graph.START, start)
    for edge in level.edges:
        sources = edge.sources[0] if len(edge.sources) == 1 else list(edge.sources)
        builder.add_edge(sources, edge.target)
    for branch in level.branches:
        builder.add_conditional_edges(branch.source, _chooser(branch, setting), _labels(branch))
    return builder.compile(
        checkpointer=checkpointer,
        interrupt_before=list(level.stops_before),
        interrupt_after=list(level.stops_after),
    )


def _labels(branch: Branch) -> list[str]:
    if isinstance(branch, Pick):
        return list(branch.options)
    if isinstance(branch, Loop):
        return [branch.target, branch.out]
    return [branch.target, *branch.also]


def _chooser(branch: Branch, setting: Setting) -> Callable[[Any], Any]:
    send = setting.module("types").Send

    def choose(state: Any) -> Any:
        if isinstance(branch, Pick):
            return branch.options[len(state.get("log", ())) % len(branch.options)]
        if isinstance(branch, Loop):
            return branch.target if state.get("seen", {}).get(branch.source, 0) < branch.laps else branch.out
        return [
            *(send(branch.target, {"log": [], "word": f"#{branch.source}{i}"}) for i in range(branch.width)),
            *branch.also,
        ]

    choose.__name__ = f"after_{branch.source}"
    return choose


def _runnable(node: Node, setting: Setting) -> Any:
    if isinstance(node.action, Nest):
        return _compile(node.action.level, setting, node.action.level.checkpointer)
    child = None
    if isinstance(node.action, Call):
        child = _compile(node.action.level, setting, node.action.level.checkpointer)
    return _coroutine(node, setting, child) if setting.is_async(node) else _function(node, setting, child)


def _function(node: Node, setting: Setting, child: Any) -> Callable[[Any], Any]:
    def run(state: Any) -> Any:
        path = _enter(node, setting)
        token = _talk(node, state, setting)
        if setting.delay is not None:
            time.sleep(setting.delay(path))
        for _ in range(node.action.times if isinstance(node.action, Call) else 0):
            token += _summary(child.invoke(_handed(state)))
        setting.log.leave(node.name, path)
        return _result(node, state, token, setting)

    return run


def _coroutine(node: Node, setting: Setting, child: Any) -> Callable[[Any], Any]:
    async def run(state: Any) -> Any:
        path = _enter(node, setting)
        token = _talk(node, state, setting)
        if setting.delay is not None:
            await asyncio.sleep(setting.delay(path))
        for _ in range(node.action.times if isinstance(node.action, Call) else 0):
            token += _summary(await child.ainvoke(_handed(state)))
        setting.log.leave(node.name, path)
        return _result(node, state, token, setting)

    return run


def _enter(node: Node, setting: Setting) -> str:
    path = str(setting.module("config").get_config()["metadata"]["langgraph_checkpoint_ns"])
    setting.log.enter(node.name, path)
    if node.name in setting.faulty:
        raise Fault(node.name)
    return path


def _talk(node: Node, state: Any, setting: Setting) -> str:
    """Say and ask what the node says and asks; the token that stands for this run of the node."""
    if node.says:
        setting.module("config").get_stream_writer()({"from": node.name})
    interrupt = setting.module("types").interrupt
    answers = [str(interrupt({"ask": node.name, "n": number})) for number in range(node.asks)]
    word = state.get("word", "")
    return node.name + (word if word.startswith("#") else "") + "".join(f"={answer}" for answer in answers)


def _handed(state: Any) -> Update:
    return {"word": state.get("word", "-"), "trail": state.get("trail", "-")}


def _summary(result: Any) -> str:
    if result is None:
        return "(none)"
    return "(" + ",".join(f"{key}={result[key]}" for key in sorted(result) if key != "__interrupt__") + ")"


def _result(node: Node, state: Any, token: str, setting: Setting) -> Any:
    action = node.action
    if isinstance(action, Quiet):
        return None
    command = setting.module("types").Command
    if isinstance(action, Call):
        return {"log": [token]}
    assert isinstance(action, Write | Jump | Up)
    update = _update(node, action.fields, state, token)
    if isinstance(action, Jump):
        return command(update=update, goto=list(action.targets))
    if isinstance(action, Up):
        return command(graph=command.PARENT, update=update, goto=list(action.targets))
    if action.split:
        return [update, command(update={"log": [token + "+"]})]
    return update


def _update(node: Node, fields: Iterable[str], state: Any, token: str) -> Update:
    values: Update = {
        "log": [token],
        "top": len(state.get("log", ())) + 1,
        "word": token.lstrip("#"),
        "trail": state.get("trail", "") + token,
    }
    update = {key: values[key] for key in FIELDS if key in values and key in set(fields)}
    if node.counts:
        update["seen"] = {node.name: state.get("seen", {}).get(node.name, 0) + 1}
    return update


__all__ = ["END", "CallLog", "Fan", "Fault", "Setting", "build", "schema"]
