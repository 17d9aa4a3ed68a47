"""Every program in `examples/` runs as a program, and gives the results that its docstring promises."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent.parent / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))


def example(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(f"example_{name}", FOLDER / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", PROGRAMS)
def test_runs_as_a_program(name: str) -> None:
    done = subprocess.run(
        [sys.executable, FOLDER / f"{name}.py"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert done.stderr == ""


@pytest.mark.parametrize("name", PROGRAMS)
def test_is_listed(name: str) -> None:
    assert f"`{name}.py`" in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_subgraph_savers() -> None:
    three, four = ["x", "x", "x"], ["x", "x", "x", "x"]
    each_call = ["", "child:<id1>", "child:<id2>"]
    assert example("subgraph_savers").main() == {
        "None": (three, each_call),
        "True": (four, ["", "child"]),
        "False": (three, [""]),
        "its own saver": (three, each_call),
    }


def test_a_supervisor_combines_the_answers_of_both_teams() -> None:
    assert example("supervisor").main() == {
        "query": "Q",
        "results": ["研究员: Q", "分析师: Q"],
        "final_answer": "研究员: Q + 分析师: Q",
    }


def test_approval_that_is_granted() -> None:
    out = example("approval").main()
    assert out["question"] == {"request": "采购10台服务器", "question": "部门是否批准此请求？"}
    assert out["child waits for"] == ("review",)
    assert out["finished"] == {
        "request": "采购10台服务器",
        "dept_decision": "approved",
        "final_decision": "approved",
        "log": ["收到请求: 采购10台服务器", "最终批准", "执行审批通过流程"],
    }
    assert out["history"] == [
        (4, ()),
        (3, ("approved",)),
        (2, ("final_review",)),
        (1, ("dept",)),
        (0, ("prepare",)),
        (-1, ("__start__",)),
    ]


def test_approval_that_is_refused() -> None:
    finished = example("approval").main("no")["finished"]
    assert finished["final_decision"] == "rejected"
    assert finished["log"] == ["收到请求: 采购10台服务器", "最终拒绝", "通知申请人被拒绝"]


def test_compiled_structure() -> None:
    out = example("compiled_structure").main()
    assert out["channels"] == {
        "__start__": "EphemeralValue",
        "messages": "BinaryOperatorAggregate",
        "count": "LastValue",
        "branch:to:agent": "EphemeralValue",
        "branch:to:tool": "EphemeralValue",
        "__pregel_tasks": "Topic",
    }
    assert out["triggers"] == {
        "__start__": ["__start__"],
        "agent": ["branch:to:agent"],
        "tool": ["branch:to:tool"],
    }
    assert out["triggered by"] == {
        "__start__": ["__start__"],
        "branch:to:agent": ["agent"],
        "branch:to:tool": ["tool"],
    }
    assert out["result"] == {"messages": ["a", "t", "a"], "count": 2}


def test_three_connections() -> None:
    assert example("three_connections").main() == {
        "as a node": {"query": "q", "findings": ["given", "given", "found: q"]},
        "by a function": {"query": "q", "findings": ["summary of q"]},
        "by handover": {"query": "q", "findings": ["reviewed for review"], "current": "review"},
    }


def test_functional_workflow() -> None:
    assert example("functional_workflow").main() == {
        "asked": {"offers": {"Anchor": 24, "Bolt": 18, "Crane": 30}, "used before": []},
        "first": {"ticket": "Bolt-001", "price": 18},
        "done by then": ["book Bolt", "quote Anchor", "quote Bolt", "quote Crane"],
        "asked again": ["Bolt"],
    }


def test_plan_and_execute() -> None:
    trip = example("plan_and_execute").main()
    assert trip["history"] == [
        "planned 2 steps",
        "flight to Kyoto: failed",
        "nothing free: flight to Kyoto",
        "planned anew from step 1",
        "train to Kyoto: done",
        "hotel in Kyoto: done",
    ]
    assert [(step["task"], step["status"]) for step in trip["plan_steps"]] == [
        ("train to Kyoto", "done"),
        ("hotel in Kyoto", "done"),
    ]
    assert trip["final_answer"] == "seat 12A, 9:30; room 4, two nights"


def test_plain_messages_agent() -> None:
    assert example("plain_messages_agent").main() == {
        "question": "Order 3 boxes of tea?",
        "roles": ["user", "assistant", "tool", "tool", "assistant"],
        "answer": "2 boxes of tea are left. 3 boxes of tea are on their way.",
        "requests": 2,
    }
