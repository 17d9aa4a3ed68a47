"""Ready-made parts of agents: the node that runs tools, what tools may ask for, and the agent that loops over both.

The layout of this room:

    langchain_parts      what is taken from LangChain, or stands in for it where it is missing
    injection            what a tool gets beside its arguments: state, store, runtime
    tool_call_input      which calls a node was given, and in which form their answers go back
    tool_call_request    one call on its way to its tool, as wrappers see it
    tool_call_errors     which failures become messages, and what those say
    tool_call_results    what a tool returned becomes messages and commands
    tool_lanes           several calls at once, each with counters of its own
    tool_call_events     what the stream of calls shows
    plain_tool           a function as a tool, without LangChain
    direct_call          a tool of LangChain, called without its callbacks where nobody watches
    tool_adapter         how a tool of either kind is called
    tool_node            the node
    tool_validator       the node that only checks arguments
    chat_agent_executor  the agent; agent_model, agent_states and agent_nodes are its parts
    tool_call_transformer the calls of a run as the v3 stream shows them
    interrupt            the shapes of questions to a person about a tool call

Names are loaded when they are first asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepgraph.lazy import names_from

if TYPE_CHECKING:
    from stepgraph.prebuilt.chat_agent_executor import create_react_agent
    from stepgraph.prebuilt.tool_call_transformer import ToolCallTransformer
    from stepgraph.prebuilt.tool_node import (
        InjectedState,
        InjectedStore,
        ToolNode,
        ToolRuntime,
        tools_condition,
    )
    from stepgraph.prebuilt.tool_validator import ValidationNode

__all__ = (
    "InjectedState",
    "InjectedStore",
    "ToolCallTransformer",
    "ToolNode",
    "ToolRuntime",
    "ValidationNode",
    "create_react_agent",
    "tools_condition",
)

_HOMES = {
    "create_react_agent": "chat_agent_executor",
    "ValidationNode": "tool_validator",
    "ToolCallTransformer": "tool_call_transformer",
    "InjectedState": "tool_node",
    "InjectedStore": "tool_node",
    "ToolNode": "tool_node",
    "ToolRuntime": "tool_node",
    "tools_condition": "tool_node",
}

__getattr__ = names_from(globals(), _HOMES)
