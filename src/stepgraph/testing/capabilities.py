"""What a saver says it can do: which methods its class defines, in which half, with which options.

Rules: looks at classes and signatures, never calls a saver.
"""

from __future__ import annotations

from collections.abc import Collection
from inspect import Parameter, signature
from typing import Any, Final, Literal, TypeAlias

from stepgraph.checkpoint.base import BaseCheckpointSaver
from stepgraph.checkpoint.step_saver import StepSaver

__all__ = ("ALL", "HALVES", "Half", "capabilities", "defines", "halves_of")

Half: TypeAlias = Literal["sync", "async"]
HALVES: Final[tuple[Half, ...]] = ("sync", "async")
ALL: Final = (
    "base",
    "channel_history",
    "delete_thread",
    "copy_thread",
    "prune",
    "prune_by_age",
    "prune_namespaces",
    "delete_for_runs",
    "expected_head",
    "put_step",
)
"""Every capability that checks are about. `base`: `put`, `put_writes`, `get_tuple`, `list`."""
_BASE: Final = ("put", "put_writes", "get_tuple", "list")
_METHODS: Final = ("delete_thread", "copy_thread", "prune", "delete_for_runs")
_OPTIONS: Final = {"prune_by_age": "older_than", "prune_namespaces": "namespaces"}


def _own(saver: Any, method: str) -> bool:
    """Whether a class of the saver's own defines the method: not the base, whose methods only say that they are missing."""
    for cls in type(saver).__mro__:
        if method in cls.__dict__:
            return cls.__name__ != BaseCheckpointSaver.__name__
    return False


def defines(saver: Any, method: str, half: Half) -> bool:
    """Whether a method can be called in a half; async methods of our base call the synchronous ones in a thread."""
    if half == "sync":
        return _own(saver, method)
    return _own(saver, "a" + method) or (isinstance(saver, BaseCheckpointSaver) and _own(saver, method))


def halves_of(saver: Any) -> tuple[Half, ...]:
    """The halves in which the saver can do what every saver must."""
    return tuple(half for half in HALVES if all(defines(saver, method, half) for method in _BASE))


def capabilities(saver: Any, half: Half) -> Collection[str]:
    """What the saver's class offers in a half. Whether it compares heads only a call can tell; see `conformance`."""
    found = {"base"}
    found.update(method for method in _METHODS if defines(saver, method, half))
    if callable(getattr(saver, "get_delta_channel_history", None)):
        found.add("channel_history")
    if "prune" in found:
        name = "prune" if half == "sync" else "aprune"
        if half == "async" and not _own(saver, name):
            name = "prune"
        parameters = signature(getattr(saver, name)).parameters.values()
        names = {parameter.name for parameter in parameters}
        anything = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
        found.update(what for what, option in _OPTIONS.items() if option in names or anything)
    if isinstance(saver, StepSaver):
        found.update(("put_step", "expected_head"))
    return found
