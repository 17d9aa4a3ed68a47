from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Command
from cli.harness import DEMO, flow, process


def test_prints_the_output_and_tells_what_ran(stepgraph: Command) -> None:
    done = stepgraph("run", flow("chain"), "--input", '{"name": "a"}', "--thread", "t")
    assert done.code == 0
    assert done.data == {"name": "a", "log": ["first", "second"]}
    assert done.err.splitlines() == [
        "▶ first",
        '✔ first  log = ["first"]',
        "▶ second",
        '✔ second  log = ["second"]',
        "done  thread t in stepgraph.db",
    ]


def test_names_levels_of_nested_graphs(stepgraph: Command) -> None:
    done = stepgraph("run", DEMO, "--input", '{"request": "tea"}')
    assert done.code == 3
    assert "  ▶ dept › review" in done.err.splitlines()
    assert any(line.startswith("  ⏸ dept › review  asks: ") for line in done.err.splitlines())
    assert sum("⏸" in line for line in done.err.splitlines()) == 1


def test_a_pause_shows_the_question_and_how_to_answer(stepgraph: Command) -> None:
    done = stepgraph("run", flow("one_question"), "--input", "{}", "--thread", "t 1", "--db", "my.db")
    assert done.code == 3
    assert "ask_name asks" in done.out
    assert "your name?" in done.out
    answer = f"stepgraph resume {flow('one_question')} --thread 't 1' --db my.db VALUE"
    assert done.err.splitlines()[-1].endswith(answer)


def test_json_is_one_object_with_the_verdict(stepgraph: Command) -> None:
    done = stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--thread", "t", "--json")
    assert (done.code, done.err) == (3, "")
    found = done.data
    assert (found["type"], found["status"], found["thread_id"]) == ("result", "paused", "t")
    assert found["next"] == ["dept"]
    assert [(asked["path"], asked["value"]["answers"]) for asked in found["interrupts"]] == [
        (["dept", "review"], ["approved", "rejected"])
    ]


def test_json_with_stream_writes_the_parts_first(stepgraph: Command) -> None:
    done = stepgraph(
        "run", flow("talking"), "--input", "{}", "--json", "--stream", "custom", "--stream", "updates"
    )
    assert done.code == 0
    assert done.lines[:2] == [
        {"type": "custom", "ns": [], "data": {"progress": 50}},
        {"type": "updates", "ns": [], "data": {"talks": {"log": ["talked"]}}},
    ]
    assert done.lines[2]["type"] == "result"


def test_with_json_what_nodes_print_goes_to_standard_error(stepgraph: Command) -> None:
    done = stepgraph("run", flow("talking"), "--input", "{}", "--json")
    assert done.data["status"] == "done"
    assert done.err == "printed by a node\n"


def test_stream_for_people_shows_mode_and_level(stepgraph: Command) -> None:
    done = stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--stream", "tasks", "--subgraphs")
    heads = [line.partition(" {")[0] for line in done.out.splitlines() if line.startswith("[tasks]")]
    assert heads[0] == "[tasks]"
    assert any(head.startswith("[tasks] dept:") for head in heads)


def test_stream_without_subgraphs_shows_the_root_only(stepgraph: Command) -> None:
    done = stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--stream", "tasks", "--json")
    parts = [line for line in done.lines if line["type"] == "tasks"]
    assert parts
    assert all(part["ns"] == [] for part in parts)


def test_input_from_a_file_and_from_standard_input(stepgraph: Command, folder: Path) -> None:
    (folder / "in.json").write_text('{"name": "file"}', encoding="utf-8")
    assert stepgraph("run", flow("chain"), "--input", "@in.json", "-q").data["name"] == "file"
    done = process(folder, "run", flow("chain"), "--input", "-", "-q", given='{"name": "stdin"}')
    assert done.data["name"] == "stdin"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--input", "{oops"], "--input is not JSON"),
        (["--input", ""], "--input is not JSON"),
        (["--input", "@nowhere.json"], "cannot read the file"),
        (["--input", "{}", "--context", "[1]"], "--context must be a JSON object"),
        (["--input", "{}", "--config", "3"], "--config must be a JSON object"),
        (
            ["--input", "{}", "--thread", "a", "--config", '{"configurable": {"thread_id": "b"}}'],
            "--thread a and the thread_id 'b'",
        ),
        (["--input", "{}", "--recursion-limit", "0"], "not a whole number above zero"),
        (["--input", "{}", "--no-save", "--thread", "t"], "--no-save stores nothing"),
    ],
)
def test_misuse_is_told_and_nothing_runs(stepgraph: Command, words: list[str], said: str) -> None:
    done = stepgraph("run", flow("chain"), *words)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_context_reaches_the_nodes(stepgraph: Command) -> None:
    done = stepgraph("run", flow("with_context"), "--input", "{}", "--context", '{"language": "fr"}', "-q")
    assert done.data == {"log": ["hello in fr"]}


