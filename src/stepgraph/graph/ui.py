"""Messages to a front end that shows components: a list as state, and pushing to it from inside a node.

A UI message names a component and its properties. It reaches whoever streams `custom` at once, and the state through
the reducer `ui_message_reducer`, which appends, replaces or merges by id, and removes. Everything here is plain dicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

from typing_extensions import TypedDict

from stepgraph.graph.message_forms import new_message_id
from stepgraph.pregel.config import writer_of
from stepgraph.pregel.results import report_unknown_keys
from stepgraph.pregel.task import Task, current_task

if TYPE_CHECKING:
    from langchain_core.messages import AnyMessage  # type: ignore[import-not-found,unused-ignore]

__all__ = (
    "AnyUIMessage",
    "RemoveUIMessage",
    "UIMessage",
    "delete_ui_message",
    "push_ui_message",
    "ui_message_reducer",
)


class UIMessage(TypedDict):
    """A component to show.

    Attributes:
        type: Always `"ui"`.
        id: Its id; a later message with the same id takes its place.
        name: The component.
        props: The component's properties.
        metadata: `merge` (properties are merged into those of the message that is replaced), `run_id`, `tags`, `name`,
            `message_id` (the chat message that it belongs to).
    """

    type: Literal["ui"]
    id: str
    name: str
    props: dict[str, Any]
    metadata: dict[str, Any]


class RemoveUIMessage(TypedDict):
    """A component to remove.

    Attributes:
        type: Always `"remove-ui"`.
        id: The message to remove.
    """

    type: Literal["remove-ui"]
    id: str


AnyUIMessage: TypeAlias = UIMessage | RemoveUIMessage


def push_ui_message(
    name: str,
    props: dict[str, Any],
    *,
    id: str | None = None,
    metadata: dict[str, Any] | None = None,
    message: AnyMessage | None = None,
    state_key: str | None = "ui",
    merge: bool = False,
) -> UIMessage:
    """From inside a node: show a component, now, and keep it in the state.

    Args:
        name: The component.
        props: Its properties.
        id: The message's id, a random one by default; that of an earlier message replaces it.
        metadata: Goes into the message's metadata.
        message: The chat message that the component belongs to.
        state_key: The field that the message is written to; None: it is only shown.
        merge: Keep the properties of the message that is replaced where this one does not name them.

    Returns:
        The UI message.

    Raises:
        RuntimeError: No node is running.
    """
    task = _running("push_ui_message")
    config = task.config
    about: dict[str, Any] = {
        "merge": merge,
        "run_id": config.get("run_id"),
        "tags": config.get("tags") or None,
        "name": config.get("run_name"),
        **(metadata or {}),
    }
    message_id = message.get("id") if isinstance(message, dict) else getattr(message, "id", None)
    if message_id:
        about["message_id"] = message_id
    shown: UIMessage = {
        "type": "ui",
        "id": id or new_message_id(),
        "name": name,
        "props": props,
        "metadata": about,
    }
    _push(task, shown, state_key)
    return shown


def delete_ui_message(id: str, *, state_key: str = "ui") -> RemoveUIMessage:
    """From inside a node: remove a component from view and from the state.

    Args:
        id: The UI message to remove.
        state_key: The field that it is kept in.

    Returns:
        The message that asks for the removal.

    Raises:
        RuntimeError: No node is running.
    """
    removal: RemoveUIMessage = {"type": "remove-ui", "id": id}
    _push(_running("delete_ui_message"), removal, state_key)
    return removal


def ui_message_reducer(
    left: list[AnyUIMessage] | AnyUIMessage, right: list[AnyUIMessage] | AnyUIMessage
) -> list[AnyUIMessage]:
    """Merge two lists of UI messages: append, replace or merge by id, remove.

    Args:
        left: The messages so far: a list, or one message.
        right: What is added: a list, or one message.

    Returns:
        A new list.

    Raises:
        ValueError: A message to remove is not there.
        TypeError: Something given is no UI message.

    Example:
        >>> chart = {"type": "ui", "id": "1", "name": "chart", "props": {"title": "Sales"}, "metadata": {}}
        >>> patch = {**chart, "props": {"bars": 3}, "metadata": {"merge": True}}
        >>> [message["props"] for message in ui_message_reducer([chart], [patch])]
        [{'title': 'Sales', 'bars': 3}]
    """
    return _fold(left, (right,), {})


def _fold(base: Any, writes: Sequence[Any], memo: dict[str, Any]) -> list[Any]:
    """`ui_message_reducer` over all writes of a superstep; the engine calls this."""
    merged = _listed(base)
    positions = {message.get("id"): position for position, message in enumerate(merged)}
    for write in writes:
        removed = _merge(merged, positions, _listed(write))
        if removed:
            merged = [message for message in merged if message.get("id") not in removed]
            positions = {message.get("id"): position for position, message in enumerate(merged)}
    return merged


ui_message_reducer.fold = _fold  # type: ignore[attr-defined]


def _merge(merged: list[Any], positions: dict[Any, int], batch: list[Any]) -> set[Any]:
    """Put the messages of one write in place; the answer is what to take away."""
    removed: set[Any] = set()
    for message in batch:
        key = message.get("id")
        position = positions.get(key)
        if message.get("type") == "remove-ui":
            if position is None:
                raise ValueError(
                    f"Attempting to delete an UI message with an ID that doesn't exist ('{key}'). The ids that can be "
                    "removed are those of the messages in the state."
                )
            removed.add(key)
        elif position is None:
            positions[key] = len(merged)
            merged.append(message)
        else:
            removed.discard(key)
            if (message.get("metadata") or {}).get("merge"):
                message = {**message, "props": {**merged[position]["props"], **message["props"]}}
            merged[position] = message
    return removed


def _listed(value: Any) -> list[Any]:
    items = list(value) if isinstance(value, list) else [value]
    for item in items:
        if not isinstance(item, dict):
            raise TypeError(
                f"Not a UI message: {item!r} of type {type(item).__name__}. A UI message is a dict with the keys type, id, "
                "name, props and metadata; push_ui_message makes one."
            )
    return items


def _running(what: str) -> Task:
    task = current_task()
    if task is None:
        raise RuntimeError(
            f"{what} was called outside of a runnable context. Call it in a node, or in what a node calls."
        )
    return task


def _push(task: Task, message: AnyUIMessage, state_key: str | None) -> None:
    writer_of(task)(cast(Any, message))
    if not state_key:
        return
    plan = task.machine.plan
    if state_key in plan.fieldset:
        task.send([(state_key, message)])
    else:
        report_unknown_keys(plan, task.node.name, [state_key])
