"""What this room takes from LangChain, or what stands in for it where LangChain is missing.

The only place that asks whether LangChain is installed. Where it is, tools and messages are LangChain's; where it is
not, tools are plain functions and messages are role/content dicts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from langchain_core.runnables import Runnable
    from langchain_core.tools import InjectedToolArg, ToolException
    from langchain_core.tools.base import _DirectlyInjectedToolArg as DirectlyInjectedToolArg

    HAS_LANGCHAIN: Final[bool] = True
else:
    try:
        from langchain_core.runnables import Runnable
        from langchain_core.tools import InjectedToolArg, ToolException
        from langchain_core.tools import base as _tools

        DirectlyInjectedToolArg = getattr(_tools, "_DirectlyInjectedToolArg", InjectedToolArg)
        HAS_LANGCHAIN = True
    except ImportError:
        HAS_LANGCHAIN = False

        class Runnable:
            """Stands for LangChain's base of everything that can be invoked."""

            def __class_getitem__(cls, item):
                return cls

        class InjectedToolArg:
            """Marks an argument that the model does not give."""

        class DirectlyInjectedToolArg:
            """Base of types whose arguments the model does not give."""

        class ToolException(Exception):
            """A tool could not do what it was asked to."""


__all__ = (
    "HAS_LANGCHAIN",
    "DirectlyInjectedToolArg",
    "InjectedToolArg",
    "Runnable",
    "ToolException",
    "require_langchain",
)


def require_langchain(what: str) -> None:
    """Say what is missing, and how to get it.

    Raises:
        ImportError: LangChain is not installed.
    """
    if not HAS_LANGCHAIN:
        raise ImportError(f'{what} needs LangChain. Install it: pip install "stepgraph[langchain]"')
