"""`langmem`: tools that manage and search memories in a store, from a node and from an agent."""

from fake_model import Script, call, calls, show
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent
from langgraph.store.memory import InMemoryStore
from langmem import create_manage_memory_tool, create_search_memory_tool

store = InMemoryStore()
tools = [
    create_manage_memory_tool(namespace=("memories", "{user}")),
    create_search_memory_tool(namespace=("memories", "{user}")),
]
model = Script(
    answers=[
        calls(call("manage_memory", "1", content="likes tea", action="create")),
        calls(call("search_memory", "2", query="tea")),
        "noted",
    ]
)
agent = create_react_agent(model, tools, store=store, checkpointer=InMemorySaver())
result = agent.invoke(
    {"messages": [HumanMessage("tea!", id="h")]}, {"configurable": {"thread_id": "1", "user": "ann"}}
)
print([type(m).__name__ for m in result["messages"]], "likes tea" in result["messages"][-2].content)
print([(item.namespace, item.value) for item in store.search(())])
