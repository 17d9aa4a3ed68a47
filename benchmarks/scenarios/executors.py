"""CPU work of parallel tasks on a pool of two processes, against the same graph without a pool."""

from __future__ import annotations

import multiprocessing
import operator
from concurrent.futures import ProcessPoolExecutor
from time import perf_counter
from typing import Annotated, Any, TypedDict

from benchmarks.engine import Engine, config
from benchmarks.kinds import Bench, Limit, Scenario, same

TASKS = 8
SECONDS = 0.5
PROCESSES = 2
FASTER = 1.7
"""The pool must make the graph faster by this factor; two processes could at most double its speed."""


class Piece(TypedDict):
    rounds: int


class Sums(TypedDict):
    sums: Annotated[list[int], operator.add]


def work(piece: Piece) -> dict[str, list[int]]:
    """Pure computation, at the top level of a module so that it can be sent to another process."""
    total = 0
    for number in range(piece["rounds"]):
        total = (total + number * number) % 1_000_003
    return {"sums": [total]}


def rounds_for(seconds: float) -> int:
    """How many rounds of the work take so long on this machine."""
    rounds = 200_000
    start = perf_counter()
    work({"rounds": rounds})
    return int(rounds * seconds / (perf_counter() - start))


def graph(engine: Engine, rounds: int, pool: Any) -> Any:
    def spread(state: Sums) -> list[Any]:
        return [engine.Send("work", {"rounds": rounds}) for _ in range(TASKS)]

    builder = engine.StateGraph(Sums)
    builder.add_node("work", work, executor=pool)
    builder.add_conditional_edges(engine.START, spread, ["work"])
    return builder.compile()


def share(bench: Bench, engine: Engine) -> float:
    """Least time with two processes / least time without; both must give the same sums."""
    rounds = rounds_for(SECONDS * bench.scale)
    with ProcessPoolExecutor(PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        list(pool.map(work, [{"rounds": 1}] * PROCESSES))
        alone, pooled = graph(engine, rounds, None), graph(engine, rounds, pool)
        seconds: dict[Any, list[float]] = {alone: [], pooled: []}
        for compiled in (alone, pooled) * min(3, bench.samples):
            start = perf_counter()
            sums = compiled.invoke({"sums": []}, config())
            seconds[compiled].append(perf_counter() - start)
            same("executor", sums, {"sums": [work({"rounds": rounds})["sums"][0]] * TASKS})
    return min(seconds[pooled]) / min(seconds[alone])


SCENARIOS: list[Scenario] = [Limit("executor", share, "x", 1 / FASTER, 1 / 1.9, compare=False)]
