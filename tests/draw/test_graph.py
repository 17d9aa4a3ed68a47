from __future__ import annotations

import pytest

from draw.samples import graph_of
from stepgraph.draw import Edge, Graph, Node


def test_a_graph_without_nodes_is_false() -> None:
    assert not Graph()
    assert graph_of(("a", "b"))


def test_nodes_without_an_id_get_one_and_are_named_after_what_they_run() -> None:
    graph = Graph()
    one, other = graph.add_node(print), graph.add_node(print)
    assert one.id != other.id
    assert one.name == other.name == "print"


def test_an_id_can_be_used_once() -> None:
    graph = Graph()
    graph.add_node(None, "a")
    with pytest.raises(ValueError, match="Node with id a already exists"):
        graph.add_node(None, "a")


def test_an_edge_needs_both_of_its_nodes() -> None:
    graph = Graph()
    known = graph.add_node(None, "a")
    with pytest.raises(ValueError, match="Target node b not in graph"):
        graph.add_edge(known, Node("b", "b"))
    with pytest.raises(ValueError, match="Source node b not in graph"):
        graph.add_edge(Node("b", "b"), known)


def test_removing_a_node_removes_its_edges() -> None:
    graph = graph_of(("a", "b"), ("b", "c"), ("a", "c"))
    graph.remove_node(graph.nodes["b"])
    assert (list(graph.nodes), graph.edges) == (["a", "c"], [Edge("a", "c")])


def test_first_and_last_are_the_only_nodes_without_ways_in_and_out() -> None:
    graph = graph_of(("a", "b"), ("b", "c"))
    assert graph.first_node() == Node("a", "a")
    assert graph.last_node() == Node("c", "c")


def test_several_candidates_are_no_first_and_no_last_node() -> None:
    graph = graph_of(("a", "c"), ("b", "c"), ("c", "d"), ("c", "e"))
    assert graph.first_node() is None
    assert graph.last_node() is None


def test_start_and_end_are_first_and_last_even_beside_nodes_that_nothing_reaches() -> None:
    graph = graph_of(("__start__", "a"), ("a", "__end__"))
    graph.add_node(None, "lost")
    assert graph.first_node() == graph.nodes["__start__"]
    assert graph.last_node() == graph.nodes["__end__"]


def test_ends_are_trimmed_where_one_node_takes_their_place() -> None:
    graph = graph_of(("__start__", "a"), ("a", "b"), ("b", "__end__"))
    graph.trim_first_node()
    graph.trim_last_node()
    assert (list(graph.nodes), graph.edges) == (["a", "b"], [Edge("a", "b")])


def test_ends_stay_where_the_way_forks() -> None:
    graph = graph_of(("s", "a"), ("s", "b"), ("a", "e"), ("b", "e"))
    graph.trim_first_node()
    graph.trim_last_node()
    assert list(graph.nodes) == ["s", "a", "b", "e"]


def test_extending_copies_under_a_prefix() -> None:
    graph, other = graph_of(("a", "b")), graph_of(("x", "y", "go", True))
    first, last = graph.extend(other, prefix="pre")
    assert first == Node("pre:x", "x")
    assert last == Node("pre:y", "y")
    assert graph.edges == [Edge("a", "b"), Edge("pre:x", "pre:y", "go", True)]
    assert list(other.nodes) == ["x", "y"]


def test_generated_ids_take_no_prefix() -> None:
    graph, other = Graph(), Graph()
    node = other.add_node(print)
    graph.extend(other, prefix="pre")
    assert list(graph.nodes) == [node.id]


def test_reid_makes_ids_of_names() -> None:
    graph = Graph()
    one, other = graph.add_node(print), graph.add_node(print)
    graph.add_node(None, "a")
    graph.add_edge(one, other)
    renamed = graph.reid()
    assert list(renamed.nodes) == ["print_1", "print_2", "a"]
    assert renamed.edges == [Edge("print_1", "print_2")]


def test_json_says_what_nodes_are() -> None:
    class Step:
        def invoke(self, value: object) -> object:
            return value

    graph = Graph()
    step = graph.add_node(Step(), "step", metadata={"k": 1})
    end = graph.add_node(None, "end")
    other = graph.add_node("text", "text")
    graph.add_edge(step, end, "done", True)
    graph.add_edge(end, other)
    kind = {"id": [*__name__.split("."), "Step"], "name": "step"}
    assert graph.to_json() == {
        "nodes": [
            {"id": "step", "type": "runnable", "data": kind, "metadata": {"k": 1}},
            {"id": "end"},
            {"id": "text", "type": "unknown", "data": "text"},
        ],
        "edges": [
            {"source": "step", "target": "end", "data": "done", "conditional": True},
            {"source": "end", "target": "text"},
        ],
    }


def test_json_numbers_generated_ids() -> None:
    graph = Graph()
    graph.add_edge(graph.add_node(print), graph.add_node(len))
    assert graph.to_json()["edges"] == [{"source": 0, "target": 1}]


def test_json_gives_the_schema_of_models_on_demand() -> None:
    pydantic = pytest.importorskip("pydantic")
    model = pydantic.create_model("Answer", x=(int, ...))
    graph = Graph()
    graph.add_node(model)
    assert graph.to_json()["nodes"] == [{"id": 0, "type": "schema", "data": "Answer"}]
    assert graph.to_json(with_schemas=True)["nodes"][0]["data"]["title"] == "Answer"


def test_copies_change_one_thing() -> None:
    node, edge = Node("a", "a", print, {"k": 1}), Edge("a", "b", "x", True)
    assert node.copy(id="z") == Node("z", "a", print, {"k": 1})
    assert edge.copy(target="z") == Edge("a", "z", "x", True)
