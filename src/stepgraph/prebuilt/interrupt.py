"""The shapes in which an agent asks a person about a tool call, and in which the person answers.

An agent's inbox understands these: `interrupt([HumanInterrupt(...)])` returns a list with one `HumanResponse`.
"""

from __future__ import annotations

from typing import Any, Literal

from typing_extensions import TypedDict

__all__ = ("ActionRequest", "HumanInterrupt", "HumanInterruptConfig", "HumanResponse")


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


class ActionRequest(TypedDict):
    """What the agent wants to do.

    Attributes:
        action: The name of the action.
        args: Its arguments.
    """

    action: str
    args: dict[str, Any]


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
