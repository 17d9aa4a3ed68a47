"""What may be given as `checkpointer=`, and what it means for one run."""

from __future__ import annotations

from typing import Any, TypeAlias

from stepgraph.checkpoint.base import BaseCheckpointSaver

Checkpointer: TypeAlias = bool | BaseCheckpointSaver[Any] | None
"""`None`: inherit; `True`: inherit and keep state over calls; `False`: store nothing; a saver: use it as a root."""


def ensure_valid_checkpointer(checkpointer: Checkpointer) -> Checkpointer:
    """The argument itself, if it is one of the four forms.

    Raises:
        TypeError: It is anything else.
    """
    if checkpointer is None or isinstance(checkpointer, (bool, BaseCheckpointSaver)):
        return checkpointer
    raise TypeError(
        "Invalid checkpointer provided. Expected an instance of `BaseCheckpointSaver`, `True`, `False`, or `None`. "
        f"Received {type(checkpointer).__name__}. Pass a proper saver (e.g., InMemorySaver, AsyncPostgresSaver)."
    )
