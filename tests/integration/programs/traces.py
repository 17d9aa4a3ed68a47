"""`openinference-instrumentation-langchain`: OpenTelemetry spans of an agent, its nodes, models and tools, nested."""

import asyncio

from fake_model import Script, call, calls
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from openinference.instrumentation.langchain import LangChainInstrumentor
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
LangChainInstrumentor().instrument(tracer_provider=provider)


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def told():
    spans = exporter.get_finished_spans()
    names = {span.context.span_id: span.name for span in spans}
    for span in spans:
        kind = span.attributes.get("openinference.span.kind")
        print(span.name, kind, span.parent and names[span.parent.span_id], span.status.status_code.name)
    exporter.clear()


question = {"messages": [HumanMessage("hi", id="h")]}
answers = [calls(call("add", "1", a=1, b=2)), "three"]
create_agent(Script(answers=answers), [add], name="calculator").invoke(question)
told()
asyncio.run(create_agent(Script(answers=answers), [add], name="calculator").ainvoke(question))
told()


def fails(state: MessagesState):
    raise ValueError("no")


inner = StateGraph(MessagesState).add_node(fails).add_edge(START, "fails").compile(name="inner")
outer = StateGraph(MessagesState).add_node("inner", inner).add_edge(START, "inner").compile(name="outer")
try:
    outer.invoke(question)
except ValueError:
    told()
