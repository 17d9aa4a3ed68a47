"""The room's face: what it offers, what importing it costs, and what it says where LangChain is missing."""

from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

import stepgraph.prebuilt
from stepgraph.prebuilt.langchain_parts import HAS_LANGCHAIN
from stepgraph.types import Command


def test_importing_the_face_loads_nothing_of_langchain():
    code = "import sys, stepgraph.prebuilt\nprint('langchain_core' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no_such_agent"):
        _ = stepgraph.prebuilt.no_such_agent


def test_interrupt_shapes_need_no_langchain():
    shapes = importlib.import_module("stepgraph.prebuilt.interrupt")
    assert shapes.HumanInterrupt.__required_keys__ == {"action_request", "config", "description"}


@pytest.mark.skipif(HAS_LANGCHAIN, reason="LangChain is installed")
@pytest.mark.parametrize("name", ["create_react_agent", "ValidationNode"])
def test_what_needs_langchain_says_how_to_install_it(name):
    with pytest.raises(ImportError, match=r'pip install "stepgraph\[langchain\]"'):
        getattr(stepgraph.prebuilt, name)([])


@pytest.mark.skipif(not HAS_LANGCHAIN, reason="LangChain is not installed")
@pytest.mark.parametrize("name", sorted(stepgraph.prebuilt.__all__))
def test_every_name_is_there(name):
    assert getattr(stepgraph.prebuilt, name) is not None


@pytest.mark.skipif(not HAS_LANGCHAIN, reason="LangChain is not installed")
def test_a_command_carries_langchains_mark_of_results():
    from langchain_core.messages.tool import ToolOutputMixin

    assert stepgraph.prebuilt.ToolNode is not None
    assert isinstance(Command(update=1), ToolOutputMixin)
    assert Command(update=1) == Command(update=1)
