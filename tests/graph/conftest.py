"""Fixtures of the graph room."""

from __future__ import annotations

import sys

import pytest

from stepgraph.graph import message_forms


@pytest.fixture
def without_langchain(monkeypatch):
    """As if the program had not imported LangChain, also where another test has."""
    monkeypatch.setattr(message_forms, "_known", None)
    monkeypatch.delitem(sys.modules, "langchain_core.messages", raising=False)
