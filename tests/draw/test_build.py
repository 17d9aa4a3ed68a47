from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Literal, TypedDict

import pytest

from stepgraph.channels import EphemeralValue, LastValue
from stepgraph.draw import Edge, Graph, drawable
from stepgraph.graph import END, START, StateGraph
from stepgraph.prebuilt.tool_node import ToolNode
from stepgraph.pregel import NodeBuilder, Pregel
from stepgraph.types import Command


class State(TypedDict, total=False):
    x: int


def step(state: State) -> State:
    return {}


def chain(*names: str) -> StateGraph[Any, Any, Any, Any]:
    """A builder whose nodes run one after the other."""
    builder = StateGraph(State)
    for name in names:
        builder.add_node(name, step)
    for source, target in zip((START, *names), (*names, END), strict=True):
        builder.add_edge(source, target)
    return builder


def edges_of(graph: Graph) -> list[tuple[Any, ...]]:
    return [tuple(edge) for edge in graph.edges]


def test_nodes_stand_in_the_order_of_declaration_between_start_and_end() -> None:
    graph = chain("b", "a").compile().get_graph()
    assert list(graph.nodes) == [START, "b", "a", END]
    assert graph.edges == [Edge(START, "b"), Edge("b", "a"), Edge("a", END)]


def test_a_node_knows_what_it_runs() -> None:
    graph = chain("a").compile().get_graph()
    assert graph.nodes["a"].data is step
    assert graph.nodes[END].data is None


def test_branches_are_conditional_edges_with_the_labels_of_their_map() -> None:
    builder = chain("a")
    for name in ("b", "c"):
        builder.add_node(name, step)
    builder.add_conditional_edges("b", lambda state: "yes", {"yes": "c", "a": "a", True: END})
    builder.add_edge("a", "b")
    edges = edges_of(builder.compile().get_graph())
    assert ("b", "c", "yes", True) in edges
    assert ("b", "a", None, True) in edges
    assert ("b", END, "True", True) in edges


def test_a_branch_without_declared_targets_may_go_anywhere_else() -> None:
    builder = StateGraph(State).add_node("a", step).add_node("b", step)
    builder.add_edge(START, "a").add_conditional_edges("a", lambda state: "b")
    edges = [edge for edge in edges_of(builder.compile().get_graph()) if edge[0] == "a"]
    assert edges == [("a", END, None, True), ("a", "b", None, True)]


def test_a_literal_return_declares_the_targets() -> None:
    def route(state: State) -> Literal["b", "__end__"]:
        return "b"

    builder = StateGraph(State).add_node("a", step).add_node("b", step).add_node("c", step)
    builder.add_edge(START, "a").add_edge("b", "c").add_conditional_edges("a", route)
    edges = [edge for edge in edges_of(builder.compile().get_graph()) if edge[0] == "a"]
    assert edges == [("a", END, None, True), ("a", "b", None, True)]


def test_commands_lead_where_they_say() -> None:
    def decide(state: State) -> Command[Literal["b"]]:
        return Command(goto="b")

    builder = StateGraph(State).add_node("a", decide).add_node("b", step)
    builder.add_edge(START, "a")
    assert ("a", "b", None, True) in edges_of(builder.compile().get_graph())


def test_destinations_may_carry_labels() -> None:
    builder = StateGraph(State).add_node("a", step, destinations={"b": "go", "c": ""})
    builder.add_node("b", step).add_node("c", step).add_edge(START, "a")
    edges = edges_of(builder.compile().get_graph())
    assert ("a", "b", "go", True) in edges
    assert ("a", "c", None, True) in edges


def test_a_join_is_an_edge_from_each_of_its_sources() -> None:
    builder = StateGraph(State)
    for name in "abc":
        builder.add_node(name, step)
    builder.add_edge(START, "a").add_edge(START, "b").add_edge(["a", "b"], "c")
    edges = edges_of(builder.compile().get_graph())
    assert ("a", "c", None, False) in edges
    assert ("b", "c", None, False) in edges


def test_what_leads_nowhere_leads_to_the_end() -> None:
    builder = StateGraph(State).add_node("a", step).add_edge(START, "a")
    assert edges_of(builder.compile().get_graph())[-1] == ("a", END, None, False)


def test_a_graph_that_never_ends_has_no_end() -> None:
    builder = StateGraph(State).add_node("a", step).add_node("b", step)
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "a")
    graph = builder.compile().get_graph()
    assert END not in graph.nodes
    assert graph.last_node() is None


def test_a_node_may_both_go_on_and_end() -> None:
    builder = chain("a", "b").add_edge("a", END)
    edges = edges_of(builder.compile().get_graph())
    assert ("a", END, None, False) in edges
    assert ("a", "b", None, False) in edges


def test_metadata_tells_of_pauses_and_deferring() -> None:
    builder = StateGraph(State).add_node("a", step, metadata={"team": "x"}, defer=True)
    builder.add_node("b", step).add_node("c", step)
    builder.add_edge(START, "a").add_edge("a", "b").add_edge("b", "c")
    graph = builder.compile(interrupt_before=["a", "b"], interrupt_after=["b"]).get_graph()
    assert graph.nodes["a"].metadata == {"team": "x", "defer": True, "__interrupt": "before"}
    assert graph.nodes["b"].metadata == {"__interrupt": "before,after"}
    assert graph.nodes["c"].metadata is None


