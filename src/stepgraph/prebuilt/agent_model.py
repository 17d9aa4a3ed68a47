"""What the model of an agent is, which tools it knows, and what it is shown.

Rules of this file: it prepares; the call itself stands in `agent_nodes.py`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from operator import is_
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableBinding, RunnableSequence

from stepgraph.errors import ErrorCode
from stepgraph.prebuilt.agent_states import value_of
from stepgraph.prebuilt.tool_adapter import run_coroutine
from stepgraph.pregel.call import bind_path, is_async_callable
from stepgraph.pregel.task import current_task
from stepgraph.values.runtime import Runtime


class ModelChoice:
    """The model of an agent: one and the same, or chosen call by call.

    Args:
        model: A chat model, its name, or a function `(state, runtime)` that answers one with its tools bound to it.
        tools: The tools to bind to a model that is always the same.

    Raises:
        ImportError: The model is named by a text, and the package that reads such names is missing.
        TypeError: It is no model.
        ValueError: Other tools are bound to it.
    """

    __slots__ = ("_choose", "_choose_async", "_model")

    def __init__(self, model: Any, tools: Sequence[Any]) -> None:
        self._model: Any = None
        self._choose: Callable[..., Any] | None = None
        self._choose_async: Callable[..., Awaitable[Any]] | None = None
        if not callable(model) or isinstance(model, Runnable):
            self._model = static_model(model, tools)
        elif is_async_callable(model):
            self._choose_async = model
        else:
            self._choose = model

    def __call__(self, state: Any) -> Any:
        """The model for this state."""
        if self._model is not None:
            return self._model
        runtime = _runtime()
        if self._choose is not None:
            return _chosen(self._choose(state, runtime))
        choose: Any = self._choose_async
        return _chosen(run_coroutine(lambda: choose(state, runtime)))

    async def acall(self, state: Any) -> Any:
        """The same, asynchronously."""
        if self._choose_async is None:
            return self(state)
        return _chosen(await self._choose_async(state, _runtime()))


def _runtime() -> Any:
    task = current_task()
    return Runtime() if task is None else task.runtime


def _chosen(model: Any) -> Any:
    if isinstance(model, Runnable):
        return model
    raise TypeError(
        f"The function that chooses the agent's model answered {model!r} of type {type(model).__name__}. It must answer a "
        "chat model, with tools bound to it if it is to call any."
    )


def static_model(model: Any, tools: Sequence[Any]) -> Any:
    """The model with the tools bound to it, unless they are bound already; see `ModelChoice` for what it raises."""
    if isinstance(model, str):
        model = _named_model(model)
    if not isinstance(model, Runnable):
        raise TypeError(
            f"Expected a chat model, its name, or a function that answers one; got {model!r} of type {type(model).__name__}."
        )
    if not should_bind_tools(model, tools):
        return model
    if isinstance(model, RunnableBinding) and hasattr(model.bound, "bind_tools"):
        return model.model_copy(update={"bound": model.bound.bind_tools(tools)})
    return model.bind_tools(tools)  # type: ignore[attr-defined]


def _named_model(name: str) -> Any:
    try:
        from langchain.chat_models import init_chat_model  # type: ignore[import-not-found,unused-ignore]
    except ImportError as error:
        raise ImportError(
            "Please install langchain (`pip install langchain`) to use '<provider>:<model>' string syntax for `model` "
            "parameter."
        ) from error
    return init_chat_model(name)


def should_bind_tools(model: Any, tools: Sequence[Any]) -> bool:
    """Whether the tools must still be bound to the model.

    Raises:
        ValueError: Other tools are bound to it.
    """
    if not tools:
        return False
    if isinstance(model, RunnableSequence):
        model = next(
            (step for step in model.steps if isinstance(step, (RunnableBinding, BaseChatModel))), model
        )
    bound = model.kwargs.get("tools") if isinstance(model, RunnableBinding) else None
    if bound is None:
        return True
    if len(bound) != len(tools):
        raise ValueError(
            "Number of tools in the model.bind_tools() and tools passed to create_react_agent must match Got "
            f"{len(tools)} tools, expected {len(bound)}"
        )
    missing = {tool.name for tool in tools if not isinstance(tool, dict)} - set(map(_bound_name, bound))
    if missing:
        raise ValueError(f"Missing tools '{missing}' in the model.bind_tools()")
    return False


def _bound_name(tool: Any) -> str | None:
    """The name of a bound tool, in any provider's form."""
    if not isinstance(tool, dict):
        return getattr(tool, "name", None)
    for shape in ("function", "toolSpec"):
        if isinstance(tool.get(shape), dict):
            return str(tool[shape].get("name"))
    return tool.get("name")


