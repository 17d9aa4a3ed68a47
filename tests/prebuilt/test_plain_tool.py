"""A function as a tool, without LangChain."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest

from stepgraph.prebuilt import InjectedState, ToolRuntime
from stepgraph.prebuilt.plain_tool import PlainTool


def search(query: str, limit: int = 5, order: Literal["new", "old"] = "new") -> list[str]:
    """Search the archive.

    Finds what it can.
    """
    return [query] * limit


def test_its_name_and_description_are_the_functions():
    tool = PlainTool(search)
    assert (tool.name, tool.description) == ("search", "Search the archive.\n\nFinds what it can.")


def test_its_definition_is_what_providers_take():
    function = PlainTool(search).definition["function"]
    parameters = function["parameters"]
    assert function["name"] == "search"
    assert parameters["required"] == ["query"]
    assert parameters["properties"]["limit"]["type"] == "integer"
    assert parameters["properties"]["order"]["enum"] == ["new", "old"]


def test_what_is_injected_is_hidden_from_the_model():
    def peek(depth: int, state: Annotated[dict, InjectedState], runtime: ToolRuntime) -> str:
        return ""

    assert list(PlainTool(peek).definition["function"]["parameters"]["properties"]) == ["depth"]


def test_arguments_that_fit_come_back():
    assert PlainTool(search).check({"query": "x", "limit": 2}) == {"query": "x", "limit": 2}


@pytest.mark.parametrize("arguments", [{}, {"query": "x", "limit": "many"}, {"query": "x", "order": "odd"}])
def test_arguments_that_do_not_fit_are_refused(arguments):
    with pytest.raises(ValueError):
        PlainTool(search).check(arguments)


def test_an_unknown_argument_is_refused_by_name():
    with pytest.raises(ValueError, match="unknown argument qeury; known are: query, limit, order"):
        PlainTool(search).check({"qeury": "x"})


def test_a_function_that_takes_anything_is_given_anything():
    def anything(**details):
        return details

    assert PlainTool(anything).check({"a": 1}) == {"a": 1}


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="must be a function"):
        PlainTool({"name": "search"})
