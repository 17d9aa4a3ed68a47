"""Programs that stop somewhere: written once, run by LangGraph to store threads and by us to go on with them.

Rules: knows neither package; everything of theirs comes from a `Library`. A shape notes in `did` what its nodes finished,
so that a test can tell whether anything was done twice.
"""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from importlib import import_module
from typing import Annotated, Any, TypedDict

from pydantic import BaseModel


class Library:
    """What programs use of LangGraph or of stepgraph.

    Args:
        package: The name of the package.
    """

    def __init__(self, package: str) -> None:
        self.package = package
        graph, types = import_module(f"{package}.graph"), import_module(f"{package}.types")
        self.StateGraph, self.START, self.END = graph.StateGraph, graph.START, graph.END
        self.Send, self.Command, self.interrupt = types.Send, types.Command, types.interrupt
        func = import_module(f"{package}.func")
        self.entrypoint, self.task = func.entrypoint, func.task
        self.add_messages = import_module(f"{package}.graph.message").add_messages
        self.pregel, self.channels = import_module(f"{package}.pregel"), import_module(f"{package}.channels")
        self.did: list[Any] = []
        self.broken = True
        self.asynchronous = False

    def run(self, graph: Any, value: Any, config: dict[str, Any], **options: Any) -> Any:
        """One run of a graph."""
        if self.asynchronous:
            return asyncio.run(graph.ainvoke(value, config, **options))
        return graph.invoke(value, config, **options)


class Colour(Enum):
    RED = "red"


@dataclass
class Order:
    item: str
    count: int = 1
    tags: set[str] = field(default_factory=set)


class Customer(BaseModel):
    name: str
    orders: list[int] = []


class Log(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]


class Count(TypedDict, total=False):
    log: Annotated[list[Any], operator.add]
    count: int


class Typed(TypedDict, total=False):
    order: Order
    customer: Customer
    colour: Colour
    extra: Any
    log: Annotated[list[Any], operator.add]


def says(lib: Library, name: str) -> Callable[[Any], dict[str, Any]]:
    """A node that adds its name to the log."""

    def node(state: Any) -> dict[str, Any]:
        lib.did.append(name)
        return {"log": [name]}

    return node


def asks(lib: Library, name: str, *questions: str) -> Callable[[Any], dict[str, Any]]:
    """A node that asks, and adds the answers to the log."""

    def node(state: Any) -> dict[str, Any]:
        answers = [lib.interrupt(question) for question in questions or (f"{name}?",)]
        lib.did.append(name)
        return {"log": [f"{name}:{answer}" for answer in answers]}

    return node


def chain(lib: Library, *nodes: tuple[str, Any], schema: Any = Log) -> Any:
    """A graph of nodes one after the other, not compiled."""
    graph = lib.StateGraph(schema)
    before = lib.START
    for name, node in nodes:
        graph.add_node(name, node)
        graph.add_edge(before, name)
        before = name
    return graph


Build = Callable[[Library, Any], Any]
Step = Callable[[Library, Any, dict[str, Any]], Any]


class Shape:
    """One program.

    Args:
        build: Makes the graph with a saver.
        begin: What is done before the thread is stored.
        go_on: What is done after it was stored or imported.
        needs: A module without which it cannot be run.
        since: The first version of LangGraph that can run it.
    """

    def __init__(
        self, build: Build, begin: list[Step], go_on: list[Step], needs: str | None = None, since: str = ""
    ) -> None:
        self.build = build
        self.begin = begin
        self.go_on = go_on
        self.needs = needs
        self.since = since


