"""Copying threads from a source into a saver: what is there already stays, what cannot be taken over is named.

Theory of operation. Checkpoints are stored the oldest first, each followed by what its tasks wrote; so a copy that was broken off is a thread that lacks its last checkpoints, and the next import adds them.
A thread that went on in the target is not touched any more.

Rules: knows no table; asks the source, and tells the saver.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.imports.convert import convert, tasks_below
from stepgraph.checkpoint.imports.older import is_older
from stepgraph.checkpoint.imports.source import Found, Source
from stepgraph.checkpoint.imports.storing import Storing
from stepgraph.checkpoint.imports.values import NotReadable, take_over
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, NotStorableError, PlainDataWarning
from stepgraph.values.names import TASKS

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import BaseCheckpointSaver
    from stepgraph.checkpoint.serde.ciphers import AesCipher

__all__ = ("Problem", "ThreadReport", "import_threads")

Key = tuple[str, str]
"""Namespace and checkpoint id."""


class Problem:
    """Something that was not taken over.

    Attributes:
        thread_id: The thread.
        namespace: The level; the root is the empty string.
        checkpoint_id: The checkpoint; `None` for the whole thread.
        reason: Why, and what to do.
    """

    __slots__ = ("checkpoint_id", "namespace", "reason", "thread_id")

    def __init__(self, thread_id: str, namespace: str, checkpoint_id: str | None, reason: str) -> None:
        self.thread_id = thread_id
        self.namespace = namespace
        self.checkpoint_id = checkpoint_id
        self.reason = reason

    def __str__(self) -> str:
        where = f"thread {self.thread_id!r}"
        if self.namespace:
            where += f", namespace {self.namespace!r}"
        if self.checkpoint_id is not None:
            where += f", checkpoint {self.checkpoint_id}"
        return f"{where}: {self.reason}"


class ThreadReport:
    """What became of one thread.

    Attributes:
        thread_id: The thread.
        stored: How many checkpoints were stored (in a dry run: would be).
        present: How many were there already.
        problems: What was not taken over.
    """

    __slots__ = ("present", "problems", "stored", "thread_id")

    def __init__(self, thread_id: str) -> None:
        self.thread_id = thread_id
        self.stored = 0
        self.present = 0
        self.problems: list[Problem] = []


def import_threads(
    source: Source,
    saver: BaseCheckpointSaver[Any],
    thread_ids: Iterable[str] | None = None,
    *,
    cipher: AesCipher | None = None,
    dry_run: bool = False,
    told: Callable[[ThreadReport], None] | None = None,
) -> list[ThreadReport]:
    """Copy threads.

    Args:
        source: Where they are.
        saver: Where they go.
        thread_ids: Which; by default all.
        cipher: Decrypts, where values are encrypted.
        dry_run: Read and convert everything, and store nothing.
        told: Called after each thread.

    Returns:
        What became of each thread.
    """
    reports = []
    known = set(source.threads())
    for thread_id in sorted(known) if thread_ids is None else thread_ids:
        report = ThreadReport(thread_id)
        if thread_id in known:
            _Thread(source, saver, report, cipher, dry_run).run()
        else:
            report.problems.append(Problem(thread_id, "", None, f"it is not stored in {source.name}"))
        reports.append(report)
        if told is not None:
            told(report)
    return reports


class _Thread:
    """The copying of one thread."""

    def __init__(
        self,
        source: Source,
        saver: BaseCheckpointSaver[Any],
        report: ThreadReport,
        cipher: AesCipher | None,
        dry_run: bool,
    ) -> None:
        self.source = source
        self.saver = saver
        self.report = report
        self.cipher = cipher
        self.dry_run = dry_run
        self.storing = Storing(saver, report.thread_id)

    def run(self) -> None:
        thread_id = self.report.thread_id
        found = self.source.checkpoints(thread_id)
        keys = {(item.namespace, item.id) for item in found}
        present = self._present()
        self.report.present = len(present.keys() & keys)
        if present.keys() - keys:
            missing = len(keys - present.keys())
            if missing:
                self._refuse(
                    None,
                    f"the target has {len(present.keys() - keys)} checkpoints of it that the source has not, and lacks"
                    f" {missing} of the source's: it went on in both places. Nothing of it was stored; import it into"
                    " another database, or delete the thread in the target first",
                )
            return
        below = self._below(found)
        for item in found:
            key = (item.namespace, item.id)
            try:
                content = self._with_sends(item, self.source.content(thread_id, item))
                writes = self.source.writes(thread_id, item)
                converted = convert(item, content, writes, below.get(key, {}), self.cipher)
                if not self.dry_run:
                    self.storing.add(item, converted, present.get(key))
            except (NotReadable, NotStorableError, CorruptPayloadError) as error:
                self._refuse(item, f"{error}")
                continue
            if key not in present:
                self.report.stored += 1
        self.storing.flush()

    def _with_sends(self, item: Found, content: Mapping[str, Any]) -> Mapping[str, Any]:
        """A checkpoint of an older form that has no `Send`s beside it: with those that were written against its parent."""
        if not is_older(content) or content.get("pending_sends") or item.parent is None:
            return content
        parent = item._replace(id=item.parent)
        sends = [
            take_over(write.tag, write.data, self.cipher)
            for write in self.source.writes(self.report.thread_id, parent)
            if write.channel == TASKS
        ]
        return {**content, "pending_sends": sends}

    def _present(self) -> dict[Key, set[str]]:
        """What the target has of the thread: of each checkpoint the tasks that wrote."""
        config: Any = {"configurable": {"thread_id": self.report.thread_id}}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PlainDataWarning)  # values are not looked at here
            return {
                (item.config["configurable"]["checkpoint_ns"], item.checkpoint["id"]): {
                    write[0] for write in item.pending_writes or ()
                }
                for item in self.saver.list(config)
            }

    def _below(self, found: Iterable[Found]) -> dict[Key, dict[str, str]]:
        """Checkpoint to the ids of its tasks that run graphs, each with a namespace of such a graph."""
        below: dict[Key, dict[str, str]] = {}
        for item in found:
            parents = (item.metadata or {}).get("parents")
            if not item.namespace or not isinstance(parents, dict):
                continue
            for namespace, checkpoint_id, task_id in tasks_below(item.namespace, parents):
                below.setdefault((namespace, checkpoint_id), {})[task_id] = item.namespace
        return below

    def _refuse(self, item: Found | None, reason: str) -> None:
        problem = Problem(
            self.report.thread_id, item.namespace if item else "", item.id if item else None, f"{reason}."
        )
        self.report.problems.append(problem)
