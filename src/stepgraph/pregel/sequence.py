"""Several actions in a row, as one: each gets what the one before it returned."""

from __future__ import annotations

from collections.abc import Sequence as Actions
from typing import Any

from stepgraph.pregel.call import is_async_callable


class Sequence:
    """Actions that run one after the other; it looks like any other object with `invoke` and `ainvoke`."""

    def __init__(self, actions: Actions[Any]) -> None:
        self.actions = tuple(actions)

    def invoke(self, input: Any, config: Any = None) -> Any:
        """Run them all on this thread."""
        value = input
        for action in self.actions:
            value = action.invoke(value, config) if hasattr(action, "invoke") else action(value)
        return value

    async def ainvoke(self, input: Any, config: Any = None) -> Any:
        """Run them all, awaiting those that are asynchronous."""
        value = input
        for action in self.actions:
            if hasattr(action, "ainvoke"):
                value = await action.ainvoke(value, config)
            elif is_async_callable(action):
                value = await action(value)
            else:
                value = action(value)
        return value
