"""The part of a graph's face that forgets cached results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.pregel.plan import Plan


class Clearing:
    """Forgetting what nodes of a graph, and of graphs inside it, left in its cache."""

    cache: Any
    plan: Plan

    def clear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """Forget cached results of nodes, also of those in graphs inside that use this graph's cache.

        Args:
            nodes: Which nodes; left out, all.

        Raises:
            ValueError: The graph has no node of that name.
        """
        if self.cache is not None:
            self.cache.clear(self._cache_namespaces(nodes))

    async def aclear_cache(self, nodes: Sequence[str] | None = None) -> None:
        """The same as `clear_cache`, awaited."""
        if self.cache is not None:
            await self.cache.aclear(self._cache_namespaces(nodes))

    def _cache_namespaces(self, nodes: Sequence[str] | None) -> list[tuple[str, ...]]:
        from stepgraph.pregel.caching import cache_namespaces

        return cache_namespaces(self.plan, nodes)
