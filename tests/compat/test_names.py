"""Which module answers which name."""

from __future__ import annotations

import importlib
from collections.abc import Callable

import pytest

from stepgraph.compat.names import ANSWERED, CLOSED, INSIDE_FILES, is_closed

Printed = Callable[..., list[str]]


def test_every_public_module_is_the_same_object_under_both_names(printed: Printed) -> None:
    lines = printed("""
        import importlib, sys
        from stepgraph.compat.names import ANSWERED
        different = []
        for theirs, ours in ANSWERED.items():
            try:
                importlib.import_module(ours)
            except ImportError:
                continue
            importlib.import_module(theirs)
            if sys.modules[theirs] is not sys.modules[ours] or sys.modules[ours].__name__ != ours:
                different.append(theirs)
            if sys.modules[ours].__spec__.name != ours:
                different.append(f"spec of {theirs}")
        print(different)
    """)
    assert lines == ["[]"]


def test_names_come_from_packages_by_every_form_of_import(printed: Printed) -> None:
    lines = printed("""
        import langgraph, langgraph.graph, stepgraph
        import langgraph.types as types
        from langgraph import errors
        from langgraph.checkpoint import memory
        from langgraph._internal import _constants
        from langgraph.types import Command
        import stepgraph.types, stepgraph.errors, stepgraph.checkpoint.memory
        print(langgraph is stepgraph, types is stepgraph.types, errors is stepgraph.errors)
        print(memory is stepgraph.checkpoint.memory, _constants.CONF, Command is stepgraph.types.Command)
    """)
    assert lines == ["True True True", "True configurable True"]


def test_whichever_name_is_imported_first(printed: Printed) -> None:
    lines = printed("""
        import stepgraph.types
        import langgraph.types
        import langgraph.errors
        import stepgraph.errors
        print(langgraph.types is stepgraph.types, langgraph.errors is stepgraph.errors)
    """)
    assert lines == ["True True"]


@pytest.mark.parametrize("module", ["langgraph.types", "langgraph.pregel._loop", "langgraph.addition"])
def test_an_installed_langgraph_is_never_loaded(printed: Printed, module: str) -> None:
    lines = printed(f"""
        try:
            import {module}
        except ModuleNotFoundError as error:
            print(error.name)
        else:
            import stepgraph.types
            print({module} is stepgraph.types)
    """)
    assert lines == ["True" if module == "langgraph.types" else module]


def test_a_module_that_is_lacking_says_so(printed: Printed) -> None:
    lines = printed("""
        try:
            import langgraph.pregel._loop
        except ModuleNotFoundError as error:
            print(error)
    """)
    assert "nothing that answers 'langgraph.pregel._loop'" in lines[0]
    assert "never used instead" in lines[0]


def test_a_module_of_ours_is_not_answered_because_it_has_that_name(printed: Printed) -> None:
    lines = printed("""
        try:
            import langgraph.cli
        except ModuleNotFoundError as error:
            print(error)
    """)
    assert lines == ["No module named 'langgraph.cli': it is a module of stepgraph, and none of langgraph."]


def test_programs_may_look_whether_a_module_is_there(printed: Printed) -> None:
    lines = printed("""
        from importlib.util import find_spec
        for name in ("langgraph", "langgraph.graph", "langgraph.checkpoint.other"):
            print(find_spec(name) is not None)
        print(find_spec("langgraph.checkpoint.nobodys"), find_spec("langgraph.nobodys"))
        try:
            import langgraph.nobodys
        except ModuleNotFoundError as error:
            print(error)
    """)
    assert lines == ["True", "True", "True", "None None", "No module named 'langgraph.nobodys'"]


def test_a_name_that_is_lacking_is_an_import_error(printed: Printed) -> None:
    lines = printed("""
        try:
            from langgraph.types import NoSuchName
        except ImportError as error:
            print(type(error).__name__, error.name)
    """)
    assert lines == ["ImportError stepgraph.types"]


def test_errors_while_a_module_is_imported_pass_through(printed: Printed) -> None:
    lines = printed("""
        try:
            import langgraph.store.broken
        except ModuleNotFoundError as error:
            print(error.name)
        import sys
        sys.modules["aiosqlite"] = None
        try:
            import langgraph.checkpoint.sqlite.aio
        except ImportError as error:
            print("langgraph.checkpoint.sqlite.aio" in sys.modules, "aiosqlite" in str(error))
        else:
            print(False, True)
    """)
    assert lines == ["a_module_that_is_not_there", "False True"]


def test_threads_that_import_at_once_find_the_same_module(printed: Printed) -> None:
    lines = printed("""
        import importlib
        from concurrent.futures import ThreadPoolExecutor
        from threading import Barrier
        barrier = Barrier(8)
        def load(name):
            barrier.wait(20)
            return importlib.import_module(name)
        names = ["langgraph.graph.state", "stepgraph.graph.state"] * 4
        with ThreadPoolExecutor(8) as pool:
            print(len({id(module) for module in pool.map(load, names)}))
    """)
    assert lines == ["1"]


def test_the_closed_parts_hold_all_that_is_answered() -> None:
    spaces = {"langgraph", "langgraph.cache", "langgraph.checkpoint", "langgraph.store"}
    assert [name for name in ANSWERED if name not in spaces and not is_closed(name)] == []
    assert [name for name, _ in INSIDE_FILES.values() if not is_closed(name)] == []
    assert len(set(CLOSED)) == len(CLOSED)


def test_ids_of_checkpoints_increase() -> None:
    ids = importlib.import_module("stepgraph.compat.internal.ids")
    made = [ids.uuid6() for _ in range(3)]
    assert sorted(made) == made
    assert {id.version for id in made} == {6}
    assert ids.uuid6(node=5, clock_seq=-2).node == 5