def chat_model_of(model: Any) -> Any:
    """The chat model inside bindings and sequences."""
    while not isinstance(model, BaseChatModel):
        if isinstance(model, RunnableSequence):
            model = next(
                (step for step in model.steps if isinstance(step, (RunnableBinding, BaseChatModel))), None
            )
        elif isinstance(model, RunnableBinding):
            model = model.bound
        else:
            break
        if model is None:
            break
    if not hasattr(model, "with_structured_output"):
        raise TypeError(
            f"response_format needs a chat model with with_structured_output(); {model!r} has none."
        )
    return model


class Prompt:
    """Turns the state into what the model is shown.

    Args:
        prompt: None: the messages; a text or `SystemMessage`: that, and the messages; a function of the state (config,
            store, runtime are injected by name), or a runnable: what it answers.

    Raises:
        ValueError: It is none of these.
    """

    __slots__ = ("_answer", "_answer_async", "_system")

    def __init__(self, prompt: Any) -> None:
        self._system: SystemMessage | None = None
        self._answer: Callable[..., Any] | None = None
        self._answer_async: Callable[..., Awaitable[Any]] | None = None
        if isinstance(prompt, str):
            self._system = SystemMessage(content=prompt)
        elif isinstance(prompt, SystemMessage):
            self._system = prompt
        elif callable(prompt) or isinstance(prompt, Runnable):
            self._answer, self._answer_async = bind_path(prompt)
        elif prompt is not None:
            raise ValueError(f"Got unexpected type for `prompt`: {type(prompt)}")

    def __call__(self, state: Any) -> Any:
        """What the model is shown."""
        if self._answer is not None:
            return self._answer(state, current_task())
        if self._answer_async is not None:
            answer: Any = self._answer_async
            return run_coroutine(lambda: answer(state, current_task()))
        return self._with_system(value_of(state, "messages"))

    async def acall(self, state: Any) -> Any:
        """The same, asynchronously."""
        if self._answer_async is not None:
            return await self._answer_async(state, current_task())
        return self(state)

    def _with_system(self, messages: Any) -> Any:
        return messages if self._system is None else [self._system, *messages]


def validate_history(messages: Sequence[Any], memo: dict[str, Any] | None = None) -> None:
    """Check that every tool call in a conversation is answered.

    Args:
        messages: The conversation.
        memo: What is known from an earlier turn of the same run: what was looked at then is not looked at again. While
            this looks, nobody else finds it there.

    Raises:
        ValueError: One is not; providers refuse such a conversation.
    """
    checked: tuple[list[Any], set[Any]] | None = None if memo is None else memo.pop("history", None)
    known, answered = checked or ([], set())
    if len(known) > len(messages) or not all(map(is_, known, messages)):
        known, answered = [], set()
    asked: list[Any] = []
    added = messages[len(known) :]
    for message in added:
        kind = type(
            message
        )  # Pydantic's isinstance is slow, and this looks at the whole conversation in every turn.
        if kind is ToolMessage:
            answered.add(message.tool_call_id)
        elif kind is AIMessage:
            asked += message.tool_calls
        elif kind is HumanMessage or kind is SystemMessage:
            continue
        elif isinstance(message, AIMessage):
            asked += message.tool_calls
        elif isinstance(message, ToolMessage):
            answered.add(message.tool_call_id)
    open_calls = [call for call in asked if call["id"] not in answered]
    if open_calls:
        raise ValueError(
            "Found AIMessages with tool_calls that do not have a corresponding ToolMessage. Here are the first few of those "
            f"tool calls: {open_calls[:3]}.\n\nEvery tool call (LLM requesting to call a tool) in the message "
            "history MUST have a corresponding ToolMessage (result of a tool invocation to return to the LLM) - this is "
            f"required by most LLM providers. [{ErrorCode.INVALID_CHAT_HISTORY.value}]"
        )
    if memo is not None:
        known.extend(added)
        memo["history"] = known, answered
