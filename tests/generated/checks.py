"""What the property tests share: running programs of the package under test and comparing what came out."""

from __future__ import annotations

import difflib
import os
import pprint
import zlib
from collections.abc import Callable
from typing import Any

from hypothesis import settings

from .build import Setting
from .programs import Program
from .trace import Run, out_of_order, shape, start

PACKAGE = os.environ.get("GRAPH_PKG", "stepgraph")


USUAL = 40


def few(examples: int) -> settings:
    """Settings for a costly property: `examples` where a usual one has 40, more in a longer search."""
    usual = settings.default or settings()
    return settings(max_examples=max(1, examples * usual.max_examples // USUAL))


def setting(**options: Any) -> Setting:
    """A setting for the package under test."""
    return Setting(PACKAGE, **options)


def finished(program: Program, *, colour: str = "sync", delay: Any = None, **options: Any) -> Run:
    """Run `program` to its end."""
    return start(program, setting(colour=colour, delay=delay), **options).to_end()


def delays(seed: int) -> Callable[[str], float]:
    """A pause of 0 to 4 milliseconds for each node, chosen by `seed`: parallel tasks end in another order."""

    def pause(path: str) -> float:
        name = path.rpartition("|")[2].partition(":")[0]
        return (zlib.crc32(f"{seed}{name}".encode()) % 5) / 1000

    return pause


def difference(left: Any, right: Any) -> str:
    """A readable difference of two shapes, empty if they are the same."""
    if left == right:
        return ""
    before, after = (pprint.pformat(shape, width=160).splitlines() for shape in (left, right))
    return "\n".join(difflib.unified_diff(before, after, lineterm="", n=1))


def assert_same(left: Run, right: Run, *, parts: bool = True) -> None:
    """Both runs have the same shape; without `parts`, streams and results of single turns are left out.

    Of runs that fail only the errors are compared: what siblings of the failing task got done is a matter of time.
    """
    if left.turns[-1].error or right.turns[-1].error:
        assert [turn.error for turn in left.turns] == [turn.error for turn in right.turns]
        return
    shapes = [shape(left), shape(right)]
    if not parts:
        for one in shapes:
            for turn in one["turns"]:
                for key in ("parts", "states", "result"):
                    turn.pop(key)
    found = difference(*shapes)
    assert not found, found


def assert_children_first(run: Run) -> None:
    """No part of a child comes after the end of the task that holds it."""
    for turn in run.turns:
        assert not list(out_of_order(turn))
