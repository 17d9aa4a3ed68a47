"""Programs: multi-step store work, written once as a generator that yields requests.

Rules of this file: request types and the two runners. A program decides; who runs it waits. The sync runner calls, the
async runner awaits; neither knows what the requests mean.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, NamedTuple, TypeVar

from stepgraph.store.base.indexing import Indexing
from stepgraph.store.base.plan import NOTHING_EMBEDDED, BatchPlan, Embedded

Outcome = TypeVar("Outcome")
Program = Generator[Any, Any, Outcome]


class Embed(NamedTuple):
    """A request for vectors; the answer is an `Embedded`.

    Attributes:
        texts: What will be found.
        queries: What to search with.
    """

    texts: list[str]
    queries: list[str]


def run(program: Program[Outcome], perform: Callable[[Any], Any]) -> Outcome:
    """Run a program; `perform` carries out one request."""
    try:
        request = next(program)
        while True:
            try:
                answer = perform(request)
            except BaseException as error:
                request = program.throw(error)
            else:
                request = program.send(answer)
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome


async def arun(program: Program[Outcome], perform: Callable[[Any], Awaitable[Any]]) -> Outcome:
    """Run a program; `perform` carries out one request asynchronously."""
    try:
        request = next(program)
        while True:
            try:
                answer = await perform(request)
            except BaseException as error:
                request = program.throw(error)
            else:
                request = program.send(answer)
    except StopIteration as stop:
        outcome: Outcome = stop.value
        return outcome


def embed_batch(plan: BatchPlan, indexing: Indexing | None) -> Program[Embedded]:
    """The part of a store's program that asks for the vectors of a batch, if it needs any."""
    if indexing is None:
        return NOTHING_EMBEDDED
    request = Embed(plan.texts(), plan.queries())
    if not request.texts and not request.queries:
        return NOTHING_EMBEDDED
    embedded: Embedded = yield request
    indexing.check_dims([*embedded.texts.values(), *embedded.queries.values()])
    return embedded


def embed(indexing: Indexing, request: Embed) -> Embedded:
    """Carry out a request for vectors."""
    vectors = indexing.embeddings.embed_documents(request.texts) if request.texts else []
    queries = [indexing.embeddings.embed_query(query) for query in request.queries]
    return _embedded(request, vectors, queries)


async def aembed(indexing: Indexing, request: Embed) -> Embedded:
    """Carry out a request for vectors asynchronously."""
    vectors = await indexing.embeddings.aembed_documents(request.texts) if request.texts else []
    queries = [await indexing.embeddings.aembed_query(query) for query in request.queries]
    return _embedded(request, vectors, queries)


def _embedded(request: Embed, vectors: list[list[float]], queries: list[list[float]]) -> Embedded:
    if len(vectors) != len(request.texts):
        raise ValueError(
            f"The store's embedding function was given {len(request.texts)} texts and returned {len(vectors)} vectors."
            " It must return one vector for each text, in the same order."
        )
    return Embedded(dict(zip(request.texts, vectors)), dict(zip(request.queries, queries)))
