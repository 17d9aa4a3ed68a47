"""How a person configures a store: `IndexConfig` for vector search and `TTLConfig` for expiry.

Rules of this file: configuration as data, and the pure functions that read it.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TypedDict

from stepgraph.store.base.embed import AEmbeddingsFunc, Embeddings, EmbeddingsFunc
from stepgraph.store.base.ops import NOT_PROVIDED, NotProvided

DEFAULT_SWEEP_MINUTES = 5.0


class IndexConfig(TypedDict, total=False):
    """How a store embeds values for search.

    Attributes:
        dims: The length of the vectors.
        embed: What makes vectors from texts: an object with `embed_documents` and `embed_query`, a function from a list
            of texts to a list of vectors (sync or async), or a `"provider:model"` text for LangChain.
        fields: Paths of the value to embed, such as `"title"`, `"chapters[*].text"`; `["$"]` (the default) embeds the
            whole value.
    """

    dims: int
    embed: Embeddings | EmbeddingsFunc | AEmbeddingsFunc | str
    fields: list[str] | None


class TTLConfig(TypedDict, total=False):
    """How items of a store expire.

    Attributes:
        refresh_on_read: Whether a read starts an item's time to live anew (default true).
        omit_expired: Whether items that are expired but not swept yet are left out of reads (default true).
        default_ttl: Minutes to live for items that are written without a `ttl`; `None` (the default) for ever.
        sweep_interval_minutes: Minutes between two sweeps (default 5).
    """

    refresh_on_read: bool
    omit_expired: bool
    default_ttl: float | None
    sweep_interval_minutes: float | None


def effective_ttl(config: TTLConfig | None, ttl: float | NotProvided | None) -> float | None:
    """The minutes to live of an item that is written with `ttl`, which may have been left out."""
    if isinstance(ttl, NotProvided):
        return config.get("default_ttl") if config else None
    return ttl


def effective_refresh(config: TTLConfig | None, refresh: bool | None) -> bool:
    """Whether a read refreshes, where the caller may have left it open."""
    if refresh is not None:
        return refresh
    return config.get("refresh_on_read", True) if config else True


def omits_expired(config: TTLConfig | None) -> bool:
    """Whether reads leave out what is expired but not swept yet."""
    return config.get("omit_expired", True) if config else True


def sweep_seconds(config: TTLConfig | None, minutes: float | None) -> float:
    """Seconds between two sweeps: from the call, else from the configuration, else the default."""
    configured = config.get("sweep_interval_minutes") if config else None
    return (minutes or configured or DEFAULT_SWEEP_MINUTES) * 60.0


def expiry(now: datetime, ttl: float | None) -> datetime | None:
    """When an item that is written or refreshed `now` expires."""
    return None if ttl is None else now + timedelta(minutes=ttl)


def utc_now() -> datetime:
    """The time, with its zone."""
    return datetime.now(UTC)


__all__ = [
    "NOT_PROVIDED",
    "IndexConfig",
    "TTLConfig",
    "effective_refresh",
    "effective_ttl",
    "expiry",
    "omits_expired",
    "sweep_seconds",
    "utc_now",
]
