"""Each rule fires on what it is about, at its place, and stays silent on its neighbours."""

from __future__ import annotations

import operator
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import GraphCheckError
from stepgraph.graph import END, START, StateGraph
from stepgraph.types import Command, Send, interrupt
from stepgraph.warnings import GraphCheckWarning


class State(TypedDict, total=False):
    text: str
    count: int
    items: Annotated[list[str], operator.add]
    bag: dict[str, Any]


def update(state: Any) -> dict[str, Any]:
    return {"items": ["x"]}


def line(schema: Any, **nodes: Any) -> StateGraph[Any]:
    builder = StateGraph(schema)
    before = START
    for name, action in nodes.items():
        builder.add_node(name, action)
        builder.add_edge(before, name)
        before = name
    return builder


def found(graph: Any, code: str) -> list[Any]:
    return [finding for finding in graph.check() if finding.code == code]


def line_at(place: str) -> str:
    """The text at a place in this file."""
    file, _, number = place.rpartition(":")
    return Path(file).read_text(encoding="utf-8").splitlines()[int(number) - 1]


def alarms(graph: Any) -> list[str]:
    return [finding.code for finding in graph.check() if finding.severity != "hint"]


def within(child_schema: Any, parent_schema: Any = State, **nodes: Any) -> Any:
    """A parent with a child as its node."""
    child = line(child_schema, **(nodes or {"work": update}))
    return line(parent_schema, child=child.compile()).compile()


def test_a_sound_graph_has_no_alarm() -> None:
    assert alarms(line(State, a=update, b=update).compile()) == []
    assert alarms(within(State)) == []


# ---- fields that parent and child share


def prepend(left: list[str], right: list[str]) -> list[str]:
    return right + left


def test_sg101_different_reducers() -> None:
    class Child(TypedDict, total=False):
        items: Annotated[list[str], prepend]

    [finding] = found(within(Child), "SG101")
    assert finding.severity == "warning"
    assert finding.at == "child"
    assert "prepend" in finding.problem
    assert finding.place.startswith(f"{__file__}:")
    assert line_at(finding.place).strip() == "items: Annotated[list[str], prepend]"


def test_sg101_is_silent_for_one_reducer_and_for_a_plain_field_in_the_child() -> None:
    class Child(TypedDict, total=False):
        items: list[str]

    assert found(within(Child), "SG101") == []
    assert found(within(State), "SG101") == []


def test_sg102_different_types() -> None:
    class Child(TypedDict, total=False):
        text: list[str]
        items: Annotated[list[str], operator.add]

    [finding] = found(within(Child), "SG102")
    assert finding.severity == "error"
    assert "'text'" in finding.problem


@pytest.mark.parametrize("kept", [str, str | None, Any, object, Literal["a", "b"]])
def test_sg102_is_silent_where_the_same_values_fit(kept: Any) -> None:
    fields: Any = {"text": kept, "items": Annotated[list[str], operator.add]}
    assert found(within(TypedDict("Child", fields)), "SG102") == []  # type: ignore[operator]


def test_sg103_output_that_nobody_takes() -> None:
    class Child(TypedDict, total=False):
        text: str
        verdict: str

    class Output(TypedDict):
        verdict: str

    builder = StateGraph(Child, output_schema=Output).add_node("w", update).add_edge(START, "w")
    [finding] = found(line(State, child=builder.compile()).compile(), "SG103")
    assert "'verdict'" in finding.problem


def test_sg103_is_silent_for_private_fields_beside_shared_ones() -> None:
    class Child(TypedDict, total=False):
        items: Annotated[list[str], operator.add]
        private: str

    assert found(within(Child), "SG103") == []


def test_sg104_a_name_that_is_nearly_right() -> None:
    class Parent(TypedDict, total=False):
        question: str
        answers: list[str]

    class Child(TypedDict, total=False):
        questions: str
        answers: list[str]

    [finding] = found(within(Child, Parent), "SG104")
    assert "'question'" in finding.problem


def test_sg104_is_silent_for_other_names_and_numbers() -> None:
    class Parent(TypedDict, total=False):
        value_1: str
        name: str

    class Child(TypedDict, total=False):
        value_2: str
        game: str
        name: str

    assert found(within(Child, Parent), "SG104") == []


def test_sg105_and_sg106_are_hints() -> None:
    class Small(TypedDict, total=False):
        items: Annotated[list[str], operator.add]

    shared = found(within(State), "SG105")
    assert [finding.severity for finding in shared] == ["hint"]
    assert found(within(Small), "SG105") == []
    deep: Any = update
    for _ in range(4):
        deep = line(Small, inner=deep).compile()
    [finding] = found(deep, "SG106")
    assert (finding.severity, finding.at) == ("hint", "inner|inner|inner")
    assert found(within(Small), "SG106") == []


def test_sg107_a_dict_that_nodes_replace() -> None:
    def one(state: State) -> dict[str, Any]:
        return {"bag": {"one": 1}}

    def two(state: State) -> dict[str, Any]:
        return {"bag": {"two": 2}}

    def kept(state: State) -> dict[str, Any]:
        return {"bag": {**state["bag"], "two": 2}}

    assert [finding.severity for finding in found(line(State, one=one, two=two).compile(), "SG107")] == [
        "warning"
    ]
    assert found(line(State, one=one, kept=kept).compile(), "SG107") == []
    assert found(line(State, one=one).compile(), "SG107") == []


