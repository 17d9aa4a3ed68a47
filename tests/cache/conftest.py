"""Fixtures: a cache of every kind, driven in every way; and a Redis server on loopback."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from stepgraph.cache.base import BaseCache
from stepgraph.cache.memory import InMemoryCache
from stepgraph.cache.redis import RedisCache
from stepgraph.cache.sqlite import SqliteCache


class Driven:
    """A cache whose methods are called synchronously, or asynchronously by a runner."""

    def __init__(self, cache: BaseCache[Any], run: Any = None) -> None:
        self.cache = cache
        self._run = run

    def _call(self, method: str, *args: Any) -> Any:
        if self._run is None:
            return getattr(self.cache, method)(*args)
        return self._run(getattr(self.cache, "a" + method)(*args))

    def get(self, keys: Any) -> Any:
        return self._call("get", keys)

    def set(self, pairs: Any) -> None:
        self._call("set", pairs)

    def clear(self, *namespaces: Any) -> None:
        self._call("clear", *namespaces)


@pytest.fixture(scope="session")
def redis_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Redis server that is started for these tests."""
    pytest.importorskip("redis", reason="the package redis is not installed")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("there is no redis-server on this machine (Debian: apt-get install redis-server)")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    folder: Path = tmp_path_factory.mktemp("redis")
    options = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    with subprocess.Popen([program, *options], stdout=subprocess.DEVNULL) as server:
        try:
            _wait_until_it_answers(port)
            yield port
        finally:
            server.terminate()


def _wait_until_it_answers(port: int) -> None:
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    pytest.fail("the Redis server did not start")


@contextmanager
def sync_redis(port: int) -> Iterator[RedisCache[Any]]:
    import redis

    with redis.Redis(port=port) as client:
        client.flushdb()
        yield RedisCache(client, prefix="test*[x]:")


@contextmanager
def async_redis(port: int, runner: asyncio.Runner) -> Iterator[RedisCache[Any]]:
    import redis.asyncio

    client = redis.asyncio.Redis(port=port)
    runner.run(client.flushdb())
    yield RedisCache(client, prefix="test*[x]:")
    runner.run(client.aclose())


ALL = [
    "memory-sync",
    "memory-async",
    "sqlite-sync",
    "sqlite-async",
    "redis-sync",
    "redis-async",
    "aioredis-async",
]


@pytest.fixture(params=ALL)
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Driven]:
    backend, way = request.param.split("-")
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())
        opened: BaseCache[Any]
        if backend == "memory":
            opened = InMemoryCache()
        elif backend == "sqlite":
            opened = stack.enter_context(SqliteCache(path=str(tmp_path / "cache.db")))
        else:
            port = request.getfixturevalue("redis_port")
            opened = stack.enter_context(
                sync_redis(port) if backend == "redis" else async_redis(port, runner)
            )
        yield Driven(opened, runner.run if way == "async" else None)
