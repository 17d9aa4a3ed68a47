"""The nodes of the prebuilt agent, and the paths between them.

Every node has a sync and an async form with the same steps; what is the same in both is written once, around the one
line that waits for the model.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, SystemMessage, ToolMessage

from stepgraph.prebuilt.agent_model import ModelChoice, Prompt, chat_model_of, validate_history
from stepgraph.prebuilt.agent_states import MODEL_INPUT, value_of, with_messages
from stepgraph.pregel.task import current_task
from stepgraph.values.commands import Send
from stepgraph.values.names import END

TOO_FEW_STEPS = "Sorry, need more steps to process this request."

AGENT = "agent"
TOOLS = "tools"
STRUCTURED = "generate_structured_response"
HISTORY = "history of the model's conversation"
"""Where a run keeps which messages were checked; no field has such a name."""
BEFORE_MODEL = "pre_model_hook"
AFTER_MODEL = "post_model_hook"


class CallModel:
    """The node that shows the model the conversation and adds what it answers.

    Args:
        model: The model.
        prompt: What it is shown.
        name: The agent's name, given to its messages.
        hooked: Whether a hook before the model may give it other messages.
    """

    def __init__(self, model: ModelChoice, prompt: Prompt, name: str | None, hooked: bool) -> None:
        self._model = model
        self._prompt = prompt
        self._name = name
        self._hooked = hooked

    def invoke(self, state: Any, config: Any = None) -> dict[str, Any]:
        """Call the model."""
        state = self._input(state)
        return self._output(state, self._model(state).invoke(self._prompt(state), config))

    async def ainvoke(self, state: Any, config: Any = None) -> dict[str, Any]:
        """The same, asynchronously."""
        state = self._input(state)
        model = await self._model.acall(state)
        return self._output(state, await model.ainvoke(await self._prompt.acall(state), config))

    def _input(self, state: Any) -> Any:
        messages = value_of(state, MODEL_INPUT) if self._hooked else None
        if messages:
            state = with_messages(state, messages)
        else:
            messages = value_of(state, "messages")
        if messages is None:
            raise ValueError(f"Expected input to the agent to have messages, but got {state}.")
        task = current_task()
        validate_history(messages, None if task is None else task.machine.memo(HISTORY))
        return state

    def _output(self, state: Any, answer: Any) -> dict[str, Any]:
        if self._name is not None:
            answer.name = self._name
        calls = getattr(answer, "tool_calls", None)
        if calls:
            remaining = value_of(state, "remaining_steps")
            if remaining is not None and remaining < 2:
                answer = AIMessage(TOO_FEW_STEPS, id=answer.id)
        return {"messages": [answer]}


class StructuredAnswer:
    """The last node of an agent that must end with an answer in a given shape.

    Args:
        model: The model.
        response_format: The shape (a class or a JSON schema), or a pair of an instruction and the shape.
    """

    def __init__(self, model: ModelChoice, response_format: Any) -> None:
        self._model = model
        self._instruction: str | None = None
        if isinstance(response_format, tuple):
            self._instruction, response_format = response_format
        self._shape = response_format

    def invoke(self, state: Any, config: Any = None) -> dict[str, Any]:
        """Ask the model for the answer."""
        shaped = chat_model_of(self._model(state)).with_structured_output(self._shape)
        return {"structured_response": shaped.invoke(self._messages(state), config)}

    async def ainvoke(self, state: Any, config: Any = None) -> dict[str, Any]:
        """The same, asynchronously."""
        shaped = chat_model_of(await self._model.acall(state)).with_structured_output(self._shape)
        return {"structured_response": await shaped.ainvoke(self._messages(state), config)}

    def _messages(self, state: Any) -> Any:
        messages = value_of(state, "messages")
        return (
            messages if self._instruction is None else [SystemMessage(content=self._instruction), *messages]
        )


class AfterModel:
    """The path after the model, or after the hook behind it: to the tools, on to the end, or back to the model.

    Args:
        each: Whether every call is a task of its own.
        hooked: Whether a hook ran, which may have answered calls itself.
        entry: Where a round begins.
        end: Where the agent goes when nothing is left to do.
    """

    def __init__(self, each: bool, hooked: bool, entry: str, end: str) -> None:
        self.__name__ = "post_model_hook_router" if hooked else "should_continue"
        self._each = each
        self._hooked = hooked
        self.entry = entry
        self.end = end

    def __call__(self, state: Any) -> str | list[Send]:
        messages = value_of(state, "messages")
        if not self._hooked:
            calls = getattr(messages[-1], "tool_calls", None)
            if not calls:
                return self.end
            return self._sends(calls) if self._each else TOOLS
        pending = pending_calls(messages)
        if pending:
            return self._sends(pending)
        return self.entry if isinstance(messages[-1], ToolMessage) else self.end

    def _sends(self, calls: Sequence[Any]) -> list[Send]:
        """The state is not sent along: the tools' node reads the graph's, so that nothing of it is stored twice."""
        marked = [{**call, "type": "tool_call"} for call in calls]
        return [Send(TOOLS, [call]) for call in marked] if self._each else [Send(TOOLS, marked)]


class AfterTools:
    """The path after the tools: to the end if one of them returns directly, else back to the model.

    Args:
        direct: The tools whose result is the agent's answer.
        entry: Where a round begins.
    """

    __name__ = "route_tool_responses"

    def __init__(self, direct: frozenset[str], entry: str) -> None:
        self._direct = direct
        self._entry = entry

    def __call__(self, state: Any) -> str:
        for message in reversed(value_of(state, "messages")):
            if isinstance(message, ToolMessage):
                if message.name in self._direct:
                    return END
            elif isinstance(message, AIMessage):
                return (
                    END if any(call["name"] in self._direct for call in message.tool_calls) else self._entry
                )
            else:
                break
        return self._entry


def pending_calls(messages: Sequence[Any]) -> list[Any]:
    """The calls of the model's last message that are not answered yet."""
    answered = set()
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
        elif isinstance(message, AIMessage):
            return [call for call in message.tool_calls if call["id"] not in answered]
    return []
