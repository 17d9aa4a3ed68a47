"""Stream parts are typed dicts; GraphOutput answers like the old result, with a warning."""

from __future__ import annotations

from typing import get_args, get_type_hints

import pytest

from stepgraph.values import parts
from stepgraph.values.commands import Interrupt
from stepgraph.values.parts import GraphOutput
from stepgraph.warnings import LangGraphDeprecatedSinceV11

STREAM_PARTS = [
    "ValuesStreamPart",
    "UpdatesStreamPart",
    "MessagesStreamPart",
    "CustomStreamPart",
    "CheckpointStreamPart",
    "TasksStreamPart",
    "DebugStreamPart",
]


def test_every_stream_mode_has_a_part():
    modes = set()
    for name in STREAM_PARTS:
        hint = getattr(parts, name).__annotations__["type"]
        text = getattr(hint, "__forward_arg__", hint)
        modes.add(text.removeprefix("Literal['").removesuffix("']"))
    assert modes == set(get_args(parts.StreamMode))


@pytest.mark.parametrize("name", STREAM_PARTS)
def test_a_part_has_type_namespace_and_data(name):
    keys = list(getattr(parts, name).__annotations__)
    assert keys[:3] == ["type", "ns", "data"]


def test_the_annotations_of_payloads_resolve():
    assert get_type_hints(parts.TaskPayload)["triggers"] == list[str]
    assert get_type_hints(parts.TaskResultPayload)["error"] == str | None


def test_aliases_take_parameters():
    assert parts.StreamPart[dict, dict] is not None
    assert parts.DebugPayload[dict] is not None


def test_an_output_holds_value_and_interrupts():
    pause = Interrupt(1, "i")
    output = GraphOutput({"a": 1}, (pause,))
    assert output.value == {"a": 1}
    assert output.interrupts == (pause,)
    assert repr(GraphOutput(1)) == "GraphOutput(value=1, interrupts=())"


PAUSED = GraphOutput({"a": 1}, (Interrupt(1, "i"),))


def test_reading_an_output_by_key_warns():
    with pytest.warns(LangGraphDeprecatedSinceV11, match=r"via `result\[key\]` is deprecated") as seen:
        assert PAUSED["a"] == 1
    assert seen[0].filename == __file__


def test_asking_an_output_for_a_key_warns():
    with pytest.warns(LangGraphDeprecatedSinceV11, match="via `key in result` is deprecated") as seen:
        assert "a" in PAUSED
    assert seen[0].filename == __file__


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_output_has_its_interrupts_under_the_old_key():
    assert PAUSED["__interrupt__"] == (Interrupt(1, "i"),)
    assert "__interrupt__" in PAUSED
    assert "__interrupt__" not in GraphOutput({"a": 1})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_output_has_only_the_keys_of_a_dict():
    assert "b" not in PAUSED
    assert "a" not in GraphOutput("abc")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("value", [{"a": 1}, 3])
def test_an_unknown_key_is_a_key_error(value):
    with pytest.raises(KeyError):
        GraphOutput(value)["b"]
