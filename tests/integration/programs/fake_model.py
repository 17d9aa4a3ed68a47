"""A chat model that says what it was told to say, for programs that need no network."""

from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult


class Script(BaseChatModel):
    """Answers with its messages in turn, the last one again and again; remembers what it was shown."""

    answers: list[Any]
    tag: str = "m"
    shown: list[list[Any]] = []

    @property
    def _llm_type(self) -> str:
        return "script"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        number = len(self.shown)
        self.shown.append(messages)
        answer = self.answers[min(number, len(self.answers) - 1)]
        if isinstance(answer, Exception):
            raise answer
        answer = AIMessage(answer) if isinstance(answer, str) else answer
        message = answer.model_copy(update={"id": f"{self.tag}{number}"})
        return ChatResult(generations=[ChatGeneration(message=message)])

    def bind_tools(self, tools, **kwargs):
        return self


def call(name, id, **arguments):
    return {"name": name, "args": arguments, "id": id, "type": "tool_call"}


def calls(*tool_calls):
    return AIMessage("", tool_calls=list(tool_calls))


def show(messages):
    for message in messages:
        names = [tool_call["name"] for tool_call in getattr(message, "tool_calls", [])]
        print("  ", type(message).__name__, repr(message.content), message.name, names)
