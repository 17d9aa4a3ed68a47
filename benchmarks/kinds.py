"""The kinds of row a scenario can be, and how each is carried out.

- `Race`: the same program on both engines, timed in turns; judged by the ratio of times.
- `ByHand`: ours beside a hand-written loop over the same functions; judged by the ratio ours / loop.
- `Gauge`: a figure (bytes, seconds) taken of each engine on its own; judged by the ratio.
- `Limit`: a figure of ours alone (a slope, a growth factor, bytes), judged by itself; LangGraph's for comparison
  where taking it is affordable.

Rule: a race's programs must have given the same outcome before anything is timed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.util import find_spec
from time import perf_counter
from typing import Any

from benchmarks.engine import Engine
from benchmarks.measure import Clock, race, run_once
from benchmarks.table import Row, duration, figure


@dataclass
class Bench:
    """What one call of the command was asked for."""

    ours: Engine
    theirs: Engine | None
    samples: int = 7
    scale: float = 1.0
    clock: Clock = perf_counter
    cleanup: ExitStack = field(default_factory=ExitStack)

    def count(self, full: int, at_least: int = 2) -> int:
        """A size of a scenario, smaller in quick mode."""
        return max(at_least, int(full * self.scale))


@dataclass
class Program:
    """Something to time: `run` may be a coroutine function. `outcome` turns its result into what both sides share."""

    run: Callable[[], Any]
    outcome: Callable[[Any], Any] = lambda result: result
    units: int = 1


class DifferentOutcome(AssertionError):
    """Both sides ran, and did not do the same work."""


def same(id: str, first: Any, second: Any) -> None:
    """Raise unless both outcomes are equal."""
    if first != second:
        raise DifferentOutcome(f"{id}: outcomes differ: {str(first)[:120]} / {str(second)[:120]}")


@dataclass
class Race:
    """The same program on both engines: langgraph's time / our time."""

    id: str
    build: Callable[[Bench, Engine], Program]
    floor: float
    aim: float

    def rows(self, bench: Bench) -> list[Row]:
        """One row, or none where there is no LangGraph to race against."""
        if bench.theirs is None:
            return []
        with asyncio.Runner() as runner:
            theirs, ours = self.build(bench, bench.theirs), self.build(bench, bench.ours)
            outcomes = [p.outcome(run_once(runner, p.run)) for p in (theirs, ours)]
            same(self.id, *outcomes)
            a, b = race(runner, [theirs.run, ours.run], bench.samples, bench.clock)
        texts = [duration(seconds / ours.units) for seconds in (a, b)]
        return [Row(self.id, texts[0], texts[1], a / b, floor=self.floor, aim=self.aim)]


@dataclass
class ByHand:
    """Our time / the time of a loop written by hand over the same functions."""

    id: str
    build: Callable[[Bench, Engine], Program]
    loop: Callable[[Bench, Engine], Program]
    floor: float
    aim: float
    needs: str = "sys"

    def rows(self, bench: Bench) -> list[Row]:
        """One row; `langgraph` shows the hand-written loop's time. None where a package that it `needs` is missing."""
        if find_spec(self.needs) is None:
            return []
        with asyncio.Runner() as runner:
            hand, ours = self.loop(bench, bench.ours), self.build(bench, bench.ours)
            outcomes = [p.outcome(run_once(runner, p.run)) for p in (hand, ours)]
            same(self.id, *outcomes)
            a, b = race(runner, [hand.run, ours.run], bench.samples, bench.clock)
        texts = [f"by hand: {duration(a / ours.units)}", duration(b / ours.units)]
        return [Row(self.id, texts[0], texts[1], b / a, floor=self.floor, aim=self.aim, less_is_better=True)]


@dataclass
class Gauge:
    """A figure of each engine on its own: langgraph's / ours."""

    id: str
    take: Callable[[Bench, Engine], float]
    show: Callable[[float], str]
    floor: float
    aim: float

    def rows(self, bench: Bench) -> list[Row]:
        """One row; without LangGraph it only shows our figure."""
        ours = self.take(bench, bench.ours)
        if bench.theirs is None:
            return [Row(self.id, ours=self.show(ours))]
        theirs = self.take(bench, bench.theirs)
        return [
            Row(self.id, self.show(theirs), self.show(ours), theirs / ours, floor=self.floor, aim=self.aim)
        ]


@dataclass
class Limit:
    """A figure of ours that must stay below a limit; `compare` also takes LangGraph's, to show it."""

    id: str
    take: Callable[[Bench, Engine], float]
    unit: str
    floor: float
    aim: float
    compare: bool = True

    def rows(self, bench: Bench) -> list[Row]:
        """One row."""
        ours = self.take(bench, bench.ours)
        theirs = "-"
        if self.compare and bench.theirs is not None:
            theirs = figure(self.take(bench, bench.theirs), self.unit)
        return [
            Row(
                self.id,
                theirs,
                figure(ours, self.unit),
                ours,
                floor=self.floor,
                aim=self.aim,
                unit=self.unit,
                less_is_better=True,
            )
        ]


Scenario = Race | ByHand | Gauge | Limit
