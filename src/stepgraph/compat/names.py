"""Which module answers which name of LangGraph's, and the versions that are modelled.

Rules of this file: data only. A name that is not listed here is either somebody else's or an error; nothing is answered
just because a module of ours happens to have that name.
"""

from __future__ import annotations

from typing import Final

ROOT: Final = "langgraph"
OURS: Final = "stepgraph"

VERSIONS: Final = {
    "langgraph": "1.2.24",
    "langgraph-checkpoint": "4.3.2",
    "langgraph-checkpoint-postgres": "3.2.0",
    "langgraph-checkpoint-sqlite": "3.1.2",
    "langgraph-prebuilt": "1.1.3",
}
"""Distributions that are answered here, and the versions whose behaviour is modelled."""

_SAME_PATH: Final = """
callbacks config constants errors runtime types typing version warnings
cache cache.base cache.memory cache.redis cache.sqlite
channels channels.any_value channels.base channels.binop channels.delta channels.ephemeral_value channels.last_value
channels.named_barrier_value channels.topic channels.untracked_value
checkpoint checkpoint.base checkpoint.memory
checkpoint.postgres checkpoint.postgres.aio checkpoint.postgres.base
checkpoint.serde checkpoint.serde.base checkpoint.serde.encrypted checkpoint.serde.event_hooks checkpoint.serde.jsonplus
checkpoint.serde.types
checkpoint.sqlite checkpoint.sqlite.aio
func
graph graph.message graph.state graph.ui
managed managed.base managed.is_last_step
prebuilt prebuilt.chat_agent_executor prebuilt.interrupt prebuilt.tool_node prebuilt.tool_validator
pregel pregel.main pregel.protocol pregel.remote pregel.types
store store.base store.base.batch store.base.embed store.memory
store.postgres store.postgres.aio store.postgres.base
store.sqlite store.sqlite.aio store.sqlite.base
stream stream._mux stream._types stream.run_stream stream.stream_channel stream.transformers
utils utils.config utils.runnable
"""

ANSWERED: Final = {
    ROOT: OURS,
    **{f"{ROOT}.{path}": f"{OURS}.{path}" for path in _SAME_PATH.split()},
    f"{ROOT}._internal": f"{OURS}.compat.internal",
    f"{ROOT}._internal._config": f"{OURS}.compat.internal.config",
    f"{ROOT}._internal._constants": f"{OURS}.compat.internal.constants",
    f"{ROOT}._internal._runnable": f"{OURS}.compat.internal.runnable",
    f"{ROOT}._internal._typing": f"{OURS}.compat.internal.typing",
}
"""LangGraph's name to the module of ours that stands under it."""

INSIDE_FILES: Final = {
    f"{ROOT}.checkpoint.base": (f"{ROOT}.checkpoint.base.id", f"{OURS}.compat.internal.ids")
}
"""Modules below what is a package there and a single file here; they come with it."""

CLOSED: Final = (
    "_internal",
    "callbacks",
    "channels",
    "config",
    "constants",
    "errors",
    "func",
    "graph",
    "managed",
    "prebuilt",
    "pregel",
    "runtime",
    "stream",
    "types",
    "typing",
    "utils",
    "version",
    "warnings",
    "cache.base",
    "cache.memory",
    "cache.redis",
    "cache.sqlite",
    "checkpoint.base",
    "checkpoint.memory",
    "checkpoint.postgres",
    "checkpoint.serde",
    "checkpoint.sqlite",
    "store.base",
    "store.memory",
    "store.postgres",
    "store.sqlite",
)
"""Parts of the namespace that belong to LangGraph's own distributions, with all below them."""


def is_closed(name: str) -> bool:
    """Whether a module of this name can only be LangGraph's own."""
    path = name.removeprefix(f"{ROOT}.")
    return any(path == part or path.startswith(f"{part}.") for part in CLOSED)
