"""Embedding functions in all the shapes that a person may give."""

from __future__ import annotations

import asyncio
import functools
from importlib.util import find_spec

import pytest

from stepgraph.store.base import Embeddings, ensure_embeddings


def embed(texts):
    return [[float(len(text))] for text in texts]


async def aembed(texts):
    return embed(texts)


class Callable:
    async def __call__(self, texts):
        return embed(texts)


class Duck:
    def embed_documents(self, texts):
        return embed(texts)

    def embed_query(self, text):
        return [1.0]


def test_a_function_serves_sync_and_async_callers():
    made = ensure_embeddings(embed)
    assert made.embed_documents(["a", "bb"]) == [[1.0], [2.0]]
    assert made.embed_query("abc") == [3.0]
    assert asyncio.run(made.aembed_query("abc")) == [3.0]
    assert asyncio.run(made.aembed_documents(["a"])) == [[1.0]]


@pytest.mark.parametrize(
    "given", [aembed, Callable(), functools.partial(aembed)], ids=["function", "object", "partial"]
)
def test_an_async_function_serves_async_callers_only(given):
    made = ensure_embeddings(given)
    assert asyncio.run(made.aembed_query("abc")) == [3.0]
    with pytest.raises(ValueError, match="async"):
        made.embed_query("abc")


def test_embeddings_are_taken_as_they_are():
    made = ensure_embeddings(embed)
    assert ensure_embeddings(made) is made


def test_an_object_with_sync_methods_gets_async_ones():
    assert isinstance(Duck(), Embeddings)
    made = ensure_embeddings(Duck())
    assert made.embed_query("abc") == [1.0]
    assert asyncio.run(made.aembed_documents(["abc"])) == [[3.0]]


def test_a_class_of_ones_own_gets_async_methods():
    class Own(Embeddings):
        def embed_documents(self, texts):
            return embed(texts)

        def embed_query(self, text):
            return [1.0]

    assert asyncio.run(Own().aembed_documents(["abc"])) == [[3.0]]
    assert asyncio.run(Own().aembed_query("abc")) == [1.0]


@pytest.mark.skipif(find_spec("langchain") is not None, reason="langchain is installed")
def test_a_provider_needs_langchain():
    with pytest.raises(ValueError, match=r"'openai:x'.*pip install"):
        ensure_embeddings("openai:x")


@pytest.mark.parametrize(("given", "error"), [(None, ValueError), (5, TypeError)])
def test_anything_else_is_refused(given, error):
    with pytest.raises(error, match="embed must be"):
        ensure_embeddings(given)
