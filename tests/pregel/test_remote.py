"""Graphs on servers are not run by this package; programs may still ask whether a graph is one."""

from __future__ import annotations

import pytest

from stepgraph.pregel.remote import RemoteGraph


def test_one_cannot_be_made_and_says_what_to_do_instead() -> None:
    with pytest.raises(NotImplementedError, match=r"RemoteGraph\('agent'\).*langgraph_sdk.get_client"):
        RemoteGraph("agent", url="http://localhost")


def test_no_graph_of_ours_is_one() -> None:
    assert not isinstance(object(), RemoteGraph)
