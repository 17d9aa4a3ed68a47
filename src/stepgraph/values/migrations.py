"""What became of a graph's nodes and fields: declared at `compile(migrations=[...])`, applied to threads stored before.

Rules: values only. What they do to a checkpoint stands in the engine.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
from typing import Any

from stepgraph.values.record import FrozenRecord, set_slot

__all__ = (
    "ConvertField",
    "Migration",
    "RemoveField",
    "RenameField",
    "RenameNode",
    "convert_field",
    "remove_field",
    "rename_field",
    "rename_node",
)


class Migration(FrozenRecord):
    """Base of all migrations.

    Args:
        at: The nested graph that it is about: the names of the nodes that lead there, joined by `|`; empty for the
            graph that is compiled with it.
    """

    __slots__ = ("at",)

    at: str

    def identity(self) -> str:
        """A short text that tells this migration from others, the same in every process."""
        parts = [type(self).__name__, *[_text(getattr(self, name)) for name in self.record_fields]]
        return blake2b("\0".join(parts).encode(), digest_size=4).hexdigest()


class RenameNode(Migration):
    """See `rename_node`."""

    __slots__ = ("new", "old")
    record_fields = ("old", "new", "at")

    old: str
    new: str

    def __init__(self, old: str, new: str, at: str = "") -> None:
        _set(self, old=old, new=new, at=at)


class RenameField(Migration):
    """See `rename_field`."""

    __slots__ = ("new", "old")
    record_fields = ("old", "new", "at")

    old: str
    new: str

    def __init__(self, old: str, new: str, at: str = "") -> None:
        _set(self, old=old, new=new, at=at)


class ConvertField(Migration):
    """See `convert_field`."""

    __slots__ = ("function", "name")
    record_fields = ("name", "function", "at")

    name: str
    function: Callable[[Any], Any]

    def __init__(self, name: str, function: Callable[[Any], Any], at: str = "") -> None:
        if not callable(function):
            raise TypeError(
                f"convert_field({name!r}, ...) needs a function from the stored value to the value that the field holds now; "
                f"got {function!r}"
            )
        _set(self, name=name, function=function, at=at)


class RemoveField(Migration):
    """See `remove_field`."""

    __slots__ = ("name",)
    record_fields = ("name", "at")

    name: str

    def __init__(self, name: str, at: str = "") -> None:
        _set(self, name=name, at=at)


def rename_node(old: str, new: str, *, at: str = "") -> RenameNode:
    """A node has another name now: threads that wait before it or in it go on in the node of the new name.

    Args:
        old: The name that threads were stored with.
        new: The node that takes its place; it may also be one that was there before.
        at: The nested graph, by the names of the nodes that lead there now, joined by `|`; empty for the graph itself.

    Returns:
        A migration for `compile(migrations=[...])`.

    Example:
        >>> rename_node("review", "check")
        RenameNode(old='review', new='check', at='')
    """
    return RenameNode(old, new, at)


def rename_field(old: str, new: str, *, at: str = "") -> RenameField:
    """A field has another name now: its stored value, and what finished tasks wrote to it, go to the new name.

    Args:
        old: The name that threads were stored with.
        new: The field that holds the value now.
        at: The nested graph, see `rename_node`.

    Returns:
        A migration for `compile(migrations=[...])`.
    """
    return RenameField(old, new, at)


def convert_field(name: str, function: Callable[[Any], Any], *, at: str = "") -> ConvertField:
    """A field holds values of another kind now, or folds them in another way.

    Args:
        name: The field, by the name that it has at this place in the list of migrations.
        function: Makes the value of now from a stored one. It is called for the stored value, and for what tasks wrote
            to the field that finished in a step which was not completed.
        at: The nested graph, see `rename_node`.

    Returns:
        A migration for `compile(migrations=[...])`.

    Raises:
        TypeError: `function` cannot be called.

    Example:
        >>> convert_field("tags", str.split).name
        'tags'
    """
    return ConvertField(name, function, at)


def remove_field(name: str, *, at: str = "") -> RemoveField:
    """A field is gone on purpose: its stored value is dropped.

    Args:
        name: The field.
        at: The nested graph, see `rename_node`.

    Returns:
        A migration for `compile(migrations=[...])`.
    """
    return RemoveField(name, at)


def _set(record: Migration, **attributes: Any) -> None:
    for name, value in attributes.items():
        set_slot(record, name, value)


def _text(value: Any) -> str:
    """Names the value of an attribute without an address in memory: a function by its qualified name."""
    if isinstance(value, str):
        return value
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', type(value).__qualname__)}"
