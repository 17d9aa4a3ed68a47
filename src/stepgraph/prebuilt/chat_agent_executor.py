"""The prebuilt agent: a model that calls tools until it has an answer.

The loop is a small graph of known nodes: `agent` calls the model, `tools` runs what it asked for; around the model there
may be `pre_model_hook` and `post_model_hook`, at the end `generate_structured_response`. Nodes and paths stand in
`agent_nodes.py`. Needs LangChain, and says so before anything that imports it.
"""

# ruff: noqa: E402

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

from typing_extensions import deprecated

from stepgraph.prebuilt.langchain_parts import require_langchain

require_langchain("create_react_agent")

from stepgraph.graph.state import StateGraph
from stepgraph.prebuilt.agent_model import ModelChoice, Prompt, should_bind_tools
from stepgraph.prebuilt.agent_nodes import (
    AFTER_MODEL,
    AGENT,
    BEFORE_MODEL,
    STRUCTURED,
    TOOLS,
    AfterModel,
    AfterTools,
    CallModel,
    StructuredAnswer,
)
from stepgraph.prebuilt.agent_states import (
    AgentState,
    AgentStatePydantic,
    AgentStateWithStructuredResponse,
    AgentStateWithStructuredResponsePydantic,
    checked_schema,
    with_model_input,
)
from stepgraph.prebuilt.tool_node import ToolNode
from stepgraph.values.names import END, START
from stepgraph.warnings import LangGraphDeprecatedSinceV10

if TYPE_CHECKING:
    from langchain_core.tools import BaseTool

    from stepgraph.graph.compiled import CompiledStateGraph
    from stepgraph.pregel.checkpointers import Checkpointer
    from stepgraph.store.base import BaseStore

__all__ = (
    "AgentState",
    "AgentStatePydantic",
    "AgentStateWithStructuredResponse",
    "AgentStateWithStructuredResponsePydantic",
    "create_react_agent",
)

StateSchema = TypeVar("StateSchema", bound=Any)
StateSchemaType: TypeAlias = type[StateSchema]
StructuredResponseSchema: TypeAlias = dict[str, Any] | type[Any]

Graph: TypeAlias = StateGraph[Any, Any, Any, Any]

_should_bind_tools = should_bind_tools


@deprecated(
    "create_react_agent has been moved to `langchain.agents`. Please update your import to "
    "`from langchain.agents import create_agent`.",
    category=LangGraphDeprecatedSinceV10,
)
def create_react_agent(
    model: Any,
    tools: Sequence[BaseTool | Callable[..., Any] | dict[str, Any]] | ToolNode,
    *,
    prompt: Any = None,
    response_format: StructuredResponseSchema | tuple[str, StructuredResponseSchema] | None = None,
    pre_model_hook: Any = None,
    post_model_hook: Any = None,
    state_schema: StateSchemaType[Any] | None = None,
    context_schema: type[Any] | None = None,
    checkpointer: Checkpointer = None,
    store: BaseStore | None = None,
    interrupt_before: list[str] | None = None,
    interrupt_after: list[str] | None = None,
    debug: bool = False,
    version: Literal["v1", "v2"] = "v2",
    name: str | None = None,
    **deprecated_kwargs: Any,
) -> CompiledStateGraph[Any, Any, Any, Any]:
    """Make an agent that calls tools in a loop until the model has an answer.

    Args:
        model: A chat model, its name (`"provider:model"`), or a function `(state, runtime)` that answers one.
        tools: Tools, functions, or descriptions of tools that the provider runs (dicts); or a `ToolNode`.
        prompt: What goes before the conversation: a text or `SystemMessage`; or a function of the state, or a runnable,
            that answers what the model is shown.
        response_format: The shape of a last answer, which stands in `structured_response`: a class or a JSON schema, or
            a pair of an instruction and one of these.
        pre_model_hook: A node before the model; it may return `messages`, or `llm_input_messages` for the model alone.
        post_model_hook: A node after the model; it may answer or change tool calls.
        state_schema: The state; it needs `messages` and `remaining_steps`.
        context_schema: The type of the run's context.
        checkpointer: A saver, for conversations that last.
        store: Memory across conversations.
        interrupt_before: Nodes to stop before.
        interrupt_after: Nodes to stop after.
        debug: Print events, and check the engine's invariants.
        version: `"v2"`: every tool call is a task of its own, so each can pause and is stored by itself; `"v1"`: one task
            runs all calls of a message.
        name: The agent's name, as a node and on its messages.
        deprecated_kwargs: `config_schema`, the older name of `context_schema`.

    Returns:
        The compiled graph.

    Raises:
        ValueError: The version, prompt or state schema is not one of those above, or other tools are bound to the model.
        TypeError: The model is none, or there is an unknown argument.
    """
    context_schema = _context_schema(context_schema, deprecated_kwargs)
    if version not in ("v1", "v2"):
        raise ValueError(f"Invalid version {version}. Supported versions are 'v1' and 'v2'.")
    schema = checked_schema(state_schema, response_format is not None)
    tool_node, known = _tools_of(tools)
    choice = ModelChoice(model, known)
    graph: Graph = StateGraph(schema, context_schema=context_schema)
    agent = CallModel(choice, Prompt(prompt), name, hooked=pre_model_hook is not None)
    entry = _add_model(graph, schema, agent, pre_model_hook)
    last = _add_last_answer(graph, schema, choice, response_format)
    path = AfterModel(version == "v2", post_model_hook is not None, entry, last)
    _add_tools(graph, schema, tool_node, path, post_model_hook)
    return graph.compile(
        checkpointer=checkpointer,
        store=store,
        interrupt_before=interrupt_before,
        interrupt_after=interrupt_after,
        debug=debug,
        name=name,
    )


