"""Taking figures: time in turns, allocated peak, stored bytes, lag of an event loop.

Rules: collect garbage before every sample; short programs are repeated within a sample; two programs are timed in
turns, and who goes first changes each time, so a machine that slows down slows both. What is alive before a race (both
packages, the results of earlier rows) is frozen during it, so that no engine's collections walk through it.
"""

from __future__ import annotations

import asyncio
import gc
import inspect
import math
import os
import sqlite3
import subprocess
import sys
import tracemalloc
from collections.abc import Callable
from statistics import median
from time import perf_counter
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

SHORTEST_SAMPLE = 0.005
MOST_SECONDS = 60.0
"""A scenario so slow that its samples take longer gets fewer of them, but never fewer than three."""


Clock = Callable[[], float]


def run_times(
    runner: asyncio.Runner, run: Callable[[], Any], times: int, clock: Clock = perf_counter
) -> float:
    """Seconds that one of `times` runs took."""
    if inspect.iscoroutinefunction(run):

        async def batch() -> float:
            start = clock()
            for _ in range(times):
                await run()
            return clock() - start

        return runner.run(batch()) / times
    start = clock()
    for _ in range(times):
        run()
    return (clock() - start) / times


def run_once(runner: asyncio.Runner, run: Callable[[], Any]) -> Any:
    """What the program gives, sync or async."""
    return runner.run(run()) if inspect.iscoroutinefunction(run) else run()


def race(
    runner: asyncio.Runner, runs: list[Callable[[], Any]], samples: int, clock: Clock = perf_counter
) -> list[float]:
    """Median seconds of each program, sampled in turns after a warm-up."""
    gc.collect()
    gc.freeze()
    try:
        return _race(runner, runs, samples, clock)
    finally:
        gc.unfreeze()


def _race(runner: asyncio.Runner, runs: list[Callable[[], Any]], samples: int, clock: Clock) -> list[float]:
    repeats = []
    for run in runs:
        gc.collect()
        once = run_times(runner, run, 1)
        repeats.append(max(1, math.ceil(SHORTEST_SAMPLE / max(once, 1e-7))))
    warm = [run_times(runner, run, times) for run, times in zip(runs, repeats)]
    round_seconds = sum(seconds * times for seconds, times in zip(warm, repeats))
    samples = max(3, min(samples, int(MOST_SECONDS / round_seconds)))
    taken: list[list[float]] = [[] for _ in runs]
    for turn in range(samples):
        order = range(len(runs)) if turn % 2 == 0 else reversed(range(len(runs)))
        for i in order:
            gc.collect()
            taken[i].append(run_times(runner, runs[i], repeats[i], clock))
    return [median(times) for times in taken]


def seconds_of(run: Callable[[], Any], samples: int = 5) -> float:
    """Median seconds of one program on its own."""
    with asyncio.Runner() as runner:
        return race(runner, [run], samples)[0]


def allocated_peak(run: Callable[[], Any]) -> int:
    """Most bytes that one run had allocated at a time, beyond what was there before it."""
    with asyncio.Runner() as runner:
        run_once(runner, run)
        gc.collect()
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            tracemalloc.reset_peak()
            run_once(runner, run)
            return tracemalloc.get_traced_memory()[1] - before
        finally:
            tracemalloc.stop()


def stored_bytes(saver: object) -> int:
    """Sum of the bytes objects that a saver in memory holds, whatever its shape: each distinct one counts once."""
    code = (type, ModuleType, FunctionType, BuiltinFunctionType, MethodType, str, int, float)
    seen: set[int] = set()
    ahead: list[object] = [saver]
    total = 0
    while ahead:
        thing = ahead.pop()
        if id(thing) in seen or isinstance(thing, code):
            continue
        seen.add(id(thing))
        if isinstance(thing, bytes | bytearray):
            total += len(thing)
        else:
            ahead.extend(gc.get_referents(thing))
    return total


def file_bytes(path: str) -> int:
    """Size of a SQLite file after a vacuum: all tables and indexes."""
    connection = sqlite3.connect(path)
    try:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("VACUUM")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    return os.path.getsize(path)


def import_cost(statement: str, samples: int, before: str = "") -> tuple[float, int]:
    """Median seconds and bytes of resident memory that an import adds to an interpreter (Linux).

    Args:
        statement: The import.
        samples: How many processes take the time of it, after one that does not count.
        before: What the interpreter has imported by then; left out, nothing.
    """
    program = (
        f"{before}\n"
        "import time\n"
        "def resident():\n"
        "    with open('/proc/self/statm') as statm:\n"
        "        return int(statm.read().split()[1]) * 4096\n"
        "before = resident()\n"
        "start = time.perf_counter()\n"
        f"{statement}\n"
        "seconds = time.perf_counter() - start\n"
        "print(seconds, resident() - before)\n"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    figures = []
    for _ in range(samples + 1):
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment
        )
        seconds, memory = done.stdout.split()
        figures.append((float(seconds), int(memory)))
    warm = figures[1:]
    return median(s for s, _ in warm), int(median(m for _, m in warm))


async def worst_lag(run: Callable[[], Any], tick: float = 0.001) -> float:
    """Longest time by which a ticking task woke late while `run` was on the same event loop."""
    worst = 0.0
    done = False

    async def ticking() -> None:
        nonlocal worst
        while not done:
            start = perf_counter()
            await asyncio.sleep(tick)
            worst = max(worst, perf_counter() - start - tick)

    ticker = asyncio.create_task(ticking())
    await asyncio.sleep(0.01)
    try:
        await run()
    finally:
        done = True
        await ticker
    return worst
