"""Embedding functions: what a store calls to turn texts into vectors.

Rules of this file: it adapts what a person gives to one shape (`Embeddings`). LangChain is never imported here, but its
embeddings fit as they are: the shape is recognised by its methods.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from importlib import import_module
from typing import Any, cast

from stepgraph.store.base.paths import get_text_at_path, tokenize_path

EmbeddingsFunc = Callable[[Sequence[str]], list[list[float]]]
"""A function from texts to vectors."""

AEmbeddingsFunc = Callable[[Sequence[str]], Awaitable[list[list[float]]]]
"""An async function from texts to vectors."""

_COROUTINE_FLAG = 0x80


class Embeddings(ABC):
    """What turns texts into vectors.

    Any class with `embed_documents` and `embed_query` is one, LangChain's embeddings too.
    """

    @classmethod
    def __subclasshook__(cls, candidate: type) -> Any:
        if cls is Embeddings:
            return all(
                callable(getattr(candidate, name, None)) for name in ("embed_documents", "embed_query")
            )
        return NotImplemented

    @abstractmethod
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts that are to be found."""

    @abstractmethod
    def embed_query(self, text: str) -> list[float]:
        """The vector of a text to search with."""

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """As `embed_documents`, off the event loop."""
        from asyncio import to_thread  # a coroutine runs: the module is loaded

        return await to_thread(self.embed_documents, texts)

    async def aembed_query(self, text: str) -> list[float]:
        """As `embed_query`, off the event loop."""
        from asyncio import to_thread  # a coroutine runs: the module is loaded

        return await to_thread(self.embed_query, text)


class EmbeddingsLambda(Embeddings):
    """Embeddings made of one function.

    Args:
        func: A sync or async function from texts to vectors.
    """

    def __init__(self, func: EmbeddingsFunc | AEmbeddingsFunc) -> None:
        self._is_async = is_async_callable(func)
        self._func: Callable[[Sequence[str]], Any] = func

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts.

        Raises:
            ValueError: If the function is async.
        """
        if self._is_async:
            raise ValueError(
                "The store's embedding function is async, but a sync store method needed it."
                " Use the async methods (aput, asearch), or give the store a sync embedding function."
            )
        return cast("list[list[float]]", self._func(texts))

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text.

        Raises:
            ValueError: If the function is async.
        """
        return self.embed_documents([text])[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts; a sync function runs off the event loop."""
        if self._is_async:
            return cast("list[list[float]]", await self._func(texts))
        return await super().aembed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        """The vector of one text; a sync function runs off the event loop."""
        return (await self.aembed_documents([text]))[0]


class SyncEmbeddings(Embeddings):
    """Embeddings that have sync methods only, with async ones that run them off the event loop.

    Args:
        inner: The embeddings.
    """

    def __init__(self, inner: Embeddings) -> None:
        self._inner = inner

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """The vectors of texts."""
        return self._inner.embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        """The vector of one text."""
        return self._inner.embed_query(text)


def is_async_callable(func: Any) -> bool:
    """Whether calling this gives something to await: an async function, or an object with an async `__call__`."""
    while hasattr(func, "func"):  # functools.partial
        func = func.func
    call = func if hasattr(func, "__code__") else type(func).__call__
    code = getattr(call, "__code__", None)
    return code is not None and bool(code.co_flags & _COROUTINE_FLAG)


def ensure_embeddings(embed: Embeddings | EmbeddingsFunc | AEmbeddingsFunc | str | None) -> Embeddings:
    """Embeddings from whatever a person gives.

    Args:
        embed: Embeddings (returned as they are if they have async methods too), a sync or async function from texts to vectors, or a text such as
            `"openai:text-embedding-3-small"`, for which LangChain makes the embeddings.

    Returns:
        An object with `embed_documents`, `embed_query` and their async twins.

    Raises:
        ValueError: If nothing was given, or LangChain is needed and not installed.
        TypeError: If it is none of these.

    >>> ensure_embeddings(lambda texts: [[float(len(text))] for text in texts]).embed_query("abc")
    [3.0]
    """
    if embed is None:
        raise ValueError(
            "embed must be provided: an embedding function, an Embeddings object, or 'provider:model'."
        )
    if isinstance(embed, str):
        return _from_provider(embed)
    if isinstance(embed, Embeddings):
        return embed if hasattr(embed, "aembed_documents") else SyncEmbeddings(embed)
    if callable(embed):
        return EmbeddingsLambda(embed)
    raise TypeError(
        f"embed must be an embedding function, an Embeddings object or 'provider:model' text, got {type(embed).__name__}."
    )


def _from_provider(name: str) -> Embeddings:
    try:
        module = import_module("langchain.embeddings")
    except ImportError as error:
        raise ValueError(
            f"Could not load embeddings from string {name!r}: that needs LangChain and the provider's package"
            " (pip install 'langchain>=0.3.9' and, for example, 'langchain-openai'). Otherwise give an embedding"
            " function or an Embeddings object."
        ) from error
    return cast("Embeddings", module.init_embeddings(name))


__all__ = [
    "AEmbeddingsFunc",
    "Embeddings",
    "EmbeddingsFunc",
    "EmbeddingsLambda",
    "ensure_embeddings",
    "get_text_at_path",
    "is_async_callable",
    "tokenize_path",
]
