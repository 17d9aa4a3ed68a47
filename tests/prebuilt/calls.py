"""Calls and messages for the tests of this room."""

from __future__ import annotations

import json


def plain_call(name, arguments, key="1"):
    """A call in the form of OpenAI's interface."""
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {"id": key, "type": "function", "function": {"name": name, "arguments": text}}


def asking(*calls):
    """A state whose last message, a plain one, makes these calls."""
    return {"messages": [{"role": "assistant", "content": None, "tool_calls": list(calls)}]}


def call(name, arguments, key="1"):
    """A call in LangChain's form."""
    return {"name": name, "args": arguments, "id": key, "type": "tool_call"}


def ask(*calls):
    """A state whose last message, LangChain's, makes these calls."""
    from langchain_core.messages import AIMessage

    return {"messages": [AIMessage("", tool_calls=list(calls), id="ai")]}


def contents(result):
    """What the answers say, in their order."""
    messages = result["messages"] if isinstance(result, dict) else result
    return [message["content"] if isinstance(message, dict) else message.content for message in messages]
