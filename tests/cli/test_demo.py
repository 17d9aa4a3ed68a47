from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Command
from cli.harness import DEMO, process


@pytest.mark.parametrize(
    ("word", "first", "other"), [("--yes", "approved", "rejected"), ("--no", "rejected", "approved")]
)
def test_goes_from_start_to_rewind(folder: Path, word: str, first: str, other: str) -> None:
    done = process(folder, "demo", word)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert [line.partition(" ")[2] for line in lines if line.startswith("outcome: ")] == [first, other]
    assert any(line.startswith("  ⏸ dept › review  asks: ") for line in lines)
    assert any("forked from step 1" in line for line in lines)
    assert "┌─────────┐" in done.out
    assert [path.name for path in folder.glob("*.db")] == ["stepgraph-demo.db"]


def test_without_a_terminal_it_pauses_and_any_process_can_answer(folder: Path) -> None:
    done = process(folder, "demo", "a new desk")
    assert done.code == 3
    (answer,) = [line.split()[1:] for line in done.out.splitlines() if line.endswith(" approved")]
    assert answer[:2] == ["resume", DEMO]
    resumed = process(folder, *answer, "--json")
    assert resumed.code == 0
    assert resumed.data["values"]["log"][0] == "request received: a new desk"


def test_a_person_at_the_terminal_is_asked_until_the_answer_is_clear(
    stepgraph: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(["perhaps", "y"])
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: next(answers))
    done = stepgraph("demo")
    assert done.code == 0
    assert "outcome: approved" in done.out
    assert list(answers) == []


def test_each_demonstration_has_a_thread_of_its_own(stepgraph: Command) -> None:
    stepgraph("demo", "--yes")
    stepgraph("demo", "--no")
    threads = stepgraph("threads", "--db", "stepgraph-demo.db", "--json").data
    assert sorted(row["thread_id"] for row in threads) == ["approval-1", "approval-2"]


def test_yes_and_no_together_are_misuse(stepgraph: Command, folder: Path) -> None:
    assert stepgraph("demo", "--yes", "--no").code == 2
    assert list(folder.iterdir()) == []
