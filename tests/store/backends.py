"""Every store, driven in every way, behind one set of sync methods, so that one test body serves all."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import count
from typing import Any

import pytest

import postgres_server
from stepgraph.store.base import BaseStore
from stepgraph.store.memory import InMemoryStore
from stepgraph.store.sqlite import SqliteStore


class Clock:
    """A clock that stands still until it is told to go on."""

    def __init__(self) -> None:
        self.now = datetime(2024, 5, 1, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(microseconds=1)  # no two writes at the same time
        return self.now

    def go_on(self, minutes: float) -> None:
        self.now += timedelta(minutes=minutes)


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()

    def run(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


class Driven:
    """A store whose methods are called synchronously (`run` is `None`) or asynchronously on a loop."""

    def __init__(self, store: BaseStore, clock: Clock, loop: Loop | None, home: Loop | None = None) -> None:
        self.store = store
        self.clock = clock
        self.loop = loop
        self.home = home or loop

    def _call(self, method: str, *args: Any, **kwargs: Any) -> Any:
        if self.loop is None:
            return getattr(self.store, method)(*args, **kwargs)
        return self.loop.run(getattr(self.store, "a" + method)(*args, **kwargs))

    def get(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("get", *args, **kwargs)

    def put(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("put", *args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("delete", *args, **kwargs)

    def search(self, *args: Any, **kwargs: Any) -> Any:
        return self._call("search", *args, **kwargs)

    def list_namespaces(self, **kwargs: Any) -> Any:
        return self._call("list_namespaces", **kwargs)

    def batch(self, ops: Any) -> Any:
        return self._call("batch", ops)

    def sweep(self) -> int:
        result = self.store.sweep_ttl()  # type: ignore[attr-defined]
        return self.home.run(result) if asyncio.iscoroutine(result) else result

    def keys(self, *args: Any, **kwargs: Any) -> list[str]:
        """The keys that a search finds, sorted: stores may differ in the order of a search without a query."""
        return sorted(item.key for item in self.search(*args, **kwargs))


@contextmanager
def memory(**config: Any) -> Iterator[BaseStore]:
    yield InMemoryStore(**config)


@contextmanager
def sqlite(**config: Any) -> Iterator[BaseStore]:
    conn = sqlite3.connect(":memory:", check_same_thread=False)
    yield SqliteStore(conn, **config)
    conn.close()


_numbers = count(1)


@cache
def postgres_database() -> tuple[postgres_server.PostgresServer, str]:
    """The database that the stores of this process share, each in a schema of its own."""
    server = postgres_server.shared()
    url = server.create_database()
    server.execute("CREATE EXTENSION vector", database=url.partition("?")[0].rpartition("/")[2])
    return server, url


@contextmanager
def postgres_schema(*, arrays: bool = False) -> Iterator[str]:
    """An empty schema, for as long as the block lasts: a URL that leads to it.

    Args:
        arrays: Whether it has a table of vectors as a server without the extension would have got it.
    """
    import psycopg

    from stepgraph.store.postgres import migrations

    server, url = postgres_database()
    schema, name = f"store_{next(_numbers)}", url.partition("?")[0].rpartition("/")[2]
    url_to_schema = f"{url}&options=-csearch_path%3D{schema},public"
    server.execute(f"CREATE SCHEMA {schema}", database=name)
    if arrays:
        vectors = migrations.VECTOR_MIGRATIONS[0].sql.replace("{type}", "REAL[]")
        with psycopg.connect(url_to_schema) as conn:
            conn.execute(f"{migrations.MIGRATIONS[0]}; {vectors}".encode())
    try:
        yield url_to_schema
    finally:
        server.execute(f"DROP SCHEMA {schema} CASCADE", database=name)


@contextmanager
def postgres(url: str, backend: str, way: str, config: Any) -> Iterator[Driven]:
    """A store in PostgreSQL."""
    from stepgraph.store.postgres import AsyncPostgresStore, PostgresStore

    clock = Clock()
    if way == "sync":
        with PostgresStore.from_conn_string(url, **config) as store:
            store.clock = clock
            yield Driven(store, clock, None)
        return
    loop = Loop()
    try:
        if backend == "aiopostgres":
            opened = AsyncPostgresStore.from_conn_string(url, **config)
            store = loop.run(opened.__aenter__())
            store.clock = clock
            yield Driven(store, clock, loop if way == "async" else None, loop)
            loop.run(opened.__aexit__(None, None, None))
            return
        with PostgresStore.from_conn_string(url, **config) as store:
            store.clock = clock
            yield Driven(store, clock, loop)
    finally:
        loop.close()


@contextmanager
def driven(name: str, **config: Any) -> Iterator[Driven]:
    """A store by the name of its backend and of how it is driven, such as `"sqlite-async"`."""
    backend, way = name.split("-")
    if "postgres" in backend:
        with (
            postgres_schema(arrays=backend.startswith("array")) as url,
            postgres(url, backend, way, config) as made,
        ):
            yield made
        return
    clock = Clock()
    loop = Loop() if way in ("async", "thread") else None
    try:
        if backend == "aiosqlite":
            assert loop is not None
            pytest.importorskip("aiosqlite", reason="aiosqlite is not installed")
            from stepgraph.store.sqlite.aio import AsyncSqliteStore

            opened = AsyncSqliteStore.from_conn_string(":memory:", **config)
            store = loop.run(opened.__aenter__())
            store.clock = clock
            yield Driven(store, clock, loop if way == "async" else None, loop)
            loop.run(opened.__aexit__(None, None, None))
            return
        openers: dict[str, Callable[..., Any]] = {"memory": memory, "sqlite": sqlite}
        with openers[backend](**config) as store:
            store.clock = clock
            yield Driven(store, clock, loop)
    finally:
        if loop is not None:
            loop.close()


ALL = [
    "memory-sync",
    "memory-async",
    "sqlite-sync",
    "sqlite-async",
    "aiosqlite-async",
    "aiosqlite-thread",
    "postgres-sync",
    "postgres-async",
    "aiopostgres-async",
    "aiopostgres-thread",
    "arraypostgres-sync",
]
