"""What `importlib.metadata` answers."""

from __future__ import annotations

from collections.abc import Callable

from stepgraph.compat.names import VERSIONS

Printed = Callable[..., list[str]]


def test_versions_are_those_that_are_modelled(printed: Printed) -> None:
    lines = printed("""
        from importlib.metadata import distribution, metadata, version
        for name in ("langgraph", "LangGraph", "langgraph_checkpoint", "langgraph-prebuilt", "langgraph.checkpoint.sqlite"):
            print(version(name))
        print(metadata("langgraph")["Name"], distribution("langgraph").files, distribution("langgraph").requires)
    """)
    assert lines == [
        VERSIONS["langgraph"],
        VERSIONS["langgraph"],
        VERSIONS["langgraph-checkpoint"],
        VERSIONS["langgraph-prebuilt"],
        VERSIONS["langgraph-checkpoint-sqlite"],
        "langgraph None None",
    ]


def test_other_distributions_answer_for_themselves(printed: Printed) -> None:
    lines = printed("""
        from importlib.metadata import PackageNotFoundError, version
        print(version("langgraph-checkpoint-other"))
        try:
            version("langgraph-of-nobody")
        except PackageNotFoundError as error:
            print(error.name)
    """)
    assert lines == ["1.0", "langgraph-of-nobody"]


def test_lists_of_distributions_and_entry_points_can_be_made(printed: Printed) -> None:
    lines = printed("""
        from importlib.metadata import distributions, entry_points, packages_distributions
        found = [each.version for each in distributions() if each.metadata["Name"] == "langgraph"]
        print(found[0], "langgraph" in packages_distributions()["langgraph"], len(entry_points()) >= 0)
    """)
    assert lines == [f"{VERSIONS['langgraph']} True True"]
