"""The config that LangChain's own code finds when a node calls it without passing one on.

Theory of operation. LangChain looks into a ContextVar for the config of the code around a call. While a run is being driven
that variable holds one object, `TASK_CONFIG`, that looks up the task whose code is asking, and behaves like that task's
config dict. So nothing is built and nothing is called for a task that does not ask; a thread, an asyncio task or a tool that
runs in a copy of the node's context finds the right one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from stepgraph.pregel.task import current_task


class TaskConfig(dict[str, Any]):
    """The config of whichever task is running; empty, and false, outside of a run."""

    @property
    def now(self) -> dict[str, Any]:
        """The dict itself, as it is here and now."""
        task = current_task()
        return {} if task is None else task.config

    def __bool__(self) -> bool:
        return current_task() is not None

    def __len__(self) -> int:
        return len(self.now)

    def __iter__(self) -> Iterator[str]:
        return iter(self.now)

    def __contains__(self, key: object) -> bool:
        return key in self.now

    def __getitem__(self, key: str) -> Any:
        return self.now[key]

    def get(self, key: str, default: Any = None) -> Any:
        return self.now.get(key, default)

    def keys(self) -> Any:
        return self.now.keys()

    def values(self) -> Any:
        return self.now.values()

    def items(self) -> Any:
        return self.now.items()

    def copy(self) -> dict[str, Any]:
        return self.now.copy()

    def __or__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return self.now | other  # type: ignore[no-any-return]

    def __ror__(self, other: Any) -> dict[str, Any]:  # type: ignore[override]
        return other | self.now  # type: ignore[no-any-return]

    def __eq__(self, other: object) -> bool:
        return self is other or self.now == other

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> Any:
        return (dict, (self.now,))

    def __copy__(self) -> dict[str, Any]:
        return self.now.copy()

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        from copy import deepcopy

        return deepcopy(self.now, memo)

    def __repr__(self) -> str:
        return repr(self.now)


TASK_CONFIG = TaskConfig()
