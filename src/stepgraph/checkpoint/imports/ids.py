"""The ids that LangGraph gives to tasks and questions, recognised.

They are digests of the place, as ours are, of another kind; which parts go into them was found by looking at stored
threads. An id that fits no place that we can name stays unknown: nothing is guessed from it.

Rules: pure functions of text.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha1
from itertools import combinations
from uuid import UUID

from stepgraph.checkpoint.imports.xxh3 import xxh3_128
from stepgraph.values.names import NS_END, NS_SEP, PULL, PUSH


def task_ids(
    checkpoint_id: str, namespace: str, step: int, node: str, parts: Sequence[str]
) -> tuple[str, str]:
    """The ids that a task may have: of versions that store checkpoints of form 4, and of older ones.

    Args:
        checkpoint_id: The checkpoint that the task starts from.
        namespace: Where the task's graph runs; of a call, where its caller runs graphs.
        step: The superstep.
        node: The node's name; of a call, the task function's.
        parts: What tells this task from others of the node.
    """
    place = f"{namespace}{NS_SEP}{node}" if namespace else node
    seed = UUID(checkpoint_id).bytes + "".join((place, str(step), node, *parts)).encode()
    return _as_id(xxh3_128(seed)), _as_id(sha1(seed, usedforsecurity=False).hexdigest())


def _as_id(h: str) -> str:
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:32]}"


def node_parts(triggers: Iterable[str]) -> list[list[str]]:
    """The parts of a task that these channels may have triggered: all that are likely, the likeliest first."""
    names = sorted(triggers)
    sizes = range(len(names), 0, -1) if len(names) <= 4 else (len(names), 1)
    return [[PULL, *some] for size in sizes for some in combinations(names, size)]


def send_parts(index: int) -> list[str]:
    """The parts of a task that the `Send` at this index made."""
    return [PUSH, str(index)]


def call_parts(caller_path: str, number: int) -> list[str]:
    """The parts of a call: the path of the caller and the number of the call."""
    return [PUSH, caller_path, str(number)]


def question_ids(namespace: str, node: str, task: str, answered: int) -> frozenset[str]:
    """The ids that the question of a task has which got this many answers; older versions did not count the answers."""
    place = f"{namespace}{NS_SEP if namespace else ''}{node}{NS_END}{task}"
    return frozenset((seeded(place), seeded(f"{place}{NS_SEP}{answered}")))


def seeded(namespace: str) -> str:
    """The id of the questions of the task whose graphs would run in a namespace."""
    return xxh3_128(namespace.encode())
