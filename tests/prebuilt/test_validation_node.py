"""The node that checks the arguments of tool calls."""

from __future__ import annotations

import asyncio

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import StructuredTool, tool
from pydantic import BaseModel, field_validator

from prebuilt.calls import ask, call, contents
from stepgraph.prebuilt import ValidationNode
from stepgraph.warnings import LangGraphDeprecatedSinceV10

pytestmark = pytest.mark.filterwarnings("ignore::stepgraph.warnings.LangGraphDeprecatedSinceV10")


class Pick(BaseModel):
    number: int

    @field_validator("number")
    @classmethod
    def only_even(cls, number: int) -> int:
        if number % 2:
            raise ValueError("only even numbers")
        return number


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def count(text: str, times: int = 1) -> int:
    """Count."""
    return times


def test_arguments_that_fit_come_back_as_json():
    node = ValidationNode([Pick, add, count])
    calls = (
        call("Pick", {"number": 2}),
        call("add", {"a": 1, "b": 2}, "2"),
        call("count", {"text": "x"}, "3"),
    )
    assert contents(node.invoke(ask(*calls))) == ['{"number":2}', '{"a":1,"b":2}', '{"text":"x","times":1}']


def test_arguments_that_do_not_fit_are_answered_by_what_is_wrong():
    (message,) = ValidationNode([Pick]).invoke(ask(call("Pick", {"number": 3})))["messages"]
    assert "only even numbers" in message.content
    assert message.content.endswith("\n\nRespond after fixing all validation errors.")
    assert message.additional_kwargs == {"is_error": True}


def test_the_complaint_can_be_worded():
    node = ValidationNode([Pick], format_error=lambda error, call, schema: f"{call['id']} {schema.__name__}")
    assert contents(node.invoke(ask(call("Pick", {"number": 3})))) == ["1 Pick"]


def test_an_unknown_schema_is_answered_with_the_known_ones():
    assert contents(ValidationNode([Pick]).invoke(ask(call("Pik", {})))) == [
        "Error: Pik is not a valid tool, try one of [Pick]."
    ]


def test_a_list_is_answered_by_a_list():
    result = ValidationNode([Pick]).invoke(ask(call("Pick", {"number": 2}))["messages"])
    assert result == [ToolMessage('{"number":2}', name="Pick", tool_call_id="1")]


def test_it_runs_asynchronously():
    result = asyncio.run(ValidationNode([Pick]).ainvoke(ask(call("Pick", {"number": 2}))))
    assert contents(result) == ['{"number":2}']


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [([], "No message found"), ([HumanMessage("Hi")], "Last message is not an AIMessage")],
)
def test_without_a_message_of_the_model_it_fails(messages, complaint):
    with pytest.raises(ValueError, match=complaint):
        ValidationNode([Pick]).invoke({"messages": messages})


def test_what_is_no_schema_is_refused():
    with pytest.raises(ValueError, match="Expected BaseModel, tool or function"):
        ValidationNode([5])
    described = StructuredTool.from_function(count, args_schema={"type": "object", "properties": {}})
    with pytest.raises(ValueError, match="pydantic BaseModel args_schema"):
        ValidationNode([described])


def test_making_one_says_that_it_is_deprecated():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="ValidationNode is deprecated"):
        ValidationNode([Pick])
