"""Listeners that are told when reading a store meets a class that nobody has allowed.

Rules: a listener that fails is reported and never stops a read; nothing here knows the serializer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NotRequired, TypedDict

__all__ = ("SerdeEvent", "SerdeEventListener", "emit_serde_event", "register_serde_event_listener")


class SerdeEvent(TypedDict):
    """One encounter with a class that is on no allowlist.

    `kind` is `msgpack_unregistered_allowed` (restored, because it is loaded here and of a known kind),
    `msgpack_blocked` (came back as plain data) or `msgpack_method_blocked` (old data named a method that is not called).
    """

    kind: str
    module: str
    name: str
    method: NotRequired[str]


SerdeEventListener = Callable[[SerdeEvent], None]

_listeners: list[SerdeEventListener] = []


def register_serde_event_listener(listener: SerdeEventListener) -> Callable[[], None]:
    """Call `listener` with every event from now on.

    Returns:
        A function that ends it; calling it twice does no harm.
    """
    _listeners.append(listener)

    def unregister() -> None:
        if listener in _listeners:
            _listeners.remove(listener)

    return unregister


def has_listeners() -> bool:
    """Whether anybody listens; lets callers skip the making of events."""
    return bool(_listeners)


def emit_serde_event(event: SerdeEvent) -> None:
    """Tell every listener; a failing one is logged and the others are still told."""
    for listener in list(_listeners):
        try:
            listener(event)
        except Exception:
            from logging import getLogger

            getLogger(__name__).warning("A listener for serializer events failed", exc_info=True)
