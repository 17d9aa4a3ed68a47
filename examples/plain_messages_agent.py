"""An agent without LangChain: messages are the role/content dicts that a provider's client takes and gives.

The client here is a fake in the shape of a provider's SDK, so that the program runs without a network. It knows two
tools, asks for both at once, and waits for a person before the one that cannot be undone.
"""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Annotated, Any, TypedDict

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.graph.message import add_messages
from stepgraph.prebuilt import ToolNode, tools_condition
from stepgraph.prebuilt.plain_tool import PlainTool
from stepgraph.types import Command, interrupt


class FakeClient:
    """Answers `client.chat.completions.create(...)` as a provider does."""

    def __init__(self) -> None:
        self.chat = SimpleNamespace(completions=self)
        self.requests: list[list[dict[str, Any]]] = []

    def create(self, *, model: str, messages: list[dict[str, Any]], tools: list[dict[str, Any]]) -> Any:
        """Ask for the stock and an order, then sum up."""
        self.requests.append(messages)
        answers = [message["content"] for message in messages if message["role"] == "tool"]
        message: dict[str, Any] = {"role": "assistant", "content": None}
        if answers:
            message["content"] = " ".join(answers)
        else:
            wanted = [("stock", {"item": "tea"}), ("order", {"item": "tea", "boxes": 3})]
            known = {tool["function"]["name"] for tool in tools}
            message["tool_calls"] = [
                {
                    "id": f"call_{name}",
                    "type": "function",
                    "function": {"name": name, "arguments": json.dumps(args)},
                }
                for name, args in wanted
                if name in known
            ]
        return SimpleNamespace(choices=[SimpleNamespace(message=SimpleNamespace(model_dump=lambda: message))])


class State(TypedDict):
    # "plain": dicts stay dicts, also in a program where something else has loaded LangChain.
    messages: Annotated[list[dict[str, Any]], add_messages(format="plain")]


def stock(item: str) -> str:
    """How much of an item is left."""
    return f"2 boxes of {item} are left."


def order(item: str, boxes: int) -> str:
    """Order boxes of an item; a person must agree."""
    if interrupt(f"Order {boxes} boxes of {item}?") != "yes":
        return "Nothing was ordered."
    return f"{boxes} boxes of {item} are on their way."


def build(client: FakeClient) -> Any:
    """The loop of model and tools."""
    tools = [PlainTool(stock), PlainTool(order)]

    def model(state: State) -> dict[str, Any]:
        """Show the conversation to the provider, which wants no ids of ours."""
        messages = [
            {key: value for key, value in message.items() if key != "id"} for message in state["messages"]
        ]
        answer = client.chat.completions.create(
            model="a-model", messages=messages, tools=[tool.definition for tool in tools]
        )
        return {"messages": [answer.choices[0].message.model_dump()]}

    graph = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    return graph.compile(InMemorySaver())


def main() -> dict[str, Any]:
    """Run until the question, answer it, and return what was asked and what was said."""
    client = FakeClient()
    graph = build(client)
    thread = {"configurable": {"thread_id": "1"}}
    first = graph.invoke({"messages": [("user", "Do we need tea?")]}, thread)
    (question,) = first["__interrupt__"]
    last = graph.invoke(Command(resume="yes"), thread)
    return {
        "question": question.value,
        "roles": [message["role"] for message in last["messages"]],
        "answer": last["messages"][-1]["content"],
        "requests": len(client.requests),
    }


if __name__ == "__main__":
    print(json.dumps(main(), indent=2))
