"""Graphs that a LangGraph server runs: the name is there for programs that ask whether a graph is one.

Rules of this file: it imports no SDK.
"""

from __future__ import annotations

from typing import Any, NoReturn

__all__ = ("RemoteException", "RemoteGraph")


class RemoteException(Exception):
    """A graph that ran elsewhere failed there."""


class RemoteGraph:
    """A graph on a server. This package runs graphs in the process at hand, so none can be made.

    Raises:
        NotImplementedError: Always.
    """

    def __init__(self, assistant_id: str, /, **settings: Any) -> NoReturn:
        raise NotImplementedError(
            f"RemoteGraph({assistant_id!r}): stepgraph runs graphs in this process, not on a server. To call a graph on a "
            "LangGraph server from a node, use langgraph_sdk.get_client() there and return what it answers."
        )
