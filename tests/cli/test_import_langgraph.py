"""`stepgraph import-langgraph`."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from cli.conftest import Command

GOLDEN = Path(__file__).parents[1] / "checkpoint" / "imports" / "golden" / "langgraph-1.2.24-sqlite.sql"


@pytest.fixture
def source(folder: Path) -> str:
    """A file that LangGraph wrote."""
    with closing(sqlite3.connect(folder / "theirs.db")) as connection:
        connection.executescript(GOLDEN.read_text())
    return "sqlite:theirs.db"


def test_threads_are_copied_and_listed(stepgraph: Command, source: str) -> None:
    done = stepgraph("import-langgraph", "--from", source, "--to", "sqlite:ours.db", "--thread", "linear")
    assert done.code == 0
    assert "linear" in done.out
    listed = stepgraph("threads", "--db", "ours.db", "--json")
    assert "linear" in listed.out
    assert "nested" not in listed.out


def test_a_second_run_stores_nothing(stepgraph: Command, source: str) -> None:
    words = ("import-langgraph", "--from", source, "--to", "sqlite:ours.db", "--json")
    first, second = (json.loads(stepgraph(*words).out) for _ in range(2))
    assert first["checkpoints"] > 100
    assert second["checkpoints"] == second["problems"] == 0


def test_a_dry_run_makes_no_file(stepgraph: Command, source: str, folder: Path) -> None:
    done = stepgraph("import-langgraph", "--from", source, "--to", "sqlite:ours.db", "--dry-run")
    assert done.code == 0
    assert "would be imported" in done.out
    assert not (folder / "ours.db").exists()


def test_the_source_is_as_it_was(stepgraph: Command, source: str, folder: Path) -> None:
    before = (folder / "theirs.db").read_bytes()
    stepgraph("import-langgraph", "--from", source, "--to", "sqlite:ours.db")
    assert (folder / "theirs.db").read_bytes() == before


def test_source_and_target_may_be_one_file(stepgraph: Command, source: str) -> None:
    done = stepgraph("import-langgraph", "--from", source, "--to", source, "--thread", "linear")
    assert done.code == 0
    assert "linear" in stepgraph("threads", "--db", "theirs.db").out


def test_threads_move_from_postgres_to_postgres(stepgraph: Command, postgres_url: str) -> None:
    import psycopg

    golden = GOLDEN.with_name("langgraph-1.2.24-postgres.sql")
    with psycopg.connect(postgres_url) as connection:
        connection.execute(golden.read_text())
    words = ("import-langgraph", "--from", postgres_url, "--to", f"postgres:{postgres_url}", "--json")
    dry = json.loads(stepgraph(*words, "--dry-run").out)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT to_regclass('stepgraph_checkpoints')").fetchone() == (None,)
    first, second = (json.loads(stepgraph(*words).out) for _ in range(2))
    assert dry["checkpoints"] == first["checkpoints"] > 100
    assert second["checkpoints"] == second["problems"] == 0
    assert "linear" in stepgraph("threads", "--db", postgres_url).out


def test_a_password_is_not_shown(stepgraph: Command) -> None:
    pytest.importorskip("psycopg")
    done = stepgraph(
        "import-langgraph", "--from", "postgres://ann:secret@127.0.0.1:1/x", "--to", "sqlite:ours.db"
    )
    assert done.code == 1
    assert "ann@127.0.0.1:1/x" in done.err
    assert "secret" not in done.err + done.out


def test_encrypted_threads_are_read_with_the_key_and_stay_encrypted(
    stepgraph: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("cryptography")
    from stepgraph.checkpoint.serde.encrypted import EncryptedSerializer
    from stepgraph.checkpoint.sqlite import SqliteSaver

    golden = GOLDEN.with_name("langgraph-0.6.11-encrypted.sql")
    with closing(sqlite3.connect(folder / "theirs.db")) as connection:
        connection.executescript(golden.read_text())
    monkeypatch.setenv("THEIR_KEY", "0123456789abcdef")
    words = ("import-langgraph", "--from", "sqlite:theirs.db", "--to", "sqlite:ours.db")
    refused = stepgraph(*words, "--dry-run")
    assert refused.code == 1
    assert "--aes-key-env" in refused.err
    done = stepgraph(*words, "--aes-key-env", "THEIR_KEY")
    assert done.code == 0
    assert b"ask?" not in (folder / "ours.db").read_bytes()
    with closing(sqlite3.connect(folder / "ours.db", check_same_thread=False)) as connection:
        saver = SqliteSaver(connection, serde=EncryptedSerializer.from_aes_keys([b"0123456789abcdef"]))
        found = saver.get_tuple({"configurable": {"thread_id": "linear"}})
        assert found is not None
        assert found.checkpoint["channel_values"]["log"] == ["in", "a"]


def test_a_wrong_key_is_named(stepgraph: Command, source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ("import-langgraph", "--from", source, "--to", "sqlite:ours.db", "--aes-key-env", "THEIR_KEY")
    monkeypatch.delenv("THEIR_KEY", raising=False)
    done = stepgraph(*words)
    assert done.code == 2
    assert "THEIR_KEY environment variable is not set" in done.err
    monkeypatch.setenv("THEIR_KEY", "short")
    assert "16, 24 or 32 bytes" in stepgraph(*words).err


def test_what_cannot_be_read_is_named_and_the_rest_is_copied(
    stepgraph: Command, source: str, folder: Path
) -> None:
    with closing(sqlite3.connect(folder / "theirs.db")) as connection, connection:
        connection.execute(
            "UPDATE checkpoints SET type = 'pickle' WHERE rowid = (SELECT max(rowid) FROM checkpoints WHERE thread_id = 'ended')"
        )
    done = stepgraph("import-langgraph", "--from", source, "--to", "sqlite:ours.db", "--json")
    assert done.code == 1
    told = json.loads(done.out)
    (bad,) = [thread for thread in told["threads"] if thread["problems"]]
    assert bad["thread_id"] == "ended"
    assert bad["stored"] > 0
    assert "pickled" in bad["problems"][0]["reason"]
    assert bad["problems"][0]["checkpoint_id"]


def test_an_unknown_thread_is_named(stepgraph: Command, source: str) -> None:
    done = stepgraph("import-langgraph", "--from", source, "--to", "sqlite:ours.db", "--thread", "nobody")
    assert done.code == 1
    assert "'nobody'" in done.err
    assert "not stored in theirs.db" in done.err


@pytest.mark.parametrize(
    ("place", "code", "words"),
    [
        ("theirs.db", 2, "names no place"),
        ("sqlite:nothing.db", 1, "no file nothing.db"),
        ("sqlite:text.db", 1, "no SQLite database"),
        ("sqlite:other.db", 1, "holds no threads of LangGraph"),
    ],
)
def test_a_source_that_is_none_is_named(
    stepgraph: Command, folder: Path, place: str, code: int, words: str
) -> None:
    (folder / "text.db").write_text("This is no database at all. " * 50)
    sqlite3.connect(folder / "other.db").close()
    done = stepgraph("import-langgraph", "--from", place, "--to", "sqlite:ours.db")
    assert done.code == code
    assert words in done.err
    assert not (folder / "ours.db").exists()
