"""The part of a compiled graph's face that looks at stored threads and writes to them from outside."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.checkpoint.base import get_checkpoint_metadata
from stepgraph.checkpoint.ids import next_checkpoint_id
from stepgraph.pregel.config import merge_configs
from stepgraph.pregel.opening import timestamp
from stepgraph.pregel.programs.snapshot import get_history, get_state
from stepgraph.pregel.programs.trampoline import arun_program, run_program
from stepgraph.pregel.programs.update import bulk_update
from stepgraph.pregel.scope import Scope
from stepgraph.pregel.task import current_task
from stepgraph.values.names import CONFIG_KEY_CHECKPOINTER, NS_SEP
from stepgraph.values.snapshots import StateUpdate

if TYPE_CHECKING:
    from stepgraph.pregel.plan import Plan
    from stepgraph.values.snapshots import StateSnapshot

Config = Mapping[str, Any]


class Inspecting:
    """State, history, updates, and the graphs inside a graph."""

    plan: Plan
    name: str
    checkpointer: Any
    store: Any
    config: Any
    concurrency: str

    def _located(self, config: Config) -> tuple[dict[str, Any], Any]:
        """The merged config and the saver it is about.

        Raises:
            ValueError: The graph has no saver, or the config no thread_id.
        """
        merged = merge_configs(self.config, config)
        configurable = merged.get("configurable") or {}
        saver = configurable.get(CONFIG_KEY_CHECKPOINTER) or self.checkpointer
        if saver is None or isinstance(saver, bool):
            raise ValueError(
                f"No checkpointer set: graph {self.name!r} keeps no threads. Compile it with checkpointer=..."
            )
        if "thread_id" not in configurable:
            raise ValueError("The config names no thread: pass {'configurable': {'thread_id': '...'}}.")
        return merged, saver

    def get_state(self, config: Config, *, subgraphs: bool = False) -> StateSnapshot:
        """The state of a thread: its values, what is due, and who is asked.

        Args:
            config: The thread, and a `checkpoint_id` for an older state or a `checkpoint_ns` for a nested graph.
            subgraphs: Put the states of nested graphs in full into `tasks`, instead of their configs.

        Raises:
            ValueError: There is no saver, or the config names no thread or no nested graph of this one.
        """
        merged, saver = self._located(config)
        return run_program(get_state(self, merged, subgraphs), saver)

    async def aget_state(self, config: Config, *, subgraphs: bool = False) -> StateSnapshot:
        """The same as `get_state`, awaited."""
        merged, saver = self._located(config)
        return await arun_program(get_state(self, merged, subgraphs), saver)

    def get_state_history(
        self,
        config: Config,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> Iterator[StateSnapshot]:
        """The states of a thread, newest first.

        Args:
            config: The thread, and a `checkpoint_ns` for a nested graph.
            filter: Metadata that the states must have.
            before: Only states older than this config's checkpoint.
            limit: At most so many.
        """
        merged, saver = self._located(config)
        yield from run_program(get_history(self, merged, filter, before, limit), saver)

    async def aget_state_history(
        self,
        config: Config,
        *,
        filter: dict[str, Any] | None = None,
        before: Config | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[StateSnapshot]:
        """The same as `get_state_history`, asynchronously."""
        merged, saver = self._located(config)
        for state in await arun_program(get_history(self, merged, filter, before, limit), saver):
            yield state

    def update_state(
        self, config: Config, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> dict[str, Any]:
        """Write to a thread as if a node had returned `values`.

        Args:
            config: The thread; with an older `checkpoint_id` the update makes a fork there.
            values: What the node is said to have returned.
            as_node: Which node; by default the one that ran last.
            task_id: The id under which the writes are kept.

        Returns:
            The config of the checkpoint that was made.

        Raises:
            InvalidUpdateError: Several nodes ran last and none was named, or the values do not fit the state.
            ValueError: There is no saver, or no such checkpoint.
        """
        return self.bulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    async def aupdate_state(
        self, config: Config, values: Any, as_node: str | None = None, task_id: str | None = None
    ) -> dict[str, Any]:
        """The same as `update_state`, awaited."""
        return await self.abulk_update_state(config, [[StateUpdate(values, as_node, task_id)]])

    def bulk_update_state(
        self, config: Config, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> dict[str, Any]:
        """Apply several supersteps of updates, one checkpoint each.

        Args:
            config: The thread.
            supersteps: Each a sequence of `StateUpdate(values, as_node, task_id)` that count as parallel.

        Raises:
            ValueError: There is none, or one is empty.
        """
        merged, saver = self._located(config)
        self._refuse_running(merged, saver)
        return run_program(bulk_update(self, merged, supersteps, self._scopes(merged, saver)), saver)

    async def abulk_update_state(
        self, config: Config, supersteps: Sequence[Sequence[StateUpdate]]
    ) -> dict[str, Any]:
        """The same as `bulk_update_state`, awaited."""
        merged, saver = self._located(config)
        self._refuse_running(merged, saver)
        return await arun_program(bulk_update(self, merged, supersteps, self._scopes(merged, saver)), saver)

    def _scopes(self, merged: Config, saver: Any) -> Any:
        def make(config: Config) -> Scope:
            scope = Scope(merged, next_checkpoint_id)
            scope.stamp = timestamp
            scope.saver, scope.store = saver, self.store
            scope.thread_id = config["configurable"]["thread_id"]
            scope.metadata = dict(get_checkpoint_metadata(merged, {}))
            scope.concurrency = self.concurrency
            scope.writer_id = "update_state"
            return scope

        return make

    def _refuse_running(self, merged: Config, saver: Any) -> None:
        """A node must not update the thread that it runs on: the update would be in conflict with its own run."""
        task = current_task()
        while task is not None:
            scope = task.machine.scope
            if scope.saver is saver and scope.thread_id == merged["configurable"]["thread_id"]:
                raise RuntimeError(
                    f"Node {task.node.name!r} called update_state on thread {scope.thread_id!r}, which its own run is at work on. "
                    "Return the update from the node instead (or Command(update=...)), or update another thread."
                )
            task = scope.started_by

    def get_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> Iterator[tuple[str, Any]]:
        """The graphs that nodes of this one run, with their namespaces without task ids.

        Args:
            namespace: Only the one there.
            recurse: Also graphs inside these.
        """
        for name, node in self.plan.nodes.items():
            if namespace is not None and namespace != name and not namespace.startswith(name + NS_SEP):
                continue
            for count, graph in enumerate(node.subgraphs):
                path = name if count == 0 else f"{name}{NS_SEP}{count}"
                if namespace is None or namespace == path:
                    yield path, graph
                    if namespace is not None:
                        return
                if recurse or namespace is not None:
                    rest = None if namespace is None else namespace[len(path) + 1 :]
                    if namespace is not None and not namespace.startswith(path + NS_SEP):
                        continue
                    for inner, found in graph.get_subgraphs(namespace=rest, recurse=recurse):
                        yield f"{path}{NS_SEP}{inner}", found

    async def aget_subgraphs(
        self, *, namespace: str | None = None, recurse: bool = False
    ) -> AsyncIterator[tuple[str, Any]]:
        """The same as `get_subgraphs`, asynchronously."""
        for found in self.get_subgraphs(namespace=namespace, recurse=recurse):
            yield found
