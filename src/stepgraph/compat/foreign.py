"""Finding what other distributions put into LangGraph's namespace, and telling it from LangGraph's own files.

Theory of operation. The namespace's packages are ours, so their `__path__` leads nowhere else. A name that is not answered
is looked for in the folders `langgraph/...` of `sys.path`, and by whatever other finders there are (those of editable
installs). What is found counts if no distribution of LangGraph's own lists the file; where none lists it and the name is
in a part that is LangGraph's alone, it does not count either.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from importlib.machinery import ModuleSpec
from typing import Any

from stepgraph.compat.names import VERSIONS, is_closed


def find_foreign(name: str, own_finders: tuple[type, ...]) -> ModuleSpec | None:
    """The spec of another distribution's module in the namespace, None where there is none.

    Args:
        name: The module's full name.
        own_finders: Classes of finders that are not asked.
    """
    folders = _folders(name.rpartition(".")[0])
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        if find is None or isinstance(finder, own_finders):
            continue
        spec: ModuleSpec | None = find(name, folders)
        if spec is not None and not _is_official(name, spec):
            return spec
    return None


def _folders(package: str) -> list[str]:
    path = package.split(".")
    found = (os.path.join(entry or os.curdir, *path) for entry in sys.path)
    return [folder for folder in dict.fromkeys(found) if os.path.isdir(folder)]


def _is_official(name: str, spec: ModuleSpec) -> bool:
    places = [spec.origin] if spec.has_location else list(spec.submodule_search_locations or ())
    files = _official_files()
    real = [os.path.realpath(place) for place in places if place]
    if spec.has_location and any(place in files for place in real):
        return True
    if not spec.has_location and all(_holds_only(place, files) for place in real):
        return True
    return is_closed(name)


def _holds_only(folder: str, files: frozenset[str]) -> bool:
    """Whether all Python files below a folder without an `__init__` are LangGraph's own."""
    inside = [
        os.path.join(where, file)
        for where, _, names in os.walk(folder)
        for file in names
        if file.endswith(".py")
    ]
    return all(os.path.realpath(file) in files for file in inside)


@cache
def _official_files() -> frozenset[str]:
    """The Python files of LangGraph's distributions that are installed here."""
    from importlib.metadata import Distribution

    from stepgraph.compat.metadata import ModelledDistribution

    found: set[str] = set()
    for name in VERSIONS:
        for distribution in Distribution.discover(name=name):
            if isinstance(distribution, ModelledDistribution):
                continue
            listed: Any = distribution.files or ()
            found.update(
                os.path.realpath(str(distribution.locate_file(file)))
                for file in listed
                if file.suffix == ".py"
            )
    return frozenset(found)
