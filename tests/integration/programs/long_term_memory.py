"""Memory across threads: a store with search, reached from nodes and tools, namespaces by user."""

import uuid
from dataclasses import dataclass

from fake_model import Script, show
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime, get_runtime
from langgraph.store.base import BaseStore
from langgraph.store.memory import InMemoryStore


@dataclass
class Context:
    user: str = "nobody"


def embed(texts):
    words = ["cat", "dog", "pizza", "name"]
    return [[float(text.lower().count(word)) + 0.01 for word in words] for text in texts]


store = InMemoryStore(index={"embed": embed, "dims": 4, "fields": ["text"]})
model = Script(answers=["noted", "you like pizza"])


def remember(state: MessagesState, config: RunnableConfig, *, store: BaseStore):
    user = config["configurable"]["user"]
    store.put(("memories", user), str(uuid.uuid4()), {"text": state["messages"][-1].content})
    return {}


def answer(state: MessagesState, runtime: Runtime[Context]):
    assert runtime.store is get_store()
    found = runtime.store.search(
        ("memories", runtime.context.user), query=state["messages"][-1].content, limit=1
    )
    notes = "; ".join(item.value["text"] for item in found)
    print(get_runtime().context, "knows", notes)
    return {"messages": [model.invoke([SystemMessage(notes), *state["messages"]])]}


builder = StateGraph(MessagesState, context_schema=Context)
builder.add_node(remember).add_node(answer).add_edge(START, "remember").add_edge("remember", "answer")
graph = builder.compile(checkpointer=InMemorySaver(), store=store)
for thread, text in (("1", "my favourite is pizza"), ("2", "which pizza?")):
    config = {"configurable": {"thread_id": thread, "user": "ann"}}
    show(
        graph.invoke({"messages": [HumanMessage(text, id=thread)]}, config, context=Context(user="ann"))[
            "messages"
        ]
    )
print(sorted(item.value["text"] for item in store.search(("memories",))))
print(store.list_namespaces(), store.search(("memories", "bob")))
store.put(("profile",), "ann", {"age": 30, "tags": ["a"]})
print(store.get(("profile",), "ann").value, store.get(("profile",), "bob"))
print([item.key for item in store.search(("profile",), filter={"age": {"$gte": 30}})])
