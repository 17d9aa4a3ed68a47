"""The face of reserved names, and names that once were there."""

from __future__ import annotations

import warnings

import pytest

from stepgraph import constants
from stepgraph.values.commands import Interrupt, Send
from stepgraph.warnings import LangGraphDeprecatedSinceV10


@pytest.mark.filterwarnings("error")
def test_public_names_do_not_warn():
    assert constants.START == "__start__"
    assert constants.END == "__end__"
    assert constants.CONF == "configurable"


@pytest.mark.parametrize(("name", "value"), [("Send", Send), ("Interrupt", Interrupt)])
def test_moved_names_warn(name, value):
    with pytest.warns(LangGraphDeprecatedSinceV10, match=f"from stepgraph.types import {name}") as seen:
        assert getattr(constants, name) is value
    assert seen[0].filename == __file__


def test_private_names_warn():
    with pytest.warns(LangGraphDeprecatedSinceV10, match="private"):
        assert constants.CONFIG_KEY_READ == "__pregel_read"


def test_unknown_names_are_attribute_errors():
    with warnings.catch_warnings(), pytest.raises(AttributeError, match="has no attribute 'NONSENSE'"):
        warnings.simplefilter("error")
        _ = constants.NONSENSE
