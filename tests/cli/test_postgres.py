"""`--db postgresql://...`: threads on a server."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cli.conftest import Command
from cli.harness import DEMO, Done
from stepgraph.cli.storage import without_password

On = Callable[..., Done]


@pytest.fixture
def on_server(stepgraph: Command, postgres_url: str) -> On:
    """`stepgraph(*words)` with the threads in an empty database."""
    return lambda *words: stepgraph(*words, "--db", postgres_url)


@pytest.fixture
def paused(on_server: On) -> On:
    """Thread `t` waits for a person."""
    done = on_server("run", DEMO, "--input", '{"request": "tea"}', "--thread", "t", "--json")
    assert (done.code, done.data["status"]) == (3, "paused")
    return on_server


def test_a_paused_thread_is_resumed_by_another_command(paused: On) -> None:
    done = paused("resume", DEMO, "--thread", "t", "approved", "--json")
    assert done.code == 0
    assert done.data["values"]["final_decision"] == "approved"


def test_a_thread_can_be_looked_at(paused: On) -> None:
    assert [row["thread_id"] for row in paused("threads", "--json").data] == ["t"]
    history = paused("history", "--thread", "t", "--json").data
    assert [row["step"] for row in history] == sorted((row["step"] for row in history), reverse=True)
    shown = paused("show", DEMO, "--thread", "t", "--json").data
    assert shown["values"]["request"] == "tea"
    assert paused("diff", "--thread", "t", "-1", "0", "--json").code == 0
    assert paused("export", "--thread", "t").code == 0


def test_a_thread_is_forked_and_pruned(paused: On) -> None:
    paused("resume", DEMO, "--thread", "t", "approved")
    made = paused("fork", DEMO, "--thread", "t", "--at", "1", "--json").data
    assert made["next"] == ["dept"]
    before = len(paused("history", "--thread", "t", "--json").data)
    assert before > 1
    assert paused("prune", "--thread", "t", "--yes").code == 0
    assert len(paused("history", "--thread", "t", "--json").data) == 1


def test_the_environment_names_the_server(
    paused: On, stepgraph: Command, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPGRAPH_DB", postgres_url)
    assert [row["thread_id"] for row in stepgraph("threads", "--json").data] == ["t"]


def test_looking_makes_no_tables(on_server: On, postgres_url: str) -> None:
    import psycopg

    done = on_server("threads")
    assert done.code == 1
    assert "holds no threads" in done.err
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regclass('stepgraph_checkpoints')").fetchone() == (None,)


@pytest.mark.parametrize("command", ["threads", "run"])
def test_a_server_that_is_not_there_is_an_error_without_the_password(
    stepgraph: Command, command: str
) -> None:
    pytest.importorskip("psycopg")
    words = (DEMO, "--input", "{}") if command == "run" else ()
    done = stepgraph(command, *words, "--db", "postgresql://ann:secret@127.0.0.1:1/threads")
    assert done.code == 1
    assert "postgresql://ann@127.0.0.1:1/threads cannot be used" in done.err
    assert "secret" not in done.err
    assert "Traceback" not in done.err


def test_without_the_package_it_says_what_to_install(
    stepgraph: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("stepgraph.checkpoint.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    done = stepgraph("threads", "--db", "postgresql://ann:secret@127.0.0.1:1/threads")
    assert done.code == 1
    assert 'pip install "stepgraph[postgres]"' in done.err
    assert "secret" not in done.err


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql:///db?host=/tmp&password=secret", "postgresql:///db?host=/tmp"),
        (
            "postgresql://ann:a@b@host/db?password=x&sslmode=require",
            "postgresql://ann@host/db?sslmode=require",
        ),
        ("postgresql://host/db?password=x", "postgresql://host/db"),
    ],
)
def test_a_password_among_the_settings_is_not_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown
