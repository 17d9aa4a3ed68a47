"""How a person configures a store in PostgreSQL.

Rules of this file: configuration as data, and the checks of it.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict, get_args

from stepgraph.store.base.config import IndexConfig
from stepgraph.store.postgres.dialect import EXTENSION_TYPES, Distance


class PoolConfig(TypedDict, total=False):
    """How many connections a store opens.

    Attributes:
        min_size: So many are kept open (default 1).
        max_size: So many are opened at most; `None` for as many as `min_size`.
        kwargs: Arguments for each connection, see `psycopg.connect`.
    """

    min_size: int
    max_size: int | None
    kwargs: dict[str, Any]


class ANNIndexConfig(TypedDict, total=False):
    """An index that finds near vectors without looking at all of them. It may miss some.

    Attributes:
        kind: `"flat"` (the default) makes none: every vector is compared, and none is missed.
        vector_type: `"halfvec"` stores numbers of 16 bits instead of 32 (`"vector"`, the default).
    """

    kind: Literal["hnsw", "ivfflat", "flat"]
    vector_type: Literal["vector", "halfvec"]


class HNSWConfig(ANNIndexConfig, total=False):
    """A graph of neighbours: quick to search, slow to build.

    Attributes:
        m: Neighbours of a vector; the server's default is 16.
        ef_construction: Candidates that are looked at while it is built; the server's default is 64.
    """

    m: int
    ef_construction: int


class IVFFlatConfig(ANNIndexConfig, total=False):
    """Lists of vectors that are near each other: quick to build, best made when there are vectors already.

    Attributes:
        nlist: How many lists; the server's default is 100.
    """

    nlist: int


class PostgresIndexConfig(IndexConfig, total=False):
    """How a PostgreSQL store embeds values for search, see `IndexConfig`.

    Attributes:
        ann_index_config: An index for near vectors; left out, every vector below the namespace is compared.
        distance_type: What makes two texts near: `"cosine"` (the default), `"l2"` or `"inner_product"`.
    """

    ann_index_config: ANNIndexConfig
    distance_type: Distance


NO_ANN_INDEX = ANNIndexConfig()


def distance_of(index: IndexConfig | None) -> Distance:
    """The distance that an index is configured with.

    Raises:
        ValueError: If there is no such distance.
    """
    distance: Any = (index or {}).get("distance_type") or "cosine"
    return _one_of("distance_type", distance, get_args(Distance))  # type: ignore[no-any-return]


def ann_of(index: IndexConfig | None) -> ANNIndexConfig:
    """The index for near vectors that is configured.

    Raises:
        ValueError: If the configuration is not one, or the length of the vectors is missing.
    """
    ann: Any = (index or {}).get("ann_index_config") or NO_ANN_INDEX
    kind = _one_of("kind", ann.get("kind") or "flat", ("hnsw", "ivfflat", "flat"))
    _one_of("vector_type", ann.get("vector_type") or "vector", EXTENSION_TYPES)
    if kind != "flat" and not (index or {}).get("dims"):
        raise ValueError(
            f"An index of the kind {kind!r} needs to know how long the vectors are: give the store's index `dims`."
        )
    return ann  # type: ignore[no-any-return]


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> Any:
    if value not in allowed:
        raise ValueError(
            f"The store's index is configured with {name}={value!r}. It is one of {', '.join(map(repr, allowed))}."
        )
    return value
