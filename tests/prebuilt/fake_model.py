"""A chat model that calls tools by script and otherwise repeats what it was shown."""

from __future__ import annotations

from typing import Any

from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda


class ScriptedModel(BaseChatModel):
    """In its n-th turn of a conversation it makes the calls of `script[n]`; each is a pair of name and arguments.

    `shown` collects what it was shown, `bound` the names of tools that were bound to it. A terse one says nothing.
    """

    script: list[Any] = []
    shown: list[Any] = []
    bound: list[Any] = []
    terse: bool = False

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        self.shown.append([(message.type, message.content) for message in messages])
        turn = sum(message.type == "ai" for message in messages)
        calls = [
            {"name": name, "args": arguments, "id": f"{turn}.{number}", "type": "tool_call"}
            for number, (name, arguments) in enumerate(self.script[turn] if turn < len(self.script) else ())
        ]
        text = "" if self.terse else "-".join(str(message.content) for message in messages)
        answer = AIMessage(text, id=f"ai{turn}", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=answer)])

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        names = [tool.get("type") if isinstance(tool, dict) else tool.name for tool in tools]
        self.bound.append(names)
        return self.bind(
            tools=[{"type": "function", "function": {"name": name}} for name in names], **options
        )

    def with_structured_output(self, schema: Any, **options: Any) -> Any:
        def answer(messages: Any) -> Any:
            self.shown.append([(message.type, message.content) for message in messages])
            return {"answer": "42"} if isinstance(schema, dict) else schema(answer="42")

        return RunnableLambda(answer)
