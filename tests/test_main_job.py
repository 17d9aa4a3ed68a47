"""The main job, end to end, each command in a process of its own: a nested approval is started, waits, survives, is answered
elsewhere, looked at, and taken back. Only the SQLite file goes from one process to the next.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cli.harness import Done, process

ROOT = Path(__file__).parent.parent
GRAPH = f"{ROOT / 'examples' / 'approval.py'}:build"
HERE = ("--thread", "purchase-1", "--db", "purchases.db")


@pytest.fixture
def paused(tmp_path: Path) -> Path:
    """A folder with a thread that waits for the department."""
    started = process(tmp_path, "run", GRAPH, "--input", '{"request": "10 台服务器"}', *HERE, "--json")
    assert started.code == 3, started.err
    (asked,) = started.data["interrupts"]
    assert asked["path"] == ["dept", "review"]
    assert asked["value"]["request"] == "10 台服务器"
    return tmp_path


def command(folder: Path, name: str, *words: str) -> Done:
    return process(folder, name, GRAPH, *HERE, *words, "--json")


def test_is_answered_in_another_process(paused: Path) -> None:
    done = command(paused, "resume", "approved")
    assert done.code == 0, done.err
    assert done.data["values"] == {
        "request": "10 台服务器",
        "dept_decision": "approved",
        "final_decision": "approved",
        "log": ["收到请求: 10 台服务器", "最终批准", "执行审批通过流程"],
    }


def test_is_looked_at_while_it_waits_at_both_levels(paused: Path) -> None:
    shown = command(paused, "show").data
    assert shown["next"] == ["dept"]
    assert shown["tasks"][0]["state"]["next"] == ["review"]
    assert [row["next"] for row in command(paused, "history").data] == [["dept"], ["prepare"], ["__start__"]]
    inside = command(paused, "history", "--ns", "dept").data
    assert [row["next"] for row in inside] == [["review"], ["__start__"]]


def test_is_taken_back_and_answered_otherwise(paused: Path) -> None:
    approved = command(paused, "resume", "approved").data
    fork = command(paused, "fork", "--at", "1").data
    assert (fork["next"], fork["values"]["log"]) == (["dept"], ["收到请求: 10 台服务器"])
    asked_again = command(paused, "resume")
    assert asked_again.code == 3
    refused = command(paused, "resume", "rejected")
    assert refused.code == 0
    assert refused.data["values"]["log"] == ["收到请求: 10 台服务器", "最终拒绝", "通知申请人被拒绝"]
    before = command(paused, "show", "--at", approved["checkpoint_id"]).data
    assert before["values"]["final_decision"] == "approved"


def test_is_taken_back_by_an_edit_of_what_the_department_said(paused: Path) -> None:
    command(paused, "resume", "approved")
    edit = ("--at", "2", "--values", '{"dept_decision": "rejected"}', "--as-node", "dept")
    assert command(paused, "fork", *edit).data["next"] == ["final_review"]
    assert command(paused, "resume").data["values"]["final_decision"] == "rejected"


def test_the_demonstration_of_the_front_page(tmp_path: Path) -> None:
    page = (ROOT / "README.md").read_text(encoding="utf-8")
    first = re.search(r"^pip install \S+ && stepgraph (.+)$", page, re.MULTILINE)
    assert first is not None
    words = first.group(1).split()
    assert words[0] == "demo"
    waits = process(tmp_path, *words)
    assert waits.code in (0, 3), waits.err
    goes_through = process(tmp_path, "demo", "--yes")
    assert goes_through.code == 0, goes_through.err
    assert re.findall(r"^outcome: (\w+)$", goes_through.out, re.MULTILINE) == ["approved", "rejected"]
