"""The store protocol and the rules that all stores share.

This file is a face: it re-exports. The definitions live beside it, one subject each:

| file | subject |
|---|---|
| `items` | `Item`, `SearchItem` |
| `ops` | the operations, as values |
| `namespaces` | which namespaces are allowed; selecting some of them |
| `filters` | what it means that a value matches a filter |
| `paths`, `embed`, `indexing`, `vectors` | what of a value is embedded, by what, and how near two vectors are |
| `config` | `IndexConfig`, `TTLConfig` |
| `plan` | a batch, checked and grouped |
| `program` | work as a generator of requests, and its two runners |
| `protocol` | `BaseStore` |
| `batch` | `AsyncBatchedBaseStore` (needs asyncio, so it is not imported here) |
| `sweeper` | removing expired items in a thread |
"""

from stepgraph.store.base.config import IndexConfig, TTLConfig
from stepgraph.store.base.embed import (
    AEmbeddingsFunc,
    Embeddings,
    EmbeddingsFunc,
    ensure_embeddings,
    get_text_at_path,
    tokenize_path,
)
from stepgraph.store.base.items import Item, SearchItem
from stepgraph.store.base.namespaces import InvalidNamespaceError, validate_op_namespace
from stepgraph.store.base.ops import (
    NOT_PROVIDED,
    GetOp,
    ListNamespacesOp,
    MatchCondition,
    NamespaceMatchType,
    NamespacePath,
    NotProvided,
    Op,
    PutOp,
    Result,
    SearchOp,
)
from stepgraph.store.base.protocol import BaseStore

__all__ = [
    "NOT_PROVIDED",
    "AEmbeddingsFunc",
    "BaseStore",
    "Embeddings",
    "EmbeddingsFunc",
    "GetOp",
    "IndexConfig",
    "InvalidNamespaceError",
    "Item",
    "ListNamespacesOp",
    "MatchCondition",
    "NamespaceMatchType",
    "NamespacePath",
    "NotProvided",
    "Op",
    "PutOp",
    "Result",
    "SearchItem",
    "SearchOp",
    "TTLConfig",
    "ensure_embeddings",
    "get_text_at_path",
    "tokenize_path",
    "validate_op_namespace",
]
