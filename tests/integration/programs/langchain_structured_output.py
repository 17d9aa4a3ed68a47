"""LangChain agents that answer in a given shape: by a tool, by the provider, with errors that are mended."""

from dataclasses import dataclass
from typing import Union

from fake_model import Script, call, calls, show
from langchain.agents import create_agent
from langchain.agents.structured_output import ProviderStrategy, ToolStrategy
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool
from pydantic import BaseModel
from typing_extensions import TypedDict

question = {"messages": [HumanMessage("weather?", id="h")]}


class Weather(BaseModel):
    city: str
    degrees: int


@dataclass
class Place:
    place: str


class Shape(TypedDict):
    form: str


@tool
def look(city: str) -> str:
    """Look at the sky."""
    return "blue"


def ask(answers, response_format):
    agent = create_agent(Script(answers=answers), [look], response_format=response_format)
    result = agent.invoke(question)
    show(result["messages"])
    print(repr(result["structured_response"]))


rome = calls(call("Weather", "2", city="Rome", degrees=30))
ask([calls(call("look", "1", city="Rome")), rome], ToolStrategy(Weather))
ask([calls(call("Weather", "1", city="Rome")), rome], ToolStrategy(Weather))
ask([calls(call("Place", "1", place="Rome"))], ToolStrategy(Union[Weather, Place]))
ask([calls(call("Shape", "1", form="round"))], ToolStrategy(Shape, tool_message_content="noted"))
ask(['{"city": "Oslo", "degrees": -3}'], ProviderStrategy(Weather))
ask([rome], Weather)
try:
    ask([calls(call("Weather", "1", city="Rome"))], ToolStrategy(Weather, handle_errors=False))
except Exception as error:
    print(type(error).__name__)
