"""What storing and reading values can fail or warn with.

`NotStorableError` blames the value, `CorruptPayloadError` the bytes; the warnings say that a value comes back as
something simpler than it was, and what to do about it.
"""

from __future__ import annotations

from typing import Any

__all__ = (
    "CorruptPayloadError",
    "NotRestorableWarning",
    "NotStorableError",
    "PlainDataWarning",
    "RecordedError",
)


class NotStorableError(TypeError):
    """A value holds something that has no stored form.

    Attributes:
        path: Where in the value it is, such as `['x'][3].y`; empty if it is the value itself.
        reason: What is wrong with it.
        root: How the message calls the whole value.
    """

    def __init__(self, reason: str, path: str = "", root: str = "value") -> None:
        self.reason = reason
        self.path = path
        self.root = root
        super().__init__(f"Cannot store {root}{path}: {reason}")

    def within(self, root: str) -> NotStorableError:
        """The same error, told from further out: `error.within("state['messages']")`."""
        return NotStorableError(self.reason, self.path, root)

    def __reduce__(self) -> tuple[type[NotStorableError], tuple[str, str, str]]:
        return type(self), (self.reason, self.path, self.root)


class CorruptPayloadError(ValueError):
    """Stored bytes are truncated, were tampered with, or were not written by a serializer that is known here."""


class PlainDataWarning(UserWarning):
    """Something stored came back as plain data, because its class may not be used or is not there."""


class NotRestorableWarning(UserWarning):
    """Something was stored that cannot come back as what it is."""


class RecordedError(Exception):
    """Stands for an exception of which only the text is known: a cause, or one whose class is not there.

    Args:
        type_name: The name of its class.
        message: Its text.
        arguments: Its arguments, as far as they could be stored.
    """

    def __init__(self, type_name: str, message: str = "", arguments: tuple[Any, ...] = ()) -> None:
        super().__init__(type_name, message, arguments)
        self.type_name = type_name
        self.message = message
        self.arguments = arguments

    def __str__(self) -> str:
        return f"{self.type_name}: {self.message}" if self.message else self.type_name


class Unstorable(Exception):
    """Inside the room: names the very object that has no stored form, so that its place can be found."""

    def __init__(self, culprit: object, reason: str) -> None:
        super().__init__(reason)
        self.culprit = culprit
        self.reason = reason