def given(value: Any, **options: Any) -> Step:
    """Run with an input."""

    def step(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
        return lib.run(graph, value, config, **options)

    return step


def answered(value: Any) -> Step:
    """Resume with one bare answer."""

    def step(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
        return lib.run(graph, lib.Command(resume=value), config)

    return step


def answered_each(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
    """Resume with an answer to each question, by its id: the question in capitals."""
    asked = graph.get_state(config).interrupts
    return lib.run(graph, lib.Command(resume={i.id: str(i.value).upper() for i in asked}), config)


def failed(value: Any) -> Step:
    """Run into a failure."""

    def step(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
        try:
            lib.run(graph, value, config)
        except RuntimeError:
            return "failed"
        raise AssertionError("It should have failed.")

    return step


def mended(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
    """What failed works again."""
    lib.broken = False


def _linear(lib: Library, saver: Any) -> Any:
    return chain(lib, ("a", says(lib, "a")), ("ask", asks(lib, "ask")), ("b", says(lib, "b"))).compile(saver)


def _approval(lib: Library, saver: Any) -> Any:
    def draft(state: Any) -> Any:
        lib.did.append("draft")
        return {"log": ["draft of a letter"]}

    def approve(state: Any) -> Any:
        answer = lib.interrupt("Send it?")
        lib.did.append("approve")
        return {"log": [f"approved: {answer}"]}

    return chain(lib, ("draft", draft), ("approve", approve), ("send", says(lib, "sent"))).compile(saver)


def _parallel(lib: Library, saver: Any) -> Any:
    graph = lib.StateGraph(Log)
    for name in ("a", "c", "end"):
        graph.add_node(name, says(lib, name))
    graph.add_node("b", asks(lib, "b"))
    for name in ("a", "b", "c"):
        graph.add_edge(lib.START, name)
    graph.add_edge(["a", "b", "c"], "end")
    return graph.compile(saver)


def _both_ask(lib: Library, saver: Any) -> Any:
    graph = lib.StateGraph(Log)
    for name in ("a", "b"):
        graph.add_node(name, asks(lib, name))
        graph.add_edge(lib.START, name)
    graph.add_node("end", says(lib, "end"))
    graph.add_edge(["a", "b"], "end")
    return graph.compile(saver)


def _sends(lib: Library, saver: Any) -> Any:
    def work(state: Any) -> Any:
        n = state["n"]
        answer = lib.interrupt(f"{n}?") if n % 2 else n
        lib.did.append(f"work {n}")
        return {"log": [f"{n}:{answer}"]}

    graph = lib.StateGraph(Log)
    graph.add_node("work", work)
    graph.add_node("end", says(lib, "end"))
    graph.add_conditional_edges(lib.START, lambda s: [lib.Send("work", {"n": n}) for n in range(5)], ["work"])
    graph.add_edge("work", "end")
    return graph.compile(saver)


def _nested(lib: Library, saver: Any) -> Any:
    leaf = chain(lib, ("x", says(lib, "x")), ("ask", asks(lib, "leaf")), ("y", says(lib, "y")), schema=Count)
    middle = chain(lib, ("m", says(lib, "m")), ("leaf", leaf.compile()), ("n", says(lib, "n")), schema=Count)
    top = chain(lib, ("a", says(lib, "a")), ("middle", middle.compile()), ("b", says(lib, "b")))
    return top.compile(saver)


def _keeps_state(lib: Library, saver: Any) -> Any:
    child = chain(lib, ("x", says(lib, "x")), ("ask", asks(lib, "child"))).compile(checkpointer=True)

    def call(state: Any) -> Any:
        log = child.invoke({"log": ["call"]})["log"]
        lib.did.append("call")
        return {"log": [len(log)]}

    return chain(lib, ("call", call), ("b", says(lib, "b"))).compile(saver)


def _two_children(lib: Library, saver: Any) -> Any:
    first = chain(lib, ("x", says(lib, "x")), ("y", says(lib, "y"))).compile()
    second = chain(lib, ("p", says(lib, "p")), ("ask", asks(lib, "second"))).compile()

    def call(state: Any) -> Any:
        one = first.invoke({"log": ["1"]})["log"]
        two = second.invoke({"log": ["2"]})["log"]
        lib.did.append("call")
        return {"log": one + two}

    return chain(lib, ("call", call), ("b", says(lib, "b"))).compile(saver)


def _then_asks_itself(lib: Library, saver: Any) -> Any:
    child = chain(lib, ("x", says(lib, "x")), ("ask", asks(lib, "child"))).compile()

    def call(state: Any) -> Any:
        log = child.invoke({"log": ["1"]})["log"]
        own = lib.interrupt("own?")
        lib.did.append("call")
        return {"log": [*log, own]}

    return chain(lib, ("call", call), ("b", says(lib, "b"))).compile(saver)


def _stops_before(lib: Library, saver: Any) -> Any:
    nodes = [(name, says(lib, name)) for name in ("a", "b", "c")]
    return chain(lib, *nodes).compile(saver, interrupt_before=["b"])


def _stops_after(lib: Library, saver: Any) -> Any:
    nodes = [(name, says(lib, name)) for name in ("a", "b", "c")]
    return chain(lib, *nodes).compile(saver, interrupt_after=["b"])


def _stops_inside(lib: Library, saver: Any) -> Any:
    child = chain(lib, *[(name, says(lib, name)) for name in ("x", "y")]).compile(interrupt_before=["y"])
    return chain(lib, ("a", says(lib, "a")), ("child", child), ("b", says(lib, "b"))).compile(saver)


def _two_questions(lib: Library, saver: Any) -> Any:
    return chain(lib, ("ask", asks(lib, "ask", "one?", "two?", "three?")), ("b", says(lib, "b"))).compile(
        saver
    )


def _workflow(lib: Library, saver: Any) -> Any:
    @lib.task
    def double(n: int) -> int:
        lib.did.append(f"double {n}")
        return n * 2

    @lib.task
    def name(n: int) -> str:
        lib.did.append(f"name {n}")
        return f"n{n}"

    @lib.entrypoint(checkpointer=saver)
    def workflow(n: int, *, previous: Any = None) -> Any:
        futures = [double(n), name(n), double(n + 1)]
        found = [future.result() for future in futures]
        answer = lib.interrupt("ok?")
        return [previous, *found, name(n + 2).result(), answer]

    return workflow


def _asking_task(lib: Library, saver: Any) -> Any:
    @lib.task
    def ask(n: int) -> Any:
        answer = lib.interrupt(f"task {n}?")
        lib.did.append(f"ask {n}")
        return answer

    @lib.task
    def plain(n: int) -> int:
        lib.did.append(f"plain {n}")
        return n

    @lib.entrypoint(checkpointer=saver)
    def workflow(n: int) -> Any:
        futures = [plain(n), ask(n), ask(n + 1)]
        return [future.result() for future in futures]

    return workflow


def _task_in_node(lib: Library, saver: Any) -> Any:
    @lib.task
    def work(n: int) -> int:
        lib.did.append(f"work {n}")
        return n + 1

    def node(state: Any) -> Any:
        found = work(1).result() + work(10).result()
        return {"log": [found, lib.interrupt("node?")]}

    return chain(lib, ("node", node), ("b", says(lib, "b"))).compile(saver)


def _graph_in_task(lib: Library, saver: Any) -> Any:
    child = chain(lib, ("x", says(lib, "x")), ("ask", asks(lib, "child")), ("y", says(lib, "y"))).compile()

    @lib.task
    def run(n: int) -> Any:
        return child.invoke({"log": [n]})["log"]

    @lib.entrypoint(checkpointer=saver)
    def workflow(n: int) -> Any:
        return run(n).result()

    return workflow


def _failing(lib: Library, saver: Any) -> Any:
    def fail(state: Any) -> Any:
        if lib.broken:
            raise RuntimeError("out of order")
        lib.did.append("fail")
        return {"log": ["mended"]}

    graph = lib.StateGraph(Log)
    graph.add_node("a", says(lib, "a"))
    graph.add_node("fail", fail)
    graph.add_node("end", says(lib, "end"))
    graph.add_edge(lib.START, "a")
    graph.add_edge(lib.START, "fail")
    graph.add_edge(["a", "fail"], "end")
    return graph.compile(saver)


def _forked(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
    """Write to an old checkpoint, so that the thread goes on from there."""
    old = next(s for s in graph.get_state_history(config) if s.next == ("ask",))
    graph.update_state(old.config, {"log": ["fork"]}, as_node="a")
    return lib.run(graph, None, config)


def _edited(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
    """Write to a thread that waits."""
    return graph.update_state(config, {"log": ["edit"]}, as_node="a")


def _typed(lib: Library, saver: Any) -> Any:
    def fill(state: Any) -> Any:
        return {
            "order": Order("tea", 2, {"hot"}),
            "customer": Customer(name="Ann", orders=[1]),
            "colour": Colour.RED,
            "extra": {
                "set": {1, 2},
                "tuple": (1, 2),
                3: [Order("milk")],
                "sent": lib.Send("x", Order("cup")),
            },
        }

    def ask(state: Any) -> Any:
        answer = lib.interrupt(state["order"])
        return {
            "log": [
                repr(state["order"]),
                repr(state["customer"]),
                repr(state["colour"]),
                repr(state["extra"]),
                answer,
            ]
        }

    return chain(lib, ("fill", fill), ("ask", ask), schema=Typed).compile(saver)


def _send_graph(lib: Library, saver: Any) -> Any:
    child = chain(lib, ("x", says(lib, "x")), ("ask", asks(lib, "child")), schema=Count).compile()
    graph = lib.StateGraph(Count)
    graph.add_node("child", child)
    graph.add_node("end", says(lib, "end"))
    graph.add_conditional_edges(
        lib.START, lambda s: [lib.Send("child", {"log": [n]}) for n in ("p", "q")], ["child"]
    )
    graph.add_edge("child", "end")
    return graph.compile(saver)


def _goes_round(lib: Library, saver: Any) -> Any:
    def decide(state: Any) -> Any:
        lib.did.append(f"decide {state.get('count', 0)}")
        count = state.get("count", 0) + 1
        return lib.Command(
            update={"count": count, "log": [count]}, goto="ask" if count % 3 == 0 else "decide"
        )

    graph = lib.StateGraph(Count)
    graph.add_node("decide", decide, destinations=("ask", "decide"))
    graph.add_node("ask", asks(lib, "ask"))
    graph.add_edge(lib.START, "decide")
    graph.add_conditional_edges("ask", lambda s: lib.END if s["count"] > 5 else "decide", ["decide", lib.END])
    return graph.compile(saver)


def _stores_nothing_inside(lib: Library, saver: Any) -> Any:
    child = chain(lib, ("ask", asks(lib, "child"))).compile(checkpointer=False)
    return chain(lib, ("a", says(lib, "a")), ("child", child), ("b", says(lib, "b"))).compile(saver)


def _half_joined(lib: Library, saver: Any) -> Any:
    graph = lib.StateGraph(Log)
    for name in ("a", "b", "late", "end"):
        graph.add_node(name, says(lib, name))
    graph.add_node("ask", asks(lib, "ask"))
    graph.add_edge(lib.START, "a")
    graph.add_edge(lib.START, "b")
    graph.add_edge("b", "ask")
    graph.add_edge("ask", "late")
    graph.add_edge(["a", "late"], "end")
    return graph.compile(saver)


def _messages(lib: Library, saver: Any) -> Any:
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    fields = {"messages": Annotated[list[Any], lib.add_messages]}
    chat = TypedDict("chat", fields, total=False)  # type: ignore[operator]  # the reducer is the library's

    def model(state: Any) -> Any:
        lib.did.append("model")
        call = {"name": "pay", "args": {"sum": 3}, "id": "call-1", "type": "tool_call"}
        return {"messages": [AIMessage("I pay.", id="m2", tool_calls=[call], response_metadata={"n": 1})]}

    def tool(state: Any) -> Any:
        asked = state["messages"][-1].tool_calls[0]
        answer = lib.interrupt({"asked": asked["args"], "message": state["messages"][0]})
        lib.did.append("tool")
        return {
            "messages": [ToolMessage(answer, tool_call_id=asked["id"], id="m3"), HumanMessage("Hm.", id="m1")]
        }

    return chain(lib, ("model", model), ("tool", tool), schema=chat).compile(saver)


def _said(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
    """Begin a conversation."""
    from langchain_core.messages import HumanMessage

    return lib.run(graph, {"messages": [HumanMessage("Pay!", id="m1")]}, config)


def _calls_in_sends(lib: Library, saver: Any) -> Any:
    @lib.task
    def double(n: int) -> int:
        lib.did.append(f"double {n}")
        return n * 2

    def work(state: Any) -> Any:
        n = state["n"]
        found = [double(n), double(n + 10)]
        return {"log": [[future.result() for future in found], lib.interrupt(f"{n}?") if n else None]}

    graph = lib.StateGraph(Log)
    graph.add_node("work", work)
    graph.add_conditional_edges(lib.START, lambda s: [lib.Send("work", {"n": n}) for n in range(3)], ["work"])
    return graph.compile(saver)


def _calls_in_calls(lib: Library, saver: Any) -> Any:
    @lib.task
    def inner(n: int) -> Any:
        lib.did.append(f"inner {n}")
        return n + 1

    @lib.task
    def outer(n: int) -> Any:
        one, two = inner(n), inner(n * 10)
        found = one.result() + two.result()
        answer = lib.interrupt("outer?")
        lib.did.append(f"outer {n}")
        return [found, answer]

    @lib.entrypoint(checkpointer=saver)
    def workflow(n: int) -> Any:
        return outer(n).result()

    return workflow


def _failing_call(lib: Library, saver: Any) -> Any:
    @lib.task
    def step(n: int) -> int:
        if lib.broken and n == 3:
            raise RuntimeError("out of order")
        lib.did.append(f"step {n}")
        return n

    @lib.entrypoint(checkpointer=saver)
    def workflow(n: int) -> Any:
        return [step(i).result() for i in range(n)]

    return workflow


def _deferred(lib: Library, saver: Any) -> Any:
    graph = lib.StateGraph(Log)
    for name in ("a", "b", "c"):
        graph.add_node(name, says(lib, name))
    graph.add_node("ask", asks(lib, "ask"))
    graph.add_node("last", says(lib, "last"), defer=True)
    graph.add_edge(lib.START, "a")
    graph.add_edge(lib.START, "b")
    graph.add_edge("a", "last")
    graph.add_edge("b", "ask")
    graph.add_edge("ask", "c")
    graph.add_edge("c", "last")
    return graph.compile(saver)


def _sends_by_command(lib: Library, saver: Any) -> Any:
    def split(state: Any) -> Any:
        lib.did.append("split")
        goto = [lib.Send("work", {"n": 1}), "other", lib.Send("work", {"n": 2})]
        return lib.Command(update={"log": ["split"]}, goto=goto)

    def work(state: Any) -> Any:
        answer = lib.interrupt(f"{state['n']}?")
        lib.did.append(f"work {state['n']}")
        return {"log": [answer]}

    graph = lib.StateGraph(Log)
    graph.add_node("split", split, destinations=("work", "other"))
    graph.add_node("work", work)
    graph.add_node("other", says(lib, "other"))
    graph.add_edge(lib.START, "split")
    return graph.compile(saver)


def _hands_up(lib: Library, saver: Any) -> Any:
    def leave(state: Any) -> Any:
        answer = lib.interrupt("where?")
        lib.did.append("leave")
        return lib.Command(graph=lib.Command.PARENT, update={"log": [answer]}, goto=answer)

    child = chain(lib, ("x", says(lib, "x")), ("leave", leave)).compile()
    graph = lib.StateGraph(Log)
    graph.add_node("child", child, destinations=("a", "b"))
    for name in ("a", "b"):
        graph.add_node(name, says(lib, name))
    graph.add_edge(lib.START, "child")
    return graph.compile(saver)


def _keeps_state_below(lib: Library, saver: Any) -> Any:
    leaf = chain(lib, ("x", says(lib, "x")), ("ask", asks(lib, "leaf", "1?", "2?"))).compile()
    middle = chain(lib, ("m", says(lib, "m")), ("leaf", leaf)).compile(checkpointer=True)
    return chain(lib, ("a", says(lib, "a")), ("middle", middle), ("b", says(lib, "b"))).compile(saver)


def _bare_state(lib: Library, saver: Any) -> Any:
    def add(state: Any) -> Any:
        lib.did.append("add")
        return [len(state)]

    def ask(state: Any) -> Any:
        answer = lib.interrupt(state)
        lib.did.append("ask")
        return [answer]

    return chain(lib, ("add", add), ("ask", ask), schema=Annotated[list[Any], operator.add]).compile(saver)


def _low_level(lib: Library, saver: Any) -> Any:
    def ask(value: Any) -> Any:
        answer = lib.interrupt(f"{value}?")
        lib.did.append("ask")
        return f"{value} {answer}"

    def note(value: Any) -> Any:
        lib.did.append("note")
        return f"noted {value}"

    builder = lib.pregel.NodeBuilder
    nodes = {
        "ask": builder().subscribe_only("a").do(ask).write_to("b"),
        "note": builder().subscribe_only("a").do(note).write_to("c"),
        "end": builder().subscribe_only("b").do(lambda value: value.upper()).write_to("d"),
    }
    channels = {name: lib.channels.LastValue(str) for name in "abcd"}
    return lib.pregel.Pregel(
        nodes=nodes,
        channels=channels,
        input_channels="a",
        output_channels=["b", "c", "d"],
        checkpointer=saver,
    )


def _handled(lib: Library, saver: Any) -> Any:
    def fail(state: Any) -> Any:
        lib.did.append("fail")
        raise RuntimeError("out of order")

    def handle(state: Any, error: Any) -> Any:
        answer = lib.interrupt(f"what about {error.error}?")
        lib.did.append("handle")
        return {"log": [answer]}

    errors = import_module(f"{lib.package}.errors")
    handle.__annotations__["error"] = errors.NodeError
    graph = lib.StateGraph(Log)
    graph.add_node("fail", fail, error_handler=handle)
    graph.add_node("beside", says(lib, "beside"))
    graph.add_node("end", says(lib, "end"))
    for name in ("fail", "beside"):
        graph.add_edge(lib.START, name)
    graph.add_edge("beside", "end")
    return graph.compile(saver)


def answered_one_by_one(lib: Library, graph: Any, config: dict[str, Any]) -> Any:
    """Resume with the answers to one question after the other, by id."""
    answer: Any = None
    asked = sorted(graph.get_state(config).interrupts, key=lambda question: str(question.value))
    for question in asked:
        answer = lib.run(graph, lib.Command(resume={question.id: str(question.value).upper()}), config)
    return answer


START_INPUT: dict[str, Any] = {"log": ["in"]}
SHAPES: dict[str, Shape] = {
    "linear": Shape(_linear, [given(START_INPUT)], [answered("yes"), given(START_INPUT), answered("again")]),
    "order-17": Shape(_approval, [given({"log": []})], [answered("yes")]),
    "parallel": Shape(_parallel, [given(START_INPUT)], [answered("yes")]),
    "both ask": Shape(_both_ask, [given(START_INPUT)], [answered_each]),
    "sends": Shape(_sends, [given(START_INPUT)], [answered_each]),
    "nested": Shape(_nested, [given(START_INPUT)], [answered("yes")]),
    "nested, by id": Shape(_nested, [given(START_INPUT)], [answered_each]),
    "keeps state": Shape(
        _keeps_state,
        [given(START_INPUT), answered(1), given(START_INPUT)],
        [answered(2), given(START_INPUT), answered(3)],
    ),
    "two children": Shape(_two_children, [given(START_INPUT)], [answered("yes")]),
    "child asks, then node": Shape(_then_asks_itself, [given(START_INPUT)], [answered(1), answered(2)]),
    "node asks after child": Shape(_then_asks_itself, [given(START_INPUT), answered(1)], [answered(2)]),
    "stops before": Shape(_stops_before, [given(START_INPUT)], [given(None)]),
    "stops after": Shape(_stops_after, [given(START_INPUT)], [given(None)]),
    "stops inside": Shape(_stops_inside, [given(START_INPUT)], [given(None)]),
    "two questions": Shape(_two_questions, [given(START_INPUT), answered(1)], [answered(2), answered(3)]),
    "workflow": Shape(
        _workflow, [given(1), answered("a"), given(5)], [answered("b"), given(7), answered("c")]
    ),
    "asking task": Shape(_asking_task, [given(1)], [answered_each]),
    "task in node": Shape(_task_in_node, [given(START_INPUT)], [answered("yes")]),
    "graph in task": Shape(_graph_in_task, [given(1)], [answered("yes")]),
    "failed": Shape(_failing, [failed(START_INPUT)], [mended, given(None)]),
    "stored at exit": Shape(_parallel, [given(START_INPUT, durability="exit")], [answered("yes")]),
    "nested, stored at exit": Shape(_nested, [given(START_INPUT, durability="exit")], [answered("yes")]),
    "forked": Shape(_linear, [given(START_INPUT), answered(1), _forked], [answered(2)]),
    "edited": Shape(_linear, [given(START_INPUT), _edited], [given(None), answered(2)]),
    "typed": Shape(_typed, [given(START_INPUT)], [answered("yes")]),
    "sent graphs": Shape(_send_graph, [given(START_INPUT)], [answered_each]),
    "goes round": Shape(_goes_round, [given(START_INPUT)], [answered(1), answered(2)]),
    "stores nothing inside": Shape(_stores_nothing_inside, [given(START_INPUT)], [answered("yes")]),
    "half joined": Shape(_half_joined, [given(START_INPUT)], [answered("yes")]),
    "messages": Shape(_messages, [_said], [answered("paid")], needs="langchain_core"),
    "calls in sends": Shape(_calls_in_sends, [given(START_INPUT)], [answered_each]),
    "calls in calls": Shape(_calls_in_calls, [given(1)], [answered("yes")]),
    "failed call": Shape(_failing_call, [failed(5)], [mended, given(None)]),
    "deferred": Shape(_deferred, [given(START_INPUT)], [answered("yes")]),
    "sends by command": Shape(_sends_by_command, [given(START_INPUT)], [answered_each]),
    "hands up": Shape(_hands_up, [given(START_INPUT)], [answered("b")]),
    "keeps state below": Shape(
        _keeps_state_below,
        [given(START_INPUT), answered(1)],
        [answered(2), given(START_INPUT), answered(3), answered(4)],
    ),
    "bare state": Shape(_bare_state, [given(["in"])], [answered("yes")]),
    "low level": Shape(_low_level, [given("go")], [answered("yes")]),
    "handled": Shape(_handled, [given(START_INPUT)], [answered("yes")], since="1.2"),
    "both ask, one by one": Shape(_both_ask, [given(START_INPUT)], [answered_one_by_one]),
    "sent graphs, one by one": Shape(_send_graph, [given(START_INPUT)], [answered_one_by_one]),
    "ended": Shape(_linear, [given(START_INPUT), answered(1)], [given(START_INPUT), answered(2)]),
}
