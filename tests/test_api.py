"""The public names, methods and parameters are those of the inventory in `data/api_names.json`.

The inventory: module (without the package) -> name -> what is known of it: `()` parameters of the function or
constructor, `fields`, `members` of an enum, and `.method` with its parameters.
"""

from __future__ import annotations

import importlib
import inspect
import json
from pathlib import Path
from typing import Any

import pytest

INVENTORY: dict[str, dict[str, dict[str, list[str]]]] = json.loads(
    (Path(__file__).parent / "data" / "api_names.json").read_text(encoding="utf-8")
)


def load(module: str) -> Any:
    path = f"stepgraph.{module}"
    try:
        return importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is not None and (path == error.name or path.startswith(error.name + ".")):
            pytest.skip(f"{path} is not there")
        raise


def accepts(call: Any, parameters: list[str]) -> list[str]:
    """The parameters that the callable does not take by name."""
    try:
        have = inspect.signature(call).parameters
    except (TypeError, ValueError):
        return []
    if any(p.kind is inspect.Parameter.VAR_KEYWORD for p in have.values()):
        return []
    return [name for name in parameters if name not in have]


def differences(thing: Any, known: dict[str, list[str]]) -> list[str]:
    out = [f"parameter {name}" for name in accepts(thing, known.get("()", []))]
    classes = inspect.getmro(thing) if isinstance(thing, type) else ()
    annotations = {name for cls in classes for name in inspect.get_annotations(cls)}
    out += [
        f"field {name}"
        for name in known.get("fields", [])
        if name not in annotations and not hasattr(thing, name)
    ]
    out += [f"member {name}" for name in known.get("members", []) if name not in thing.__members__]
    for name, parameters in known.items():
        if not name.startswith("."):
            continue
        method = inspect.getattr_static(thing, name[1:], None)
        if method is None and not hasattr(thing, name[1:]):
            out.append(f"method {name[1:]}")
            continue
        method = getattr(method, "__func__", method)
        if callable(method):
            out += [f"{name[1:]}(): parameter {missing}" for missing in accepts(method, parameters)]
    return out


@pytest.mark.parametrize("module", sorted(INVENTORY))
def test_names_of_module(module: str) -> None:
    there = load(module)
    wrong = []
    for name, known in INVENTORY[module].items():
        try:
            thing = getattr(there, name)
        except AttributeError:
            wrong.append(name)
            continue
        wrong += [f"{name}: {difference}" for difference in differences(thing, known)]
    assert wrong == []


@pytest.mark.parametrize("module", sorted(INVENTORY))
def test_declared_names_exist(module: str) -> None:
    there = load(module)
    assert [name for name in getattr(there, "__all__", ()) if not hasattr(there, name)] == []
