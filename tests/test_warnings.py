"""Warning categories."""

from __future__ import annotations

import pytest

from stepgraph import warnings
from stepgraph.warnings import (
    LangGraphDeprecatedSinceV05,
    LangGraphDeprecatedSinceV10,
    LangGraphDeprecatedSinceV11,
    LangGraphDeprecationWarning,
    StepgraphWarning,
)


@pytest.mark.parametrize(
    ("kind", "since", "until"),
    [
        (LangGraphDeprecatedSinceV05, "0.5", "2.0"),
        (LangGraphDeprecatedSinceV10, "1.0", "2.0"),
        (LangGraphDeprecatedSinceV11, "1.1", "3.0"),
    ],
)
def test_a_deprecation_says_since_when(kind, since, until):
    text = f"x is old. Deprecated in LangGraph V{since} to be removed in V{until}."
    assert str(kind("x is old")) == str(kind("x is old.")) == text
    assert issubclass(kind, DeprecationWarning)


def test_removal_is_expected_in_the_next_major_version():
    assert LangGraphDeprecationWarning("x", since=(1, 2)).expected_removal == (2, 0)
    assert LangGraphDeprecationWarning("x", since=(1, 2), expected_removal=(4, 5)).expected_removal == (4, 5)


def test_one_filter_covers_our_own_warnings():
    ours = [getattr(warnings, name) for name in warnings.__all__ if not name.startswith("LangGraph")]
    assert all(issubclass(kind, StepgraphWarning) for kind in ours)
    assert issubclass(StepgraphWarning, UserWarning)