def _context_schema(context_schema: Any, deprecated_kwargs: dict[str, Any]) -> Any:
    if "config_schema" in deprecated_kwargs:
        warnings.warn(
            "`config_schema` is deprecated and will be removed. Please use `context_schema` instead.",
            LangGraphDeprecatedSinceV10,
            stacklevel=4,
        )
        older = deprecated_kwargs.pop("config_schema")
        context_schema = older if context_schema is None else context_schema
    if deprecated_kwargs:
        raise TypeError(f"create_react_agent() got unexpected keyword arguments: {deprecated_kwargs}")
    return context_schema


def _tools_of(tools: Any) -> tuple[ToolNode, list[Any]]:
    """The node that runs tools, and all tools that the model knows."""
    if isinstance(tools, ToolNode):
        return tools, list(tools.tools_by_name.values())
    node = ToolNode([tool for tool in tools if not isinstance(tool, dict)])
    run_by_provider = [tool for tool in tools if isinstance(tool, dict)]
    return node, [*node.tools_by_name.values(), *run_by_provider]


def _add_model(graph: Graph, schema: Any, agent: CallModel, pre_model_hook: Any) -> str:
    """The model, and the hook before it; answers where every round begins."""
    if pre_model_hook is None:
        graph.add_node(AGENT, agent, input_schema=schema)
        graph.add_edge(START, AGENT)
        return AGENT
    graph.add_node(AGENT, agent, input_schema=with_model_input(schema))
    graph.add_node(BEFORE_MODEL, pre_model_hook)
    graph.add_edge(START, BEFORE_MODEL)
    graph.add_edge(BEFORE_MODEL, AGENT)
    return BEFORE_MODEL


def _add_last_answer(graph: Graph, schema: Any, choice: ModelChoice, response_format: Any) -> str:
    """The answer in a given shape; answers where the agent goes when nothing is left to do."""
    if response_format is None:
        return END
    graph.add_node(STRUCTURED, StructuredAnswer(choice, response_format), input_schema=schema)
    graph.add_edge(STRUCTURED, END)
    return STRUCTURED


def _add_tools(
    graph: Graph, schema: Any, tool_node: ToolNode, path: AfterModel, post_model_hook: Any
) -> None:
    """The hook after the model, the tools, and the ways there and back."""
    source = AGENT
    if post_model_hook is not None:
        source = AFTER_MODEL
        graph.add_node(AFTER_MODEL, post_model_hook)
        graph.add_edge(AGENT, AFTER_MODEL)
    if not tool_node.tools_by_name:
        graph.add_edge(source, path.end)
        return
    graph.add_node(TOOLS, tool_node, input_schema=schema)
    ends = [TOOLS, path.end] if post_model_hook is None else [path.entry, TOOLS, path.end]
    graph.add_conditional_edges(source, path, ends)
    direct = frozenset(
        name for name, tool in tool_node.tools_by_name.items() if getattr(tool, "return_direct", False)
    )
    if direct:
        graph.add_conditional_edges(TOOLS, AfterTools(direct, path.entry), [path.entry, END])
    else:
        graph.add_edge(TOOLS, path.entry)
