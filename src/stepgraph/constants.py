"""Public names of reserved strings. Their definitions and meanings are in `stepgraph.values.names`."""

from __future__ import annotations

from typing import Any

from stepgraph.values.names import CONF, CONFIG_KEY_CHECKPOINTER, END, START, TAG_HIDDEN, TAG_NOSTREAM, TASKS

__all__ = (
    "CONF",
    "CONFIG_KEY_CHECKPOINTER",
    "END",
    "START",
    "TAG_HIDDEN",
    "TAG_NOSTREAM",
    "TASKS",
)


def __getattr__(name: str) -> Any:
    """Answer names that once were here, with a deprecation warning."""
    if name in ("Send", "Interrupt"):
        from stepgraph.values import commands as home

        advice = f"Please use 'from stepgraph.types import {name}' instead."
    elif name.isupper() and name in _names():
        from stepgraph.values import names as home  # type: ignore[no-redef]

        advice = "This name is private and may change without notice."
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from warnings import warn

    from stepgraph.warnings import LangGraphDeprecatedSinceV10

    warn(
        f"Importing {name} from stepgraph.constants is deprecated. {advice}",
        LangGraphDeprecatedSinceV10,
        stacklevel=2,
    )
    return getattr(home, name)


def _names() -> dict[str, Any]:
    from stepgraph.values import names

    return vars(names)
