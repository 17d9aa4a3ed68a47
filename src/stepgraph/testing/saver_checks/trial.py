"""What checks are written with: calls to yield, threads of their own, and comparisons that say what was expected.

Rules: no waiting and no saver here; who runs a check makes the calls that it yields.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from uuid import uuid4

from stepgraph.checkpoint.base import Checkpoint, empty_checkpoint

__all__ = ("Call", "Check", "Steps", "Together", "Trial", "check", "id_of")


class Call(NamedTuple):
    """One call of a saver's method, by its synchronous name. `list` answers a list."""

    method: str
    args: tuple[Any, ...] = ()
    options: Mapping[str, Any] = {}


class Together(NamedTuple):
    """Several calls at once, from as many threads or tasks; answers what each gave, or the exception that it raised."""

    calls: Sequence[Call]


Steps: TypeAlias = Generator[Any, Any, None]


class Check(NamedTuple):
    """One behaviour.

    Attributes:
        name: Its name.
        requirement: What a saver must do, in a sentence or two.
        needs: The capability that it is about.
        steps: Does it.
    """

    name: str
    requirement: str
    needs: str
    steps: Callable[[Trial], Steps]


def check(needs: str, steps: Callable[[Trial], Steps]) -> Check:
    """A check made of its function."""
    return Check(steps.__name__, " ".join((steps.__doc__ or "").split()), needs, steps)


class Trial:
    """One run of one check.

    Attributes:
        saver: The saver, for what is not called through `Call`: pure methods that never wait.
        thread: A thread that nobody else uses.
    """

    def __init__(self, saver: Any) -> None:
        self.saver = saver
        self.thread = f"conformance-{uuid4().hex}"

    def at(self, namespace: str = "", checkpoint_id: str | None = None, **where: Any) -> dict[str, Any]:
        """The config that names a namespace of the trial's thread, or one checkpoint of it."""
        configurable = {"thread_id": self.thread, "checkpoint_ns": namespace, **where}
        if checkpoint_id is not None:
            configurable["checkpoint_id"] = checkpoint_id
        return {"configurable": configurable}

    def other(self, name: str = "other") -> str:
        """Another thread that nobody else uses."""
        return f"{self.thread}-{name}"

    def checkpoint(self, version: Any = 1, **values: Any) -> Checkpoint:
        """A checkpoint whose channels all have one version."""
        made = empty_checkpoint()
        made["channel_values"] = values
        made["channel_versions"] = dict.fromkeys(values, version)
        return made

    def put(self, config: Mapping[str, Any], version: Any = 1, /, *, step: int = 0, **values: Any) -> Call:
        """A call that puts a checkpoint of these values, all of them new."""
        made = self.checkpoint(version, **values)
        metadata = {"source": "loop", "step": step, "parents": {}}
        return Call("put", (config, made, metadata, dict(made["channel_versions"])))

    def get(self, config: Mapping[str, Any]) -> Call:
        """A call of `get_tuple`."""
        return Call("get_tuple", (config,))

    def list(self, config: Mapping[str, Any] | None, **options: Any) -> Call:
        """A call of `list`."""
        return Call("list", (config,), options)

    def same(self, got: Any, wanted: Any, what: str) -> None:
        """Fail unless they are equal, and of the same type.

        Raises:
            AssertionError: They are not.
        """
        if type(got) is not type(wanted) or got != wanted:
            raise AssertionError(f"{what}: expected {wanted!r}, got {got!r}.")

    def holds(self, truth: object, what: str) -> None:
        """Fail unless it is true.

        Raises:
            AssertionError: It is not.
        """
        if not truth:
            raise AssertionError(what)

    def found(self, got: Any, what: str) -> Any:
        """Fail where nothing was found; else what was found.

        Raises:
            AssertionError: It is `None`.
        """
        if got is None:
            raise AssertionError(f"{what}: nothing was found.")
        return got

    def values(self, config: Mapping[str, Any], what: str) -> Generator[Any, Any, dict[str, Any]]:
        """The values of a checkpoint."""
        got = self.found((yield self.get(config)), what)
        values: dict[str, Any] = got.checkpoint["channel_values"]
        return values

    def refused(self, call: Call, *kinds: type[Exception], what: str) -> Generator[Any, Any, Exception]:
        """The error that a call raises.

        Raises:
            AssertionError: It raises none.
        """
        try:
            yield call
        except kinds as error:
            return error
        raise AssertionError(f"{what}: it was accepted.")


def id_of(config: Mapping[str, Any]) -> str:
    """The checkpoint that a config names."""
    return str(config["configurable"]["checkpoint_id"])
