"""Names that are imported when they are first asked for."""

from __future__ import annotations

import collections.abc
import os.path
from typing import Any

import pytest

from stepgraph.lazy import names_from


def test_a_name_comes_from_its_home_and_is_kept() -> None:
    module: dict[str, Any] = {"__name__": "collections"}
    answer = names_from(module, {"Mapping": "abc"})
    assert answer("Mapping") is collections.abc.Mapping
    assert module["Mapping"] is collections.abc.Mapping


def test_a_home_with_dots_is_a_full_path() -> None:
    assert names_from({"__name__": "collections"}, {"join": "os.path"})("join") is os.path.join


def test_another_name_is_an_error_that_names_the_module() -> None:
    module: dict[str, Any] = {"__name__": "collections"}
    with pytest.raises(AttributeError, match="module 'collections' has no attribute 'Mappin'"):
        names_from(module, {"Mapping": "abc"})("Mappin")
    assert module == {"__name__": "collections"}