def test_config_reaches_the_checkpoints(stepgraph: Command) -> None:
    config = '{"metadata": {"owner": "ann"}}'
    stepgraph("run", flow("chain"), "--input", "{}", "--thread", "t", "--config", config)
    assert stepgraph("show", "--thread", "t", "--json").data["metadata"]["owner"] == "ann"


def test_the_limit_of_steps_fails_the_run(stepgraph: Command) -> None:
    done = stepgraph("run", flow("endless"), "--input", "{}", "--recursion-limit", "3", "--json")
    assert done.code == 1
    assert done.data["error"]["type"] == "GraphRecursionError"


def test_durability_exit_stores_the_last_checkpoint_only(stepgraph: Command) -> None:
    stepgraph("run", flow("chain"), "--input", "{}", "--thread", "t", "--durability", "exit")
    assert [row["step"] for row in stepgraph("history", "--thread", "t", "--json").data] == [2]


def test_stops_at_breakpoints_and_goes_on(stepgraph: Command) -> None:
    done = stepgraph("run", flow("chain"), "--input", "{}", "--thread", "t", "--interrupt-before", "second")
    assert done.code == 3
    assert "at a breakpoint; due: second" in done.err
    done = stepgraph("resume", flow("chain"), "--thread", "t", "-q")
    assert (done.code, done.data) == (0, {"log": ["first", "second"]})


def test_a_failure_is_short_and_says_where_and_how_to_go_on(stepgraph: Command) -> None:
    done = stepgraph("run", flow("failing"), "--input", "{}", "--thread", "t")
    assert (done.code, done.out) == (1, "")
    assert "failed  ValueError: the service said no" in done.err
    assert "During task with name 'fails'" in done.err
    assert f"stepgraph resume {flow('failing')} --thread t" in done.err
    assert "Traceback" not in done.err


def test_a_failure_in_json(stepgraph: Command) -> None:
    done = stepgraph("run", flow("failing"), "--input", "{}", "--json")
    assert done.code == 1
    assert done.data["error"]["type"] == "ValueError"
    assert done.data["error"]["message"] == "the service said no"
    assert done.data["next"] == ["fails"]


def test_traceback_shows_all(stepgraph: Command) -> None:
    done = stepgraph("run", flow("failing"), "--input", "{}", "--traceback")
    assert "Traceback (most recent call last)" in done.err
    assert 'raise ValueError("the service said no")' in done.err


def test_what_was_done_before_a_failure_is_not_done_again(
    stepgraph: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    stepgraph("run", flow("failing"), "--input", "{}", "--thread", "t")
    monkeypatch.setenv("FLOWS", "mended")
    done = stepgraph("resume", flow("failing"), "--thread", "t")
    assert done.data == {"log": ["first", "mended"]}
    assert "first" not in done.err


def test_without_saving_nothing_is_stored(stepgraph: Command, folder: Path) -> None:
    done = stepgraph("run", flow("chain"), "--input", "{}", "--no-save", "--json")
    assert done.data["thread_id"] is None
    assert list(folder.iterdir()) == []


def test_a_pause_that_is_not_stored_says_so(stepgraph: Command) -> None:
    done = stepgraph("run", flow("one_question"), "--input", "{}", "--no-save")
    assert done.code == 3
    assert "Nothing was stored" in done.err
    assert "stepgraph resume" not in done.err


def test_a_thread_gets_a_name_of_its_own(stepgraph: Command) -> None:
    names = {stepgraph("run", flow("chain"), "--input", "{}", "--json").data["thread_id"] for _ in range(2)}
    assert len(names) == 2
    assert {row["thread_id"] for row in stepgraph("threads", "--json").data} == names


def test_lost_keys_are_told_in_one_line(stepgraph: Command) -> None:
    done = stepgraph("run", flow("chain"), "--input", '{"nmae": "a"}', "-q")
    assert done.err.startswith("warning: ")
    assert "'nmae'" in done.err.splitlines()[0]
    assert ".py:" not in done.err.splitlines()[0]
