"""Fixtures: a store of every kind, driven in every way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any, Protocol

import pytest

from store.backends import ALL, Driven, driven


class OpenStore(Protocol):
    def __call__(self, **config: Any) -> Driven: ...


@pytest.fixture(params=ALL)
def open_store(request: pytest.FixtureRequest) -> Iterator[OpenStore]:
    """Opens stores of one kind with a configuration (`index`, `ttl`)."""
    with ExitStack() as stack:
        yield lambda **config: stack.enter_context(driven(request.param, **config))


@pytest.fixture
def store(open_store: OpenStore) -> Driven:
    return open_store()