def test_metadata_tells_of_the_tools_of_a_node() -> None:
    def look(word: str) -> str:
        """Look a word up."""
        return word

    builder = StateGraph(State).add_node("tools", ToolNode([look])).add_node("none", ToolNode([]))
    graph = builder.add_edge(START, "tools").add_edge("tools", "none").compile().get_graph()
    assert graph.nodes["tools"].metadata == {"__tools": ["look"]}
    assert graph.nodes["none"].metadata is None


def test_an_error_handler_is_reached_by_an_edge_that_says_so() -> None:
    builder = StateGraph(State).add_node("a", step, error_handler=step).add_node("b", step)
    builder.add_edge(START, "a").add_edge("a", "b")
    edges = edges_of(builder.compile().get_graph())
    assert ("a", "__error_handler__a", "error", True) in edges
    assert ("__error_handler__a", END, None, False) in edges


def test_a_nested_graph_is_one_node_unless_opened() -> None:
    child = chain("p", "q").compile()
    graph = chain("a").add_node("sub", child).add_edge("a", "sub").compile().get_graph()
    assert "sub" in graph.nodes
    assert graph.nodes["sub"].data is child


def test_an_opened_graph_takes_the_place_of_its_node() -> None:
    builder = StateGraph(State).add_node("a", step).add_node("sub", chain("p", "q").compile())
    builder.add_node("z", step).add_edge(START, "a").add_edge("sub", "z")
    builder.add_conditional_edges("a", lambda state: "sub", {"go": "sub"})
    graph = builder.compile().get_graph(xray=True)
    assert list(graph.nodes) == [START, "a", "z", END, "sub:p", "sub:q"]
    assert graph.nodes["sub:p"].name == "p"
    assert edges_of(graph) == [
        (START, "a", None, False),
        ("a", "sub:p", "go", True),
        ("sub:q", "z", None, False),
        ("z", END, None, False),
        ("sub:p", "sub:q", None, False),
    ]


def test_an_opened_graph_with_several_ways_in_keeps_its_start() -> None:
    child = StateGraph(State).add_node("p", step).add_node("q", step)
    child.add_edge(START, "p").add_edge(START, "q")
    builder = StateGraph(State).add_node("sub", child.compile()).add_edge(START, "sub")
    graph = builder.compile().get_graph(xray=True)
    assert (START, "sub:__start__", None, False) in edges_of(graph)
    assert ("sub:__end__", END, None, False) in edges_of(graph)


@pytest.mark.parametrize(
    ("xray", "shown"),
    [
        (False, {"top"}),
        (1, {"top:mid", "top:o"}),
        (2, {"top:mid:u", "top:mid:v", "top:o"}),
        (True, {"top:mid:u", "top:mid:v", "top:o"}),
    ],
)
def test_xray_counts_levels(xray: int | bool, shown: set[str]) -> None:
    middle = StateGraph(State).add_node("mid", chain("u", "v").compile()).add_node("o", step)
    middle.add_edge(START, "mid").add_edge("mid", "o")
    builder = StateGraph(State).add_node("top", middle.compile()).add_edge(START, "top")
    assert set(builder.compile().get_graph(xray=xray).nodes) - {START, END} == shown


def test_a_function_that_calls_several_graphs_opens_all_of_them() -> None:
    one, other = chain("p").compile(name="one"), chain("q").compile(name="other")
    calling = SimpleNamespace(bound=step, subgraphs=[one, other])
    builder = chain("caller")
    compiled = SimpleNamespace(builder=builder, nodes={"caller": calling})
    graph = drawable(compiled, xray=True)
    assert set(graph.nodes) == {START, "caller:one:p", "caller:other:q", END}
    assert len(graph.edges) == 4


def test_a_child_without_nodes_to_show_stays_closed() -> None:
    empty = Graph()
    empty.add_edge(empty.add_node(None, START), empty.add_node(None, END))
    child = SimpleNamespace(name="empty", get_graph=lambda xray: empty)
    compiled = SimpleNamespace(
        builder=chain("a"), nodes={"a": SimpleNamespace(bound=step, subgraphs=[child])}
    )
    assert set(drawable(compiled, xray=True).nodes) == {START, "a", END}


def test_a_graph_without_builder_shows_who_triggers_whom() -> None:
    one = NodeBuilder().subscribe_only("a").do(str).write_to("b")
    two = NodeBuilder().subscribe_only("b").do(str).write_to("c", "d")
    three = NodeBuilder().subscribe_to("d").do(str).write_to("a")
    compiled = Pregel(
        nodes={"one": one, "two": two, "three": three},
        channels={"a": EphemeralValue(str), "b": LastValue(str), "c": LastValue(str), "d": LastValue(str)},
        input_channels=["a"],
        output_channels=["c"],
    )
    assert edges_of(compiled.get_graph()) == [
        (START, "one", None, False),
        ("one", "two", None, False),
        ("three", "one", None, False),
        ("two", END, None, True),
        ("two", "three", None, False),
    ]


def test_front_ends_read_the_json_that_they_know() -> None:
    builder = StateGraph(State).add_node("a", step).add_node("sub", chain("p").compile())
    builder.add_edge(START, "a").add_edge("a", "sub")
    nodes = {node["id"]: node for node in builder.compile().get_graph().to_json()["nodes"]}
    function = ["langgraph", "_internal", "_runnable", "RunnableCallable"]
    assert nodes[START] == {"id": START, "type": "runnable", "data": {"id": function, "name": START}}
    assert nodes["a"] == {"id": "a", "type": "runnable", "data": {"id": function, "name": "a"}}
    assert nodes["sub"]["data"]["id"] == ["langgraph", "graph", "state", "CompiledStateGraph"]
    assert nodes[END] == {"id": END}
