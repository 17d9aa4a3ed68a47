"""Stand-ins for children, and contracts between graphs."""

from __future__ import annotations

import operator
from typing import Annotated, Any, TypedDict

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.testing import check_contract, stub_subgraph

THREAD: Any = {"configurable": {"thread_id": "1"}}


class Research(TypedDict, total=False):
    query: str
    findings: Annotated[list[str], operator.add]
    notes: int


class Asked(TypedDict):
    query: str


class Found(TypedDict):
    findings: list[str]


def research(answer: Any = None, **options: Any) -> Any:
    found = {"findings": ["real"]} if answer is None else answer
    builder = StateGraph(Research, input_schema=Asked, output_schema=Found)
    return builder.add_node("search", lambda state: found).add_edge(START, "search").compile(**options)


class Report(TypedDict, total=False):
    query: str
    findings: Annotated[list[str], operator.add]


def report(child: Any, **options: Any) -> Any:
    return StateGraph(Report).add_node("child", child).add_edge(START, "child").compile(**options)


def test_a_stub_answers_in_the_place_of_a_child_and_notes_what_it_got() -> None:
    stub = stub_subgraph(research(), {"findings": ["canned"], "notes": 1})
    graph = report(stub.graph)
    assert graph.invoke({"query": "rivers"}) == {"query": "rivers", "findings": ["canned"]}
    assert graph.invoke({"query": "lakes"})["findings"] == ["canned"]
    assert stub.inputs == [{"query": "rivers"}, {"query": "lakes"}]


def test_a_stub_may_answer_by_its_state_or_fail() -> None:
    stub = stub_subgraph(research(), lambda state: {"findings": [state["query"].upper()]})
    assert report(stub.graph).invoke({"query": "rivers"})["findings"] == ["RIVERS"]
    broken = stub_subgraph(research(), OSError("no network"))
    with pytest.raises(OSError, match="no network"):
        report(broken.graph).invoke({"query": "rivers"})


def test_a_stub_has_the_schemas_and_the_memory_of_its_child() -> None:
    child = research(name="research", checkpointer=True)
    stub = stub_subgraph(child, {"findings": []}).graph
    assert stub.get_input_jsonschema() == child.get_input_jsonschema()
    assert stub.get_output_jsonschema() == child.get_output_jsonschema()
    assert (stub.name, stub.checkpointer) == ("research", True)
    assert report(stub, checkpointer=InMemorySaver()).invoke({"query": "x"}, THREAD)["findings"] == []


TAKES = {"query": str}
GIVES = {"findings": list[str]}


def test_a_child_that_keeps_its_contract_passes() -> None:
    check_contract(research(), takes=TAKES, gives=GIVES, examples=[{"query": "rivers"}])
    check_contract(research(), takes={"query": Any}, gives={})


@pytest.mark.parametrize(
    ("takes", "gives", "fault"),
    [
        ({"topic": str}, {}, "it takes no field 'topic': its input schema Asked has 'query'"),
        ({"query": int}, {}, "it takes 'query' as str, not as int: see its input schema Asked"),
        ({}, {"text": str}, "it gives no field 'text': its output schema Found has 'findings'"),
        ({}, {"findings": list[int]}, r"it gives 'findings' as list\[str\], not as list\[int\]"),
        ({}, {"notes": int}, "it gives no field 'notes'"),
    ],
)
def test_a_schema_that_differs_from_a_contract_is_a_fault(takes: Any, gives: Any, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        check_contract(research(), takes=takes, gives=gives)


@pytest.mark.parametrize("answer", [{"findings": "one"}, {"findings": [1]}])
def test_an_output_that_differs_from_a_contract_is_a_fault(answer: Any) -> None:
    class Loose(TypedDict, total=False):
        query: str
        findings: list[str]

    child = StateGraph(Loose).add_node("n", lambda state: answer).add_edge(START, "n").compile()
    with pytest.raises(
        AssertionError, match=r"with the input \{'query': 'x'\}, its output has 'findings' as"
    ):
        check_contract(child, takes=TAKES, gives=GIVES, examples=[{"query": "x"}])


def test_an_output_without_a_field_of_the_contract_is_a_fault() -> None:
    class Loose(TypedDict, total=False):
        query: str
        findings: list[str]

    child = StateGraph(Loose).add_node("n", lambda state: {}).add_edge(START, "n").compile()
    with pytest.raises(AssertionError, match="its output has no 'findings'"):
        check_contract(child, takes=TAKES, gives=GIVES, examples=[{"query": "x"}])


def test_all_faults_are_told_at_once() -> None:
    with pytest.raises(AssertionError) as failure:
        check_contract(research(), takes={"a": int}, gives={"b": int})
    assert len(str(failure.value).splitlines()) == 3
