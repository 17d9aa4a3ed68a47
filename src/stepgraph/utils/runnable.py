"""The public face of `RunnableCallable`. Its definition lives in `stepgraph.compat.internal`; it needs LangChain."""

from __future__ import annotations

from stepgraph.compat.internal.runnable import RunnableCallable, RunnableLike

__all__ = ("RunnableCallable", "RunnableLike")
