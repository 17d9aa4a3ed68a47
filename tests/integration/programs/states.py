"""States of every kind: typed dicts, dataclasses, Pydantic models, messages; input and output schemas; runnables."""

import operator
from dataclasses import dataclass, field
from typing import Annotated, Literal, Optional

from langchain_core.runnables import RunnableLambda, RunnableParallel
from langgraph.channels import Topic
from langgraph.graph import END, START, StateGraph
from langgraph.managed import IsLastStep, RemainingSteps
from pydantic import BaseModel, ValidationError
from typing_extensions import NotRequired, TypedDict


@dataclass
class Data:
    x: int = 0
    log: Annotated[list[str], operator.add] = field(default_factory=list)


class Model(BaseModel):
    x: int
    kind: Literal["a", "b"] = "a"
    note: Optional[str] = None


class Full(TypedDict):
    x: int
    secret: NotRequired[int]
    seen: Annotated[list[int], Topic(int, accumulate=True)]


class In(TypedDict):
    x: int


class Out(TypedDict):
    seen: list[int]


class Steps(TypedDict):
    x: int
    last: IsLastStep
    left: RemainingSteps


graph = (
    StateGraph(Data).add_node("n", lambda s: {"x": s.x + 1, "log": [type(s).__name__]}).add_edge(START, "n")
)
print(graph.compile().invoke(Data(x=1)), graph.compile().invoke({"x": 2}))

graph = (
    StateGraph(Model)
    .add_node("n", lambda s: {"x": str(s.x + 1)})
    .add_node("m", lambda s: {"note": repr(s.x)})
)
graph = graph.add_edge(START, "n").add_edge("n", "m").compile()
print(graph.invoke({"x": "4"}))
try:
    graph.invoke({"x": "four"})
except ValidationError as error:
    print(error.error_count())

graph = StateGraph(Full, input_schema=In, output_schema=Out)
graph.add_node("n", lambda s: {"secret": s["x"] * 2, "seen": s["x"]})
graph.add_node("m", lambda s: {"seen": s["secret"]})
graph.add_edge(START, "n").add_edge("n", "m").add_edge("m", END)
print(graph.compile().invoke({"x": 3}))
print(sorted(graph.compile().get_input_jsonschema()["properties"]))

graph = StateGraph(Steps).add_node("n", lambda s: {"x": s["left"]}).add_edge(START, "n").compile()
print(graph.invoke({"x": 0}, {"recursion_limit": 9}))

chain = RunnableParallel(x=RunnableLambda(lambda s: s["x"] + 1))
graph = StateGraph(In).add_sequence(
    [("first", chain), ("second", RunnableLambda(lambda s: {"x": s["x"] * 10}))]
)
graph = graph.add_edge(START, "first").compile()
print(graph.invoke({"x": 1}), (graph | RunnableLambda(lambda s: s["x"])).batch([{"x": 1}, {"x": 2}]))
