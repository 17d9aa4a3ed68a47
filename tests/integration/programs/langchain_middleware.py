"""LangChain's middlewares for agents: limits, summaries, lists of tasks, privacy, retries, fallbacks, one's own."""

import asyncio

from fake_model import Script, call, calls, show
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    LLMToolEmulator,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    PIIMiddleware,
    SummarizationMiddleware,
    TodoListMiddleware,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
    after_model,
    before_model,
    dynamic_prompt,
    wrap_model_call,
    wrap_tool_call,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

question = {"messages": [HumanMessage("hi", id="h")]}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def title(text):
    print("#", text)


forever = [calls(call("add", "1", a=1, b=2))]
title("model call limit")
agent = create_agent(Script(answers=forever), [add], middleware=[ModelCallLimitMiddleware(run_limit=2)])
show(agent.invoke(question)["messages"])
limit = ModelCallLimitMiddleware(thread_limit=1, exit_behavior="error")
agent = create_agent(Script(answers=forever), [add], middleware=[limit], checkpointer=InMemorySaver())
try:
    agent.invoke(question, {"configurable": {"thread_id": "1"}})
except Exception as error:
    print(type(error).__name__, error)

title("tool call limit")
answers = [*forever, calls(call("add", "2", a=1, b=2)), "end"]
agent = create_agent(Script(answers=answers), [add], middleware=[ToolCallLimitMiddleware(run_limit=1)])
show(agent.invoke(question)["messages"])

title("summarization")
summary = SummarizationMiddleware(Script(answers=["SUMMARY"]), trigger=("messages", 4), keep=("messages", 2))
agent = create_agent(Script(answers=["ok"]), [], middleware=[summary], checkpointer=InMemorySaver())
for number in range(4):
    result = agent.invoke({"messages": [HumanMessage(f"q{number}")]}, {"configurable": {"thread_id": "1"}})
show(result["messages"])

title("todo list")
todos = [{"content": "a", "status": "pending"}]
agent = create_agent(
    Script(answers=[calls(call("write_todos", "1", todos=todos)), "ok"]),
    [],
    middleware=[TodoListMiddleware()],
)
result = agent.invoke(question)
show(result["messages"])
print(result["todos"])

title("privacy")
private = PIIMiddleware("email", strategy="redact", apply_to_output=True)
agent = create_agent(Script(answers=["mail me at a@b.com"]), [], middleware=[private])
show(agent.invoke({"messages": [HumanMessage("I am x@y.org", id="h")]})["messages"])

title("fallback and retries")
fallback = ModelFallbackMiddleware(Script(answers=["fallback"]))
agent = create_agent(Script(answers=[ValueError("broken")]), [], middleware=[fallback])
show(agent.invoke(question)["messages"])
retry = ModelRetryMiddleware(max_retries=2, initial_delay=0.0, jitter=False)
agent = create_agent(Script(answers=[ValueError("broken"), "second time"]), [], middleware=[retry])
show(agent.invoke(question)["messages"])
tries = []


@tool
def flaky(a: int) -> int:
    """Fails twice."""
    tries.append(a)
    if len(tries) < 3:
        raise ValueError("again")
    return a


retry = ToolRetryMiddleware(max_retries=3, initial_delay=0.0, jitter=False)
agent = create_agent(Script(answers=[calls(call("flaky", "1", a=1)), "ok"]), [flaky], middleware=[retry])
show(agent.invoke(question)["messages"])
print(tries)

title("context editing, emulated tools")
edit = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0)])
model = Script(answers=[*forever, "ok"])
agent = create_agent(model, [add], middleware=[edit])
show(agent.invoke(question)["messages"])
print([message.content for message in model.shown[-1]])
emulator = LLMToolEmulator(tools=["add"], model=Script(answers=["emulated"]))
agent = create_agent(Script(answers=[*forever, "ok"]), [add], middleware=[emulator])
show(agent.invoke(question)["messages"])

title("hooks of one's own")
log = []


class Hooks(AgentMiddleware):
    tools = [add]

    def before_agent(self, state, runtime):
        log.append("before agent")

    def before_model(self, state, runtime):
        log.append("before model")

    def after_model(self, state, runtime):
        log.append("after model")

    def after_agent(self, state, runtime):
        log.append("after agent")

    def wrap_model_call(self, request, handler):
        log.append("around model")
        return handler(request)

    async def awrap_model_call(self, request, handler):
        log.append("async around model")
        return await handler(request)

    def wrap_tool_call(self, request, handler):
        log.append(f"around {request.tool_call['name']}")
        return handler(request)

    async def awrap_tool_call(self, request, handler):
        log.append(f"async around {request.tool_call['name']}")
        return await handler(request)


@before_model(can_jump_to=["end"])
def stop(state, runtime):
    if len(state["messages"]) > 3:
        return {"jump_to": "end", "messages": [AIMessage("stopped")]}


@after_model
def after(state, runtime):
    log.append("after")


@dynamic_prompt
def prompt(request):
    return f"You are {request.runtime.context['name']}"


@wrap_model_call
def swap(request, handler):
    return handler(request.override(messages=request.messages[-1:]))


@wrap_tool_call
def shout(request, handler):
    answer = handler(request)
    return ToolMessage(f"{answer.content}!", tool_call_id=request.tool_call["id"], name="add")


model = Script(answers=forever)
agent = create_agent(model, [], middleware=[Hooks(), stop, after, prompt, swap, shout], context_schema=dict)
show(agent.invoke(question, context={"name": "Max"})["messages"])
print(log)
print([[message.content for message in messages] for messages in model.shown])
print(agent.get_graph().draw_mermaid())
log.clear()
agent = create_agent(Script(answers=[*forever, "end"]), [], middleware=[Hooks()])
show(asyncio.run(agent.ainvoke(question))["messages"])
print(log)
