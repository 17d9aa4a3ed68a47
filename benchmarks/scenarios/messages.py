"""Conversations: a tool loop of plain nodes (`react`), the ready-made agent (`agent`), a growing list (`grow`).

The messages are LangChain's, as both engines handle those; the hand-written loop of `react/hand` makes the same ones.
"""

from __future__ import annotations

import warnings
from itertools import count
from typing import Annotated, Any

from benchmarks.engine import Engine, config, schema
from benchmarks.kinds import Bench, ByHand, Program, Race, Scenario
from benchmarks.scenarios.loops import threads

CALLS = 100
MESSAGES = 1000


def conversation(engine: Engine) -> Any:
    return schema("Conversation", {"messages": Annotated[list[Any], engine.add_messages]})


def contents(result: Any) -> list[tuple[str, str]]:
    """What two engines share of a conversation: ids that they made themselves differ."""
    return [(message.type, message.content) for message in result["messages"]]


# ---------------------------------------------------------------- react


def tool_loop(calls: int) -> tuple[Any, Any, Any]:
    """The model node, the tool node and the branch between them."""
    from langchain_core.messages import AIMessage, ToolMessage

    def model(state: Any) -> dict[str, Any]:
        turn = len(state["messages"]) // 2
        if turn >= calls:
            return {"messages": [AIMessage("done", id="last")]}
        call = {"name": "look_up", "args": {"turn": turn}, "id": f"call {turn}", "type": "tool_call"}
        return {"messages": [AIMessage("", tool_calls=[call], id=f"ai {turn}")]}

    def tool(state: Any) -> dict[str, Any]:
        call = state["messages"][-1].tool_calls[0]
        answer = ToolMessage(
            f"result {call['args']['turn']}", tool_call_id=call["id"], id=f"tool {call['id']}"
        )
        return {"messages": [answer]}

    def wants_tool(state: Any) -> str:
        return "tool" if state["messages"][-1].tool_calls else "__end__"

    return model, tool, wants_tool


def question() -> Any:
    from langchain_core.messages import HumanMessage

    return HumanMessage("What is it?", id="question")


def react(bench: Bench, engine: Engine, saver: bool = False) -> Program:
    calls = bench.count(CALLS)
    model, tool, wants_tool = tool_loop(calls)
    graph = engine.StateGraph(conversation(engine))
    graph.add_node("model", model)
    graph.add_node("tool", tool)
    graph.add_edge(engine.START, "model")
    graph.add_conditional_edges("model", wants_tool, ["tool", engine.END])
    graph.add_edge("tool", "model")
    compiled = graph.compile(checkpointer=engine.InMemorySaver() if saver else None)
    given = {"messages": [question()]}
    fresh = threads()
    return Program(
        lambda: compiled.invoke(given, config(next(fresh) if saver else None)), contents, units=calls
    )


def react_saver(bench: Bench, engine: Engine) -> Program:
    return react(bench, engine, saver=True)


def react_by_hand(bench: Bench, engine: Engine) -> Program:
    calls = bench.count(CALLS)
    model, tool, wants_tool = tool_loop(calls)

    def run() -> Any:
        state: Any = {"messages": [question()]}
        while True:
            state = {"messages": state["messages"] + model(state)["messages"]}
            if wants_tool(state) == "__end__":
                return state
            state = {"messages": state["messages"] + tool(state)["messages"]}

    return Program(run, contents, units=calls)


# ---------------------------------------------------------------- agent


def look_up(turn: int) -> str:
    """Look something up."""
    return f"result {turn}"


look_up.__annotations__ = {"turn": int, "return": str}
"""Not as text, which LangChain would evaluate anew in every call, on both sides."""


def fake_model(calls: int) -> Any:
    """The least that an agent takes for a model: it asks for the tool `calls` times and then answers.

    No chat model of LangChain's: what those do around an answer is the same on both sides and would hide the engine.
    """
    from langchain_core.messages import AIMessage
    from langchain_core.runnables import Runnable

    class FakeModel(Runnable):  # type: ignore[misc]
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
            turn = len(input) // 2
            if turn >= calls:
                return AIMessage("done")
            call = {"name": "look_up", "args": {"turn": turn}, "id": f"call {turn}", "type": "tool_call"}
            return AIMessage("", tool_calls=[call])

    return FakeModel()


def agent(calls: int) -> Any:
    def build(bench: Bench, engine: Engine) -> Program:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = engine.create_react_agent(fake_model(calls), [look_up])
        return Program(lambda: compiled.invoke({"messages": [question()]}, config()), contents, units=calls)

    return build


# ---------------------------------------------------------------- grow


def grow(bench: Bench, engine: Engine, saver: bool = False) -> Program:
    from langchain_core.messages import HumanMessage

    messages = bench.count(MESSAGES)
    text = "x" * 500
    number = count()

    def append(state: Any) -> dict[str, Any]:
        return {"messages": [HumanMessage(text, id=f"message {next(number)}")]}

    def enough(state: Any) -> str:
        return "append" if len(state["messages"]) < messages else "__end__"

    graph = engine.StateGraph(conversation(engine))
    graph.add_node("append", append)
    graph.add_edge(engine.START, "append")
    graph.add_conditional_edges("append", enough, ["append", engine.END])
    compiled = graph.compile(checkpointer=engine.InMemorySaver() if saver else None)
    fresh = threads()

    def run() -> Any:
        if saver:
            thread = next(fresh)
            try:
                return compiled.invoke({"messages": []}, config(thread))
            finally:
                compiled.checkpointer.delete_thread(thread)
        return compiled.invoke({"messages": []}, config())

    return Program(run, contents, units=messages)


def grow_saver(bench: Bench, engine: Engine) -> Program:
    return grow(bench, engine, saver=True)


SCENARIOS: list[Scenario] = [
    Race("react", react, 18, 31),
    ByHand("react/hand", react, react_by_hand, 3, 1.8, needs="langchain_core"),
    Race("react-saver", react_saver, 8, 15),
    Race("agent-10", agent(10), 7, 9),
    Race("agent-100", agent(100), 35, 43),
    Race("grow", grow, 40, 74),
    Race("grow-saver", grow_saver, 20, 38),
]
