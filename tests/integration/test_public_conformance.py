"""Our savers pass the field's public suite for savers, where `langgraph-checkpoint-conformance` is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

TESTS = Path(__file__).parent.parent


def is_installed(name: str) -> bool:
    try:
        version(name)
    except PackageNotFoundError:
        return False
    return True


@pytest.mark.skipif(
    not is_installed("langgraph-checkpoint-conformance"),
    reason="langgraph-checkpoint-conformance is not installed",
)
@pytest.mark.parametrize("kind", ["memory", "sqlite", "async-sqlite", "aiosqlite"])
def test_our_savers_pass_the_public_suite(kind: str) -> None:
    if kind == "aiosqlite" and not is_installed("aiosqlite"):
        pytest.skip("aiosqlite is not installed")
    path = os.pathsep.join([str(TESTS), *sys.path])
    done = subprocess.run(
        [sys.executable, "-m", "integration.public_conformance", kind],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