# ---- where a run can go


def test_sg201_a_node_that_nothing_reaches() -> None:
    builder = line(State, a=update).add_node("lost", update)
    [finding] = found(builder.compile(), "SG201")
    assert "'lost'" in finding.problem


def test_sg201_is_silent_where_something_may_go_anywhere() -> None:
    def jump(state: State) -> Command[Any]:
        return Command(goto=state["text"])

    def path(state: State) -> str:
        return state["text"]

    assert found(line(State, a=jump).add_node("b", update).compile(), "SG201") == []
    free = line(State, a=update).add_node("b", update).add_conditional_edges("a", path)
    assert found(free.compile(), "SG201") == []
    assert found(line(State, a=lambda state: {}).add_node("b", update).compile(), "SG201") == []


def test_sg201_follows_declared_targets() -> None:
    def jump(state: State) -> Command[Literal["b"]]:
        return Command(goto="b")

    def path(state: State) -> str:
        return "b" if state else "c"

    assert found(line(State, a=jump).add_node("b", update).compile(), "SG201") == []
    builder = line(State, a=update).add_node("b", update).add_node("c", update).add_node("lost", update)
    assert len(found(builder.add_conditional_edges("a", path).compile(), "SG201")) == 1


def test_sg202_a_circle_without_a_way_out() -> None:
    builder = line(State, a=update, b=update).add_edge("b", "a")
    [finding] = found(builder.compile(), "SG202")
    assert finding.severity == "warning"
    assert "'a', 'b'" in finding.problem


def test_sg202_is_silent_with_a_way_out_a_question_or_an_error() -> None:
    def path(state: State) -> str:
        return "a" if state else END

    def asks(state: Any) -> dict[str, Any]:
        return {"text": interrupt("?")}

    def fails(state: State) -> dict[str, Any]:
        if state:
            raise ValueError
        return {}

    assert found(line(State, a=update, b=update).add_conditional_edges("b", path).compile(), "SG202") == []
    assert found(line(State, a=asks, b=update).add_edge("b", "a").compile(), "SG202") == []
    assert found(line(State, a=fails, b=update).add_edge("b", "a").compile(), "SG202") == []
    stops = line(State, a=update, b=update).add_edge("b", "a").compile(interrupt_before=["a"])
    assert found(stops, "SG202") == []


def test_sg203_a_goto_to_no_node_at_its_line() -> None:
    def jump(state: State) -> Command[Any]:
        return Command(goto="nowhere")  # here

    [finding] = found(line(State, a=jump).compile(), "SG203")
    assert finding.severity == "error"
    assert line_at(finding.place).endswith("# here")


def test_sg203_looks_at_paths_sends_and_the_text_end() -> None:
    def path(state: State) -> Any:
        return "END" if state else [Send("works", {})]

    def label(state: State) -> str:
        return "yes"

    builder = line(State, work=update).add_conditional_edges("work", path)
    problems = [finding.problem for finding in found(builder.compile(), "SG203")]
    assert any("'works'" in problem for problem in problems)
    mapped = line(State, a=update, b=update).add_conditional_edges("a", label, {"no": "b"})
    assert len(found(mapped.compile(), "SG203")) == 1
    ends = line(State, a=update).add_conditional_edges("a", lambda_end)
    assert "Import END" in found(ends.compile(), "SG203")[0].mend


def lambda_end(state: State) -> str:
    return "END"


def test_sg203_looks_into_the_graph_above() -> None:
    def up(state: State) -> Command[Any]:
        return Command(goto="reviewer", graph=Command.PARENT)

    child = line(State, up=up).compile()
    assert found(child, "SG203") == []
    [finding] = found(line(State, child=child, other=update).compile(), "SG203")
    assert "the graph above" in finding.problem
    assert found(line(State, child=child, reviewer=update).compile(), "SG203") == []


def test_sg203_is_a_warning_where_unknown_targets_only_warn() -> None:
    def jump(state: State) -> Command[Any]:
        return Command(goto="nowhere")

    graph = line(State, a=jump).compile(unknown_target="warn")
    assert [finding.severity for finding in found(graph, "SG203")] == ["warning"]


def test_sg204_hints_at_a_branch_without_targets() -> None:
    def free(state: State) -> str:
        return state["text"]

    def said(state: State) -> Literal["a"]:
        return "a"

    builder = line(State, a=update).add_conditional_edges("a", free)
    assert [finding.severity for finding in found(builder.compile(), "SG204")] == ["hint"]
    assert found(line(State, a=update).add_conditional_edges("a", said).compile(), "SG204") == []


# ---- several writers


def both(first: Any, second: Any) -> Any:
    builder = StateGraph(State).add_node("a", first).add_node("b", second)
    return builder.add_edge(START, "a").add_edge(START, "b").compile()


def writes(state: Any) -> dict[str, Any]:
    return {"count": 1}


