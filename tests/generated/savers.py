"""Savers with the faults of real ones: they stop storing after the k-th save, as a process that dies there would, or
they are slow.

Two kinds of a saver that stops, since an engine may take two ways to a saver: `plain` overrides `put` and `put_writes` only, so it gets the
plain protocol; `direct` also offers `put_step` where the package's memory saver has one. Both write down which task's
writes were stored, and keep what was stored before the cut.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from .build import Setting

UNFINISHED = frozenset({"__interrupt__", "__resume__", "__error__", "__scheduled__"})


class Cut(Exception):
    """What a save raises after the cut."""


class Budget:
    """How many saves may still succeed; `saves` counts those that did."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.saves = 0
        self.finished: set[tuple[str, str]] = set()
        self.lock = threading.Lock()

    def spend(self) -> None:
        """Count one save, or raise where none is left."""
        with self.lock:
            if self.left is not None:
                if self.left <= 0:
                    raise Cut("the process ended before this save")
                self.left -= 1
            self.saves += 1

    def note(self, config: Any, writes: Any, task: str) -> None:
        """Remember a task whose writes are stored: it must never run again."""
        if any(channel not in UNFINISHED and not channel.startswith("__error") for channel, _ in writes):
            namespace = config["configurable"].get("checkpoint_ns", "")
            with self.lock:
                self.finished.add((namespace, task))


def cut_saver(setting: Setting, budget: Budget, kind: str = "plain") -> Any:
    """A memory saver of the package that spends `budget` on every save."""
    base: Any = setting.module("checkpoint.memory").InMemorySaver

    def put(self: Any, config: Any, *rest: Any, **named: Any) -> Any:
        budget.spend()
        return base.put(self, config, *rest, **named)

    def put_writes(self: Any, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        budget.spend()
        base.put_writes(self, config, writes, task_id, task_path)
        budget.note(config, writes, task_id)

    async def aput(self: Any, config: Any, *rest: Any, **named: Any) -> Any:
        return put(self, config, *rest, **named)

    async def aput_writes(self: Any, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        put_writes(self, config, writes, task_id, task_path)

    members: dict[str, Any] = {
        "put": put,
        "put_writes": put_writes,
        "aput": aput,
        "aput_writes": aput_writes,
        "get_tuple": lambda self, config: base.get_tuple(self, config),
    }
    if kind == "direct" and hasattr(base, "put_step"):

        def put_step(self: Any, config: Any, changes: Any, *rest: Any, **named: Any) -> None:
            budget.spend()
            base.put_step(self, config, changes, *rest, **named)
            for task_id, _, writes in changes.writes:
                budget.note(config, writes, task_id)

        async def aput_step(self: Any, config: Any, changes: Any, *rest: Any, **named: Any) -> None:
            put_step(self, config, changes, *rest, **named)

        members |= {"put_step": put_step, "aput_step": aput_step}
    return type("CutSaver", (base,), members)()


def slow_saver(setting: Setting, seconds: float = 0.0005) -> Any:
    """A memory saver of the package that takes its time for every save."""
    base: Any = setting.module("checkpoint.memory").InMemorySaver

    def put(self: Any, *arguments: Any, **named: Any) -> Any:
        time.sleep(seconds)
        return base.put(self, *arguments, **named)

    def put_writes(self: Any, *arguments: Any, **named: Any) -> Any:
        time.sleep(seconds)
        return base.put_writes(self, *arguments, **named)

    return type("SlowSaver", (base,), {"put": put, "put_writes": put_writes})()
