"""Retrieval with a router, a grader and a retry: conditional edges, literals, loops, a recursion limit."""

from typing import Literal

from fake_model import Script
from langchain_core.documents import Document
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langgraph.errors import GraphRecursionError
from langgraph.graph import END, START, StateGraph
from typing_extensions import TypedDict

LIBRARY = {"cats": ["cats purr", "cats sleep"], "dogs": ["dogs bark"]}


class State(TypedDict, total=False):
    question: str
    documents: list[Document]
    tries: int
    answer: str


model = Script(answers=["they purr"])
chain = (
    ChatPromptTemplate.from_template("{question} given {context}")
    | model
    | RunnableLambda(lambda m: m.content)
)


def route(state: State) -> Literal["retrieve", "search_web"]:
    return "search_web" if "today" in state["question"] else "retrieve"


def retrieve(state: State) -> State:
    found = [Document(text) for key, texts in LIBRARY.items() if key in state["question"] for text in texts]
    return {"documents": found}


def search_web(state: State) -> State:
    return {"documents": [Document("web: " + state["question"])]}


def rewrite(state: State) -> State:
    return {"question": state["question"] + " cats", "tries": state.get("tries", 0) + 1}


def grade(state: State) -> str:
    return "useful" if state["documents"] else "useless"


def generate(state: State) -> State:
    context = "; ".join(document.page_content for document in state["documents"])
    return {"answer": chain.invoke({"question": state["question"], "context": context})}


builder = StateGraph(State)
for node in (retrieve, search_web, rewrite, generate):
    builder.add_node(node)
builder.add_conditional_edges(START, route)
builder.add_conditional_edges("retrieve", grade, {"useful": "generate", "useless": "rewrite"})
builder.add_edge("search_web", "generate")
builder.add_edge("rewrite", "retrieve")
builder.add_edge("generate", END)
graph = builder.compile()

for question in ("what do cats do?", "what is on today?", "and these?"):
    print(graph.invoke({"question": question}))
for chunk in graph.stream({"question": "and these?"}, stream_mode="updates"):
    print(chunk)
print([m.content for m in model.shown[0]])
try:
    graph.invoke({"question": "x"}, {"recursion_limit": 2})
except GraphRecursionError as error:
    print(type(error).__name__)
print(graph.get_graph().draw_mermaid())
