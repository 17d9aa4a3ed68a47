"""`threads`, `history`, `show`, `diff`, `export`: what is stored, with and without the graph."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from cli.conftest import Command
from cli.harness import DEMO, flow
from stepgraph.cli.diff import MISSING, differences


@pytest.fixture
def paused(stepgraph: Command) -> Command:
    """Thread `t` waits for the department."""
    assert stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--thread", "t").code == 3
    return stepgraph


@pytest.fixture
def finished(paused: Command) -> Command:
    """Thread `t` was approved."""
    assert paused("resume", DEMO, "--thread", "t", "approved").code == 0
    return paused


def test_threads_lists_what_waits(paused: Command) -> None:
    paused("run", flow("chain"), "--input", "{}", "--thread", "other")
    rows = {row["thread_id"]: row for row in paused("threads", "--json").data}
    assert set(rows) == {"t", "other"}
    assert (rows["other"]["step"], rows["other"]["checkpoints"], rows["other"]["interrupts"]) == (2, 4, [])
    assert len(rows["t"]["levels"]) == 2
    assert len(rows["t"]["interrupts"]) == 1
    assert [row["thread_id"] for row in paused("threads", "--waiting", "--json").data] == ["t"]


def test_threads_for_people(paused: Command) -> None:
    head, row = paused("threads").out.splitlines()
    assert head.split() == ["thread", "step", "checkpoints", "levels", "last", "(UTC)", "state"]
    assert row.split()[:4] == ["t", "1", "5", "2"]
    assert row.endswith("asks")


def test_history_with_the_graph_knows_what_was_due(finished: Command) -> None:
    rows = finished("history", DEMO, "--thread", "t", "--json").data
    assert [(row["step"], row["next"]) for row in rows] == [
        (4, []),
        (3, ["approved"]),
        (2, ["final_review"]),
        (1, ["dept"]),
        (0, ["prepare"]),
        (-1, ["__start__"]),
    ]


def test_history_without_the_graph_shows_what_is_stored(finished: Command) -> None:
    rows = finished("history", "--thread", "t", "--limit", "2", "--json").data
    assert [(row["step"], row["next"]) for row in rows] == [(4, None), (3, None)]
    assert rows[0]["values"]["final_decision"] == "approved"


def test_history_of_a_nested_graph_by_its_path(finished: Command) -> None:
    rows = finished("history", DEMO, "--thread", "t", "--ns", "dept", "--json").data
    assert [row["next"] for row in rows] == [[], ["review"], ["__start__"]]
    assert all(row["namespace"].startswith("dept:") for row in rows)


def test_history_table(finished: Command) -> None:
    lines = finished("history", DEMO, "--thread", "t").out.splitlines()
    assert lines[0].split() == ["step", "source", "next", "state", "checkpoint", "after", "time", "(UTC)"]
    assert lines[4].split()[:4] == ["1", "loop", "dept", "asks"]


def test_tree_shows_levels_below_the_step_that_they_ran_in(finished: Command) -> None:
    lines = finished("history", DEMO, "--thread", "t", "--tree").out.splitlines()
    shape = [
        line.partition("  ")[0] if "step" not in line else line[: line.index("step") + 7].rstrip()
        for line in lines
    ]
    assert lines[0] == "t"
    assert lines[3].startswith("├─ step 1  loop  next: dept  asks")
    assert lines[4].startswith("│  └─ dept:")
    assert shape[5:8] == ["│     ├─ step -1", "│     ├─ step 0", "│     └─ step 1"]
    assert shape[8] == "├─ step 2"


def test_tree_in_json_is_levels_by_namespace(finished: Command) -> None:
    levels = finished("history", "--thread", "t", "--tree", "--json").data
    assert [len(found) for found in levels.values()] == [6, 3]


def test_an_unknown_level_names_those_that_are_there(finished: Command) -> None:
    done = finished("history", DEMO, "--thread", "t", "--ns", "depth")
    assert done.code == 1
    assert "no level 'depth'" in done.err
    assert "Levels there: dept." in done.err


def test_show_tells_what_is_due_and_who_is_asked(paused: Command) -> None:
    shown = paused("show", DEMO, "--thread", "t", "--json").data
    assert (shown["next"], shown["metadata"]["step"]) == (["dept"], 1)
    assert shown["values"] == {"request": "tea", "log": ["request received: tea"]}
    (task,) = shown["tasks"]
    assert (task["name"], task["state"]["next"]) == ("dept", ["review"])
    assert task["state"]["tasks"][0]["interrupts"][0]["value"]["answers"] == ["approved", "rejected"]


def test_show_for_people(paused: Command) -> None:
    lines = paused("show", DEMO, "--thread", "t").out.splitlines()
    assert lines[0] == "step 1  loop  root"
    assert "next          dept" in lines
    assert any(line.startswith("    step 0  loop  dept:") for line in lines)


def test_show_of_an_old_checkpoint_by_step_part_and_id(finished: Command) -> None:
    rows = finished("history", "--thread", "t", "--json").data
    wanted = next(row["id"] for row in rows if row["step"] == 2)
    for named in ("2", wanted, wanted[:18]):
        assert finished("show", "--thread", "t", "--at", named, "--json").data["checkpoint_id"] == wanted


def test_an_ambiguous_part_of_an_id_is_refused(finished: Command) -> None:
    some = finished("history", "--thread", "t", "--json").data[0]["id"]
    done = finished("show", "--thread", "t", "--at", some[-12:])
    assert done.code == 1
    assert "Several checkpoints" in done.err


def test_an_unknown_checkpoint_is_told(finished: Command) -> None:
    done = finished("show", "--thread", "t", "--at", "77")
    assert done.code == 1
    assert "no checkpoint '77'" in done.err


def test_diff_of_two_steps(finished: Command) -> None:
    found = finished("diff", "1", "4", "--thread", "t", "--json").data
    assert {change["path"]: change.get("to") for change in found["changes"]} == {
        "log[1]": "final decision: approved",
        "log[2]": "the order was placed",
        "dept_decision": "approved",
        "final_decision": "approved",
    }


def test_diff_of_one_is_with_the_one_before(finished: Command) -> None:
    lines = finished("diff", DEMO, "4", "--thread", "t").out.splitlines()
    assert [line[:12].strip() for line in lines[:2]] == ["from  step 3", "to    step 4"]
    assert lines[2:] == ['+ log[2] = "the order was placed"']


def test_diff_with_itself(finished: Command) -> None:
    assert "no field differs" in finished("diff", "4", "4", "--thread", "t").out


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1}, {"a": True}, [("a", 1, True)]),
        ({"a": 1}, {"b": 1}, [("a", 1, MISSING), ("b", MISSING, 1)]),
        ({"a": [1, 2, 3]}, {"a": [1, 3]}, [("a[1]", 2, MISSING)]),
        ({"a": [{"x": 1, "y": 2}]}, {"a": [{"x": 1, "y": 3}]}, [("a[0].y", 2, 3)]),
        ({"a": None}, {}, [("a", None, MISSING)]),
        ({"a": [1]}, {"a": {"0": 1}}, [("a", [1], {"0": 1})]),
    ],
)
def test_a_difference_lists_what_changed_and_where(
    before: object, after: object, found: list[object]
) -> None:
    assert list(map(tuple, differences(before, after))) == found


def test_export_is_a_line_a_checkpoint_oldest_first(finished: Command, folder: Path) -> None:
    lines = finished("export", "--thread", "t").lines
    assert len(lines) == 9
    assert [line["metadata"]["step"] for line in lines if line["checkpoint_ns"] == ""] == [-1, 0, 1, 2, 3, 4]
    assert lines[-1]["values"]["final_decision"] == "approved"
    assert finished("export", "-o", "all.jsonl").out == ""
    written = (folder / "all.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in written] == lines


def test_text_of_a_store_cannot_steer_the_terminal(stepgraph: Command) -> None:
    stepgraph("run", flow("chain"), "--input", '{"name": "\\u001b[2J\\u009b"}', "--thread", "\x1b[31mt")
    for words in (("threads",), ("show", "--thread", "\x1b[31mt"), ("diff", "2", "--thread", "\x1b[31mt")):
        done = stepgraph(*words)
        assert done.code == 0
        assert "\x1b" not in done.out
        assert "\x9b" not in done.out


@pytest.mark.parametrize(
    "words", [("threads",), ("history", "--thread", "t"), ("export",), ("show", "--thread", "t")]
)
def test_looking_never_makes_a_file(stepgraph: Command, folder: Path, words: tuple[str, ...]) -> None:
    done = stepgraph(*words, "--db", "typo.db")
    assert done.code == 1
    assert "There is no file typo.db" in done.err
    assert list(folder.iterdir()) == []


def test_a_file_that_is_no_database_is_told(stepgraph: Command, folder: Path) -> None:
    (folder / "notes.txt").write_text("hello " * 1000, encoding="utf-8")
    done = stepgraph("threads", "--db", "notes.txt")
    assert done.code == 1
    assert "cannot be used as a SQLite database" in done.err


def test_somebody_elses_database_is_left_alone(stepgraph: Command, folder: Path) -> None:
    with sqlite3.connect(folder / "other.db") as connection:
        connection.execute("CREATE TABLE users (name TEXT)")
    connection.close()
    before = (folder / "other.db").read_bytes()
    done = stepgraph("threads", "--db", "other.db")
    assert (done.code, "holds no threads" in done.err) == (1, True)
    assert (folder / "other.db").read_bytes() == before


def test_the_file_may_be_named_by_the_environment(
    stepgraph: Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STEPGRAPH_DB", "mine.db")
    stepgraph("run", flow("chain"), "--input", "{}", "--thread", "t")
    assert (folder / "mine.db").exists()
    assert [row["thread_id"] for row in stepgraph("threads", "--json").data] == ["t"]
