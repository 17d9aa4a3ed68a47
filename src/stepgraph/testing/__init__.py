"""Helpers for tests: of graphs, of recovery, and of savers that somebody wrote. A face: the definitions live beside it.

Needs no test framework: everything is a function that answers, or raises `AssertionError` with what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.testing.conformance import (
        CheckResult,
        ConformanceReport,
        asaver_conformance,
        saver_conformance,
    )

__all__ = (
    "CheckResult",
    "ConformanceReport",
    "asaver_conformance",
    "saver_conformance",
)

_HOMES = {
    "CheckResult": "conformance",
    "ConformanceReport": "conformance",
    "asaver_conformance": "conformance",
    "saver_conformance": "conformance",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"stepgraph.testing.{home}"), name)
