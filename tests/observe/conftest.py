"""Each test has its own exporter; nothing stays instrumented after it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture
def spans() -> Iterator[Any]:
    from observe.spans import Spans
    from stepgraph.observe import uninstrument

    yield Spans()
    uninstrument()