def test_sg301_parallel_writers_of_a_plain_field() -> None:
    def maybe(state: Any) -> dict[str, Any]:
        if state.get("text"):
            return {"count": 1}
        return {}

    [finding] = found(both(writes, writes), "SG301")
    assert finding.severity == "error"
    assert found(both(writes, update), "SG301") == []
    assert found(both(writes, maybe), "SG301") == []
    assert found(both(update, update), "SG301") == []
    assert found(line(State, a=writes, b=writes).compile(), "SG301") == []


def test_sg302_parallel_graphs_that_hand_a_plain_field_through() -> None:
    class Child(TypedDict, total=False):
        text: str
        items: Annotated[list[str], operator.add]

    class Only(TypedDict, total=False):
        items: Annotated[list[str], operator.add]

    shared, only = line(Child, w=update).compile(), line(Only, w=update).compile()
    assert len(found(both(shared, shared), "SG302")) == 1
    assert found(both(shared, only), "SG302") == []


def test_sg303_sends_to_a_node_that_writes_one_value() -> None:
    def spread(state: State) -> list[Send]:
        return [Send("b", {"text": text}) for text in "ab"]

    def graph(action: Any) -> Any:
        builder = line(State, a=update).add_node("b", action)
        return builder.add_conditional_edges("a", spread, ["b"]).compile()

    assert len(found(graph(writes), "SG303")) == 1
    assert found(graph(update), "SG303") == []


# ---- savers


def asks(state: Any) -> dict[str, Any]:
    return {"text": interrupt("?")}


def test_sg401_a_question_without_a_saver() -> None:
    [finding] = found(line(State, a=asks).compile(), "SG401")
    assert finding.severity == "warning"
    assert found(line(State, a=asks).compile(InMemorySaver()), "SG401") == []
    child = line(State, a=asks).compile()
    assert len(found(line(State, child=child).compile(), "SG401")) == 1
    assert found(line(State, child=child).compile(InMemorySaver()), "SG401") == []


def test_sg402_a_saver_made_in_a_node() -> None:
    inner = line(State, a=update)

    def calls(state: State) -> dict[str, Any]:
        inner.compile(checkpointer=InMemorySaver())
        return {}

    [finding] = found(line(State, a=calls).compile(), "SG402")
    assert "InMemorySaver" in finding.problem


# ---- the ways in


def test_compile_refuses_errors_and_warns_of_warnings() -> None:
    def jump(state: State) -> Command[Any]:
        return Command(goto="nowhere")

    with pytest.raises(GraphCheckError, match="SG203") as refused:
        line(State, a=jump).compile(check="error")
    assert [finding.code for finding in refused.value.findings] == ["SG203"]
    with pytest.warns(GraphCheckWarning, match="SG203"):
        line(State, a=jump).compile(check="warn")
    with pytest.warns(GraphCheckWarning, match="SG201"):
        line(State, a=update).add_node("lost", update).compile(check="error")
    with pytest.raises(ValueError, match="check must be 'error' or 'warn'"):
        line(State, a=update).compile(check="all")  # type: ignore[arg-type]


def test_a_finding_says_all_of_it_in_one_line() -> None:
    [finding] = found(line(State, a=asks).compile(), "SG401")
    text = str(finding)
    assert "\n" not in text
    assert text.startswith(f"{__file__}:")
    for part in (finding.code, finding.problem, finding.why, finding.mend):
        assert part in text


def test_a_graph_inside_itself_is_looked_at_once() -> None:
    builder = line(State, a=update)
    graph = builder.compile()

    def again(state: State) -> dict[str, Any]:
        return {"items": graph.invoke(state)["items"]}

    builder.nodes["a"].action = again
    assert alarms(graph) == []


# ---- what findings say comes true


def fails_as_said(graph: Any, given: Any, code: str, error: str) -> None:
    assert code in alarms(graph)
    with pytest.raises(Exception, match=error):
        graph.invoke(given)


def test_what_sg203_says_comes_true() -> None:
    def jump(state: State) -> Command[Any]:
        return Command(goto="nowhere")

    fails_as_said(line(State, a=jump).compile(), {}, "SG203", "nowhere")


def test_what_sg301_sg302_and_sg303_say_comes_true() -> None:
    class Child(TypedDict, total=False):
        text: str

    def spread(state: State) -> list[Send]:
        return [Send("b", {"text": text}) for text in "ab"]

    only_one = "Can receive only one value per step"
    fails_as_said(both(writes, writes), {}, "SG301", only_one)
    child = line(Child, w=lambda state: {}).compile()
    fails_as_said(both(child, child), {"text": "t"}, "SG302", only_one)
    sends = line(State, a=update).add_node("b", writes).add_conditional_edges("a", spread, ["b"])
    fails_as_said(sends.compile(), {}, "SG303", only_one)


def test_what_sg202_says_comes_true() -> None:
    graph = line(State, a=update, b=update).add_edge("b", "a").compile()
    assert "SG202" in alarms(graph)
    with pytest.raises(RecursionError):
        graph.invoke({}, {"recursion_limit": 30})
