"""`fork` and `prune`: writing to threads from outside, and deleting."""

from __future__ import annotations

import pytest

from cli.conftest import Command
from cli.harness import DEMO, flow
from stepgraph.checkpoint.sqlite import SqliteSaver
from stepgraph.cli.prune import age


@pytest.fixture
def finished(stepgraph: Command) -> Command:
    """Thread `t` was approved."""
    stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--thread", "t")
    assert stepgraph("resume", DEMO, "--thread", "t", "approved").code == 0
    return stepgraph


def steps(stepgraph: Command, thread: str = "t") -> list[int]:
    return [row["step"] for row in stepgraph("history", "--thread", thread, "--json").data]


def test_a_fork_takes_the_thread_back_and_keeps_the_history(finished: Command) -> None:
    before = steps(finished)
    made = finished("fork", DEMO, "--thread", "t", "--at", "1", "--json").data
    assert made["next"] == ["dept"]
    shown = finished("show", DEMO, "--thread", "t", "--json").data
    assert (shown["checkpoint_id"], shown["parent"]) == (made["checkpoint_id"], made["forked_from"])
    assert shown["metadata"]["source"] == "fork"
    assert steps(finished) == [2, *before]


def test_a_fork_asks_again_and_can_be_answered_otherwise(finished: Command) -> None:
    finished("fork", DEMO, "--thread", "t", "--at", "1")
    asked = finished("resume", DEMO, "--thread", "t", "--json")
    assert (asked.code, asked.data["status"]) == (3, "paused")
    done = finished("resume", DEMO, "--thread", "t", "rejected", "--json")
    assert done.data["values"]["final_decision"] == "rejected"


def test_a_fork_with_values_writes_as_a_node(finished: Command) -> None:
    words = ("--at", "2", "--values", '{"dept_decision": "rejected"}', "--as-node", "dept")
    made = finished("fork", DEMO, "--thread", "t", *words, "--json").data
    assert made["next"] == ["final_review"]
    done = finished("resume", DEMO, "--thread", "t", "--json")
    assert done.data["values"]["log"][1:] == ["final decision: rejected", "the person who asked was told"]


def test_a_fork_inside_a_nested_graph(stepgraph: Command) -> None:
    stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--thread", "t")
    words = ("--ns", "dept", "--values", '{"request": "coffee"}', "--as-node", "__start__")
    made = stepgraph("fork", DEMO, "--thread", "t", *words, "--json").data
    assert made["checkpoint_ns"].startswith("dept:")
    assert made["values"]["request"] == "coffee"


def test_a_fork_for_people_says_how_to_go_on(finished: Command) -> None:
    done = finished("fork", DEMO, "--thread", "t", "--at", "1")
    assert done.out.splitlines()[1] == "next    dept"
    assert f"stepgraph resume {DEMO} --thread t" in done.err


def test_a_fork_by_an_unknown_node_names_the_nodes(finished: Command) -> None:
    done = finished("fork", DEMO, "--thread", "t", "--values", "{}", "--as-node", "depth")
    assert done.code == 1
    assert "'dept'" in done.err
    assert "Traceback" not in done.err


def test_as_node_without_values_is_misuse(finished: Command) -> None:
    assert finished("fork", DEMO, "--thread", "t", "--as-node", "dept").code == 2


def test_prune_keeps_the_newest_of_each_level(finished: Command) -> None:
    done = finished("prune", "--thread", "t", "--yes", "--json")
    assert done.data == {"deleted": {"t": 7}, "checkpoints": 7}
    assert steps(finished) == [4]
    assert finished("show", DEMO, "--thread", "t", "--json").data["values"]["final_decision"] == "approved"


def test_prune_can_delete_whole_threads(finished: Command) -> None:
    finished("run", flow("chain"), "--input", "{}", "--thread", "other")
    finished("prune", "--thread", "t", "--delete", "--yes")
    assert [row["thread_id"] for row in finished("threads", "--json").data] == ["other"]


def test_prune_asks_nobody_and_deletes_nothing(finished: Command) -> None:
    before = steps(finished)
    done = finished("prune", "--all")
    assert (done.code, "Nothing was deleted" in done.err) == (1, True)
    assert steps(finished) == before


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("", 1), ("n", 1)])
def test_prune_asks_at_the_terminal(
    finished: Command, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: answer)
    assert finished("prune", "--thread", "t").code == code


def test_prune_by_age_keeps_what_is_young(finished: Command) -> None:
    before = steps(finished)
    assert finished("prune", "--all", "--older-than", "1h", "--yes", "--json").data["checkpoints"] == 0
    assert steps(finished) == before


def test_prune_keeps_to_the_levels_that_are_named(finished: Command) -> None:
    before = steps(finished)
    assert finished("prune", "--all", "--namespace", "elsewhere", "--yes", "--json").data["checkpoints"] == 0
    assert steps(finished) == before
    finished("prune", "--all", "--namespace", "", "--yes")
    assert steps(finished) == [4]


def test_prune_deletes_threads_whose_time_is_over(finished: Command) -> None:
    finished("run", flow("chain"), "--input", "{}", "--thread", "other")
    with SqliteSaver.from_conn_string("stepgraph.db", ttl=60) as saver:
        saver.copy_thread("other", "copied")
        with saver.cursor() as cursor:
            cursor.execute("UPDATE stepgraph_threads SET expires_at = 0")
    done = finished("prune", "--expired", "--vacuum", "--yes", "--json")
    assert [thread for thread, count in done.data["deleted"].items() if count] == ["copied"]
    assert [row["thread_id"] for row in finished("threads", "--json").data] == ["other", "t"]


@pytest.mark.parametrize(
    "words", [(), ("--all", "--thread", "t"), ("--all", "--expired"), ("--expired", "--older-than", "1h")]
)
def test_prune_wants_to_know_which_threads(stepgraph: Command, words: tuple[str, ...]) -> None:
    assert stepgraph("prune", *words).code == 2


def test_prune_refuses_an_unknown_thread_as_a_whole(finished: Command) -> None:
    done = finished("prune", "--thread", "t", "--thread", "nobody", "--delete", "--yes")
    assert done.code == 1
    assert "'nobody'" in done.err
    assert steps(finished)


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90), ("15m", 900), ("1.5h", 5400), ("30d", 2592000), ("2w", 1209600)]
)
def test_an_age_is_read_in_seconds(text: str, seconds: float) -> None:
    assert age(text) == seconds


@pytest.mark.parametrize("text", ["", "d", "3", "3y", "-1d", "xd"])
def test_what_is_no_age(stepgraph: Command, text: str) -> None:
    assert stepgraph("prune", "--all", f"--older-than={text}").code == 2
