"""`InMemoryStore`: a store in this process's memory. A face: the definition lives in `store.py`."""

from stepgraph.store.memory.store import InMemoryStore

__all__ = ["InMemoryStore"]
