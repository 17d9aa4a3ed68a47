"""What all levels of one root run share, and what one level adds to it.

A root run makes one `Scope`; each nested graph that inherits from it works with the same object, so settings travel
down without being copied into config dicts. Rules: plain data and references, no behaviour that waits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.identity import without_task_ids
from stepgraph.values.missing import MISSING
from stepgraph.values.names import NS_SEP

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task
    from stepgraph.stream.sink import Sink
    from stepgraph.values.migrations import Migration

NO_CONFIG: Mapping[str, Any] = {}


class Answers:
    """What a person answered now: by interrupt id, and at most one value without an id.

    `by_id` is looked up by every `interrupt()` of the run, at any level. `value` continues a static breakpoint, and is
    taken once by the first question that no id answers.
    """

    __slots__ = ("by_id", "value")

    def __init__(self, by_id: dict[str, Any], value: Any = MISSING) -> None:
        self.by_id = by_id
        self.value = value

    def take_value(self) -> Any:
        value, self.value = self.value, MISSING
        return value

    def free_lone(self) -> None:
        """A person edited the level that asked, so its question has another id now: the lone answer is for it all the same."""
        if len(self.by_id) == 1 and self.value is MISSING:
            self.value = next(iter(self.by_id.values()))


class Replay:
    """A run that starts at an old checkpoint: children look for their newest checkpoint from before it, once each."""

    __slots__ = ("before", "visited")

    def __init__(self, before: str) -> None:
        self.before = before
        self.visited: set[str] = set()


class Scope:
    """Everything that one root run and its nested graphs have in common."""

    __slots__ = (
        "__weakref__",
        "answers",
        "callbacks",
        "checkpoint_map",
        "clock",
        "concurrency",
        "config",
        "context",
        "control",
        "debug",
        "durability",
        "hold",
        "kept_answers",
        "limit",
        "loop_host",
        "max_concurrency",
        "metadata",
        "new_id",
        "now",
        "observer",
        "quiet_unknown",
        "recorder",
        "replay",
        "rewind",
        "root",
        "run_id",
        "saver",
        "slots",
        "stamp",
        "started_by",
        "store",
        "subgraphs",
        "thread_id",
        "waiting",
        "writer_id",
    )

    def __init__(self, config: Mapping[str, Any], new_id: Callable[[], str]) -> None:
        self.config = config
        self.new_id = new_id
        self.stamp: Callable[[], str]
        self.now: Any = None
        self.limit = config.get("recursion_limit", 10007)
        self.saver: Any = None
        self.thread_id: Any = None
        self.durability = "async"
        self.context: Any = None
        self.store: Any = None
        self.clock: Any = None
        self.control: Any = None
        self.callbacks: Any = None
        self.observer: Any = None
        self.metadata: dict[str, Any] = {}
        self.answers: Answers | None = None
        self.kept_answers: dict[str, Any] = {}
        self.replay: Replay | None = None
        self.checkpoint_map: dict[str, str] = {}
        self.concurrency = "detect"
        self.rewind = False
        self.root = self
        self.started_by: Any = None
        self.recorder: Any = None
        self.subgraphs = False
        self.debug = False
        self.quiet_unknown = False
        self.run_id: Any = None
        self.loop_host: Any = None
        self.max_concurrency: int | None = None
        self.slots: Any = None
        self.waiting: Any = None
        self.writer_id: str | None = None
        self.hold: Any = None

    def twin(self) -> Scope:
        """The same run, for a nested graph that differs in something."""
        twin = Scope.__new__(Scope)
        for name in Scope.__slots__[1:]:
            setattr(twin, name, getattr(self, name))
        return twin

    def without_saver(self) -> Scope:
        """The same run for a nested graph that stores nothing."""
        twin = self.twin()
        twin.saver = twin.recorder = None
        return twin


class Level:
    """How one graph runs at one level: its namespace, where its events go, where it stops."""

    __slots__ = (
        "config",
        "count",
        "deep_migrations",
        "interrupt_after",
        "interrupt_before",
        "limit",
        "namespace",
        "output_channels",
        "parents",
        "persistent",
        "sink",
    )

    def __init__(self, namespace: str | None = "") -> None:
        self.namespace = namespace
        self.sink: Sink | None = None
        self.interrupt_before: Any = None
        self.interrupt_after: Any = None
        self.output_channels: Any = None
        self.parents: dict[str, str] = {}
        self.persistent = False
        self.count = 0
        self.deep_migrations: tuple[tuple[tuple[str, ...], Migration], ...] = ()
        self.config: Mapping[str, Any] | None = None
        self.limit: int | None = None

    def place(self, parent: Task) -> str:
        """The namespace of a graph that `parent` calls: the task's, a number for a further call, ids cut if it persists."""
        namespace = parent.namespace if self.count == 0 else f"{parent.namespace}{NS_SEP}{self.count}"
        return without_task_ids(namespace) if self.persistent else namespace
