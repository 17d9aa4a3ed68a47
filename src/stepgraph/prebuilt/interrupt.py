"""The shapes in which an agent asks a person about a tool call, and in which the person answers.

An agent's inbox understands these: `interrupt([HumanInterrupt(...)])` returns a list with one `HumanResponse`.
Agents of LangChain have a shape of their own for this (`HumanInTheLoopMiddleware`).
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict, deprecated

from stepgraph.warnings import LangGraphDeprecatedSinceV10

__all__ = ("ActionRequest", "HumanInterrupt", "HumanInterruptConfig", "HumanResponse")

_ADVICE = "{} is deprecated: LangChain's agents ask by langchain.agents.middleware.HumanInTheLoopMiddleware."


@deprecated(_ADVICE.format("HumanInterruptConfig"), category=LangGraphDeprecatedSinceV10)
class HumanInterruptConfig(TypedDict):
    """What a person may do.

    Attributes:
        allow_ignore: Skip the step.
        allow_respond: Answer in words.
        allow_edit: Change the action's arguments.
        allow_accept: Approve the action as it is.
    """

    allow_ignore: bool
    allow_respond: bool
    allow_edit: bool
    allow_accept: bool


@deprecated(_ADVICE.format("ActionRequest"), category=LangGraphDeprecatedSinceV10)
class ActionRequest(TypedDict):
    """What the agent wants to do.

    Attributes:
        action: The name of the action.
        args: Its arguments.
    """

    action: str
    args: dict[str, Any]


@deprecated(_ADVICE.format("HumanInterrupt"), category=LangGraphDeprecatedSinceV10)
class HumanInterrupt(TypedDict):
    """A question to a person.

    Attributes:
        action_request: What the agent wants to do.
        config: What the person may do.
        description: What the person should know, in words.
    """

    action_request: ActionRequest
    config: HumanInterruptConfig
    description: str | None


class HumanResponse(TypedDict):
    """A person's answer.

    Attributes:
        type: What the person did: `"accept"`, `"ignore"`, `"response"` or `"edit"`.
        args: The words of a `"response"`, the changed `ActionRequest` of an `"edit"`, else None.
    """

    type: Literal["accept", "ignore", "response", "edit"]
    args: str | ActionRequest | None
