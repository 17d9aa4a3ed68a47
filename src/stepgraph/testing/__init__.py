"""Helpers for tests: of graphs, of recovery, and of savers that somebody wrote. A face: the definitions live beside it.

Needs no test framework: everything is a function that answers, or raises `AssertionError` with what is wrong.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepgraph.lazy import names_from

if TYPE_CHECKING:
    from stepgraph.testing.conformance import (
        CheckResult,
        ConformanceReport,
        asaver_conformance,
        saver_conformance,
    )
    from stepgraph.testing.crashes import SimulatedCrash, assert_recovers, crash_after
    from stepgraph.testing.graphs import Stub, check_contract, stub_subgraph

__all__ = (
    "CheckResult",
    "ConformanceReport",
    "SimulatedCrash",
    "Stub",
    "asaver_conformance",
    "assert_recovers",
    "check_contract",
    "crash_after",
    "saver_conformance",
    "stub_subgraph",
)

_HOMES = {
    "CheckResult": "conformance",
    "ConformanceReport": "conformance",
    "SimulatedCrash": "crashes",
    "Stub": "graphs",
    "asaver_conformance": "conformance",
    "assert_recovers": "crashes",
    "check_contract": "graphs",
    "crash_after": "crashes",
    "saver_conformance": "conformance",
    "stub_subgraph": "graphs",
}

__getattr__ = names_from(globals(), _HOMES)
