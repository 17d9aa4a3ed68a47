"""The states of the prebuilt agent, and what its own nodes see of a state.

Rules of this file: it declares and derives schemas, and reads values from states of any kind; it runs nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass, replace
from typing import Annotated, Any, NotRequired, get_type_hints

from langchain_core.messages import BaseMessage
from pydantic import BaseModel, create_model
from typing_extensions import TypedDict, deprecated

from stepgraph.channels.ephemeral_value import EphemeralValue
from stepgraph.graph.message import add_messages
from stepgraph.managed.is_last_step import RemainingSteps

StructuredResponse = dict[str, Any] | BaseModel

MODEL_INPUT = "llm_input_messages"
"""What a hook before the model gives to the model alone."""


def _moved(name: str) -> str:
    return f"{name} has been moved to `langchain.agents`. Please update your import to `from langchain.agents import {name}`."


_REPLACED = "{name} has been deprecated in favor of AgentState in `langchain.agents`."


@deprecated(_moved("AgentState"), category=None)
class AgentState(TypedDict):
    """The state of an agent.

    Attributes:
        messages: The conversation.
        remaining_steps: How many steps the recursion limit still allows.
    """

    messages: Annotated[Sequence[BaseMessage], add_messages]
    remaining_steps: NotRequired[RemainingSteps]


@deprecated(_REPLACED.format(name="AgentStatePydantic"), category=None)
class AgentStatePydantic(BaseModel):
    """The state of an agent, as a Pydantic model."""

    messages: Annotated[Sequence[BaseMessage], add_messages]
    remaining_steps: RemainingSteps = 25


@deprecated(_REPLACED.format(name="AgentStateWithStructuredResponse"), category=None)
class AgentStateWithStructuredResponse(AgentState):
    """The state of an agent that ends with an answer in a given shape."""

    structured_response: StructuredResponse


@deprecated(_REPLACED.format(name="AgentStateWithStructuredResponsePydantic"), category=None)
class AgentStateWithStructuredResponsePydantic(AgentStatePydantic):
    """The same as a Pydantic model."""

    structured_response: StructuredResponse


def checked_schema(schema: Any, structured: bool) -> Any:
    """The schema of an agent's state: the given one, or the default.

    Raises:
        ValueError: A field is missing that the agent needs.
    """
    if schema is None:
        return AgentStateWithStructuredResponse if structured else AgentState
    required = {"messages", "remaining_steps"} | ({"structured_response"} if structured else set())
    missing = sorted(required - set(get_type_hints(schema)))
    if missing:
        shown = ", ".join(map(repr, missing))
        raise ValueError(
            f"Missing required key(s) {{{shown}}} in state_schema. Declare them in {getattr(schema, '__name__', schema)!r}, "
            "for example by deriving it from AgentState."
        )
    return schema


def with_model_input(schema: Any) -> Any:
    """The schema that the model's node reads where a hook runs before it: also what the hook gives to the model alone.

    That field lasts for one step, so what a hook gave in an earlier round is never used again.
    """
    name = "CallModelInputSchema"
    extra = Annotated[list[Any], EphemeralValue]
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        fields: Any = {MODEL_INPUT: (extra, [])}
        return create_model(name, __base__=schema, **fields)
    hints = get_type_hints(schema, include_extras=True)
    return TypedDict(name, {**hints, MODEL_INPUT: extra})  # type: ignore[operator]


def value_of(state: Any, key: str, default: Any = None) -> Any:
    """A field of a state of any kind."""
    return state.get(key, default) if isinstance(state, Mapping) else getattr(state, key, default)


def with_messages(state: Any, messages: Any) -> Any:
    """The state with other messages."""
    if isinstance(state, Mapping):
        return {**state, "messages": messages}
    if isinstance(state, BaseModel):
        return state.model_copy(update={"messages": messages})
    if is_dataclass(state) and not isinstance(state, type):
        return replace(state, messages=messages)
    raise TypeError(
        f"An agent's state must be a dict, a dataclass or a Pydantic model, not {type(state).__name__}."
    )
