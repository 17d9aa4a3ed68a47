"""The face `stepgraph.types` shows definitions of other rooms, and loads them late."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from stepgraph import types
from stepgraph.values import commands, policies, snapshots


def test_names_are_those_of_the_rooms():
    assert types.Command is commands.Command
    assert types.RetryPolicy is policies.RetryPolicy
    assert types.StateSnapshot is snapshots.StateSnapshot


def test_every_public_name_is_there():
    for name in types.__all__:
        assert getattr(types, name) is not None


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Nonsense'"):
        _ = types.Nonsense


def test_the_face_lists_its_names():
    assert set(types.__all__) <= set(dir(types))


def test_a_command_does_not_load_stream_parts():
    code = (
        "import sys; from stepgraph.types import Command\n"
        "assert 'stepgraph.values.parts' not in sys.modules, 'parts were loaded'"
    )
    subprocess.run(
        [sys.executable, "-c", code],
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
