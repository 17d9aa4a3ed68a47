"""Distributions of others in LangGraph's namespace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .conftest import Run, install_distribution

Printed = Callable[..., list[str]]


def test_they_load_under_their_own_names_on_our_base_classes(printed: Printed) -> None:
    lines = printed("""
        import langgraph.checkpoint.other as other
        import stepgraph.checkpoint.base
        print(other.__name__, other.OtherSaver.__mro__[1] is stepgraph.checkpoint.base.BaseCheckpointSaver)
    """)
    assert lines == ["langgraph.checkpoint.other True"]


def test_every_form_of_import_gives_one_module(printed: Printed) -> None:
    lines = printed("""
        import sys
        from langgraph.checkpoint import other
        import langgraph.checkpoint.other as again
        from langgraph.checkpoint.other.parts import NAME
        print(other is again, other.__name__, NAME, sys.modules["langgraph.checkpoint.other"] is other)
    """)
    assert lines == ["True langgraph.checkpoint.other other True"]


def test_packages_without_an_init_file(printed: Printed) -> None:
    lines = printed("""
        import langgraph.loose.inside
        from langgraph import loose
        print(langgraph.loose.inside.PLACE, loose is langgraph.loose)
    """)
    assert lines == ["langgraph.loose.inside True"]


def test_a_finder_of_an_editable_install_is_asked(printed: Printed, tmp_path: Path) -> None:
    (tmp_path / "elsewhere.py").write_text("HERE = True\n", encoding="utf-8")
    lines = printed("""
        import sys
        from importlib.util import spec_from_file_location
        class Editable:
            @classmethod
            def find_spec(cls, name, path=None, target=None):
                if name == "langgraph.checkpoint.edited":
                    return spec_from_file_location(name, "elsewhere.py")
        sys.meta_path.append(Editable)
        from langgraph.checkpoint import edited
        print(edited.HERE)
    """)
    assert lines == ["True"]


def test_an_official_distribution_at_a_place_unknown_here_is_not_loaded(run: Run, site: Path) -> None:
    tells = "raise AssertionError('the installed langgraph was loaded')\n"
    install_distribution(
        site,
        "langgraph-prebuilt",
        "9.9.9",
        {"langgraph/later/__init__.py": tells, "langgraph/bare/a.py": tells},
    )
    for module in ("langgraph.later", "langgraph.bare.a", "langgraph.bare"):
        done = run("-c", f"import stepgraph.compat; stepgraph.compat.install(); import {module}")
        assert "ModuleNotFoundError" in done.stderr
        assert "was loaded" not in done.stderr
