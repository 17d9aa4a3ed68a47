"""`langgraph-supervisor`: a supervisor with two agents, of both kinds, nested, with a person, streamed."""

import asyncio

from fake_model import Script, call, calls, show
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.types import Command, interrupt
from langgraph_supervisor import create_handoff_tool, create_supervisor
from langgraph_supervisor.handoff import create_forward_message_tool

question = {"messages": [HumanMessage("go", id="h")]}
config = {"configurable": {"thread_id": "1"}}


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
def look(what: str) -> str:
    """Look something up."""
    return f"found {what}"


@tool
def ask(what: str) -> str:
    """Ask a person."""
    return interrupt(what)


def agents(make):
    counter = Script(tag="c", answers=[calls(call("add", "a1", a=1, b=2)), "3"])
    finder = Script(tag="f", answers=[calls(call("look", "l1", what="cats")), "cats found"])
    return [make(counter, [add], name="math_expert"), make(finder, [look], name="researcher")]


def boss(*answers):
    return Script(tag="s", answers=list(answers))


def both_in_turn():
    return boss(
        calls(call("transfer_to_math_expert", "t1")), calls(call("transfer_to_researcher", "t2")), "all done"
    )


for make in (create_agent, create_react_agent):
    for mode in ("full_history", "last_message"):
        print("#", make.__name__, mode)
        team = create_supervisor(agents(make), model=both_in_turn(), prompt="you lead", output_mode=mode)
        app = team.compile(checkpointer=InMemorySaver())
        show(app.invoke(question, config)["messages"])
        print(app.get_state(config).next, len(list(app.get_state_history(config))))
print(app.get_graph().draw_mermaid())

print("# streamed")
app = create_supervisor(agents(create_agent), model=both_in_turn(), add_handoff_back_messages=False).compile()


async def stream():
    async for namespace, chunk in app.astream(question, stream_mode="updates", subgraphs=True):
        sizes = {node: len((update or {}).get("messages", [])) for node, update in chunk.items()}
        print([part.split(":")[0] for part in namespace], sizes)


asyncio.run(stream())

print("# handoffs of one's own, forwarded answers")
model = boss(
    calls(call("to_math", "t1")), calls(call("forward_message", "f", from_agent="math_expert")), "never"
)
tools = [
    create_handoff_tool(agent_name="math_expert", name="to_math"),
    create_forward_message_tool("supervisor"),
]
app = create_supervisor(agents(create_agent)[:1], model=model, tools=tools).compile()
show(app.invoke(question)["messages"])

print("# with a person")
asker = create_agent(
    Script(tag="q", answers=[calls(call("ask", "q1", what="ok?")), "heard"]), [ask], name="asker"
)
app = create_supervisor([asker], model=boss(calls(call("transfer_to_asker", "t1")), "end"))
app = app.compile(checkpointer=InMemorySaver())
print([pause.value for pause in app.invoke(question, config)["__interrupt__"]])
show(app.invoke(Command(resume="yes"), config)["messages"])

print("# nested")
inner = create_supervisor(
    agents(create_agent),
    model=Script(tag="i", answers=[calls(call("transfer_to_math_expert", "t1")), "inner done"]),
    supervisor_name="inner_boss",
).compile(name="inner")
outer = create_supervisor([inner], model=boss(calls(call("transfer_to_inner", "t9")), "outer done")).compile()
show(outer.invoke(question)["messages"])
