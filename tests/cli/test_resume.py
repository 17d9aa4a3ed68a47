from __future__ import annotations

from pathlib import Path

import pytest

from cli.conftest import Command
from cli.harness import DEMO, flow, process
from stepgraph.cli.arguments import read_answer


def test_answers_a_nested_question(stepgraph: Command) -> None:
    stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--thread", "t")
    done = stepgraph("resume", DEMO, "--thread", "t", "approved", "--json")
    assert (done.code, done.data["status"]) == (0, "done")
    assert done.data["values"]["final_decision"] == "approved"


@pytest.mark.parametrize(
    ("given", "taken"),
    [("Zoë", "Zoë"), ("3", 3), ("null", None), ('{"a": [1]}', {"a": [1]}), ('"3"', "3"), ("NaN", "NaN")],
)
def test_a_value_is_json_where_it_is_json(stepgraph: Command, given: str, taken: object) -> None:
    assert read_answer(given) == taken
    stepgraph("run", flow("one_question"), "--input", "{}", "--thread", "t")
    done = stepgraph("resume", flow("one_question"), "--thread", "t", given, "--json")
    assert done.data["values"]["log"][0] == f"name {taken!r}"


def test_text_takes_json_as_it_stands(stepgraph: Command) -> None:
    stepgraph("run", flow("one_question"), "--input", "{}", "--thread", "t")
    done = stepgraph("resume", flow("one_question"), "--thread", "t", "--text", "3", "--json")
    assert done.data["values"]["log"][0] == "name '3'"


def test_several_questions_are_answered_by_id(stepgraph: Command) -> None:
    started = stepgraph("run", flow("two_questions"), "--input", "{}", "--thread", "t", "--json").data
    ids = {asked["path"][0]: asked["id"] for asked in started["interrupts"]}
    done = stepgraph(
        "resume",
        flow("two_questions"),
        "--thread",
        "t",
        "--id",
        ids["ask_age"],
        "40",
        "--id",
        ids["ask_name"],
        "Zoë",
        "--json",
    )
    assert done.data["values"]["log"] == ["age 40", "name 'Zoë'"]


def test_one_of_several_questions_can_be_answered_alone(stepgraph: Command) -> None:
    started = stepgraph("run", flow("two_questions"), "--input", "{}", "--thread", "t", "--json").data
    first, other = (asked["id"] for asked in started["interrupts"])
    done = stepgraph("resume", flow("two_questions"), "--thread", "t", "--id", first, "1", "--json")
    assert done.code == 3
    assert [asked["id"] for asked in done.data["interrupts"]] == [other]


def test_one_value_for_several_questions_is_refused_and_names_them(stepgraph: Command) -> None:
    stepgraph("run", flow("two_questions"), "--input", "{}", "--thread", "t")
    done = stepgraph("resume", flow("two_questions"), "--thread", "t", "40")
    assert done.code == 1
    assert "2 questions wait" in done.err
    assert len(stepgraph("show", flow("two_questions"), "--thread", "t", "--json").data["interrupts"]) == 2


def test_an_unknown_question_is_refused(stepgraph: Command) -> None:
    stepgraph("run", flow("one_question"), "--input", "{}", "--thread", "t")
    done = stepgraph("resume", flow("one_question"), "--thread", "t", "--id", "0" * 32, "x")
    assert done.code == 1
    assert "No question with id" in done.err


def test_value_and_ids_together_are_misuse(stepgraph: Command) -> None:
    done = stepgraph("resume", flow("one_question"), "--thread", "t", "x", "--id", "0" * 32, "x")
    assert done.code == 2


def test_without_an_answer_and_a_terminal_it_stays_paused(stepgraph: Command, folder: Path) -> None:
    stepgraph("run", flow("one_question"), "--input", "{}", "--thread", "t")
    done = process(folder, "resume", flow("one_question"), "--thread", "t")
    assert done.code == 3
    assert "your name?" in done.out
    assert "give it as VALUE" in done.err


def test_without_an_answer_json_tells_what_waits(stepgraph: Command) -> None:
    stepgraph("run", flow("one_question"), "--input", "{}", "--thread", "t")
    done = stepgraph("resume", flow("one_question"), "--thread", "t", "--json")
    assert (done.code, done.data["status"]) == (3, "paused")
    assert done.data["interrupts"][0]["value"] == "your name?"


def test_a_person_at_the_terminal_is_asked(stepgraph: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    stepgraph("run", flow("one_question"), "--input", "{}", "--thread", "t")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", lambda prompt: "Zoë")
    done = stepgraph("resume", flow("one_question"), "--thread", "t", "-q")
    assert done.code == 0
    assert "name 'Zoë'" in done.out


def test_a_finished_thread_has_nothing_to_resume(stepgraph: Command) -> None:
    stepgraph("run", flow("chain"), "--input", "{}", "--thread", "t")
    done = stepgraph("resume", flow("chain"), "--thread", "t")
    assert done.code == 1
    assert "nothing waits" in done.err


def test_an_unknown_thread_is_told(stepgraph: Command) -> None:
    stepgraph("run", flow("chain"), "--input", "{}", "--thread", "t")
    done = stepgraph("resume", flow("chain"), "--thread", "other", "x")
    assert done.code == 1
    assert "Thread 'other' is not stored" in done.err


def test_an_old_question_can_be_answered_anew(stepgraph: Command) -> None:
    stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--thread", "t")
    stepgraph("resume", DEMO, "--thread", "t", "approved")
    done = stepgraph("resume", DEMO, "--thread", "t", "--at", "1", "rejected", "--json")
    assert done.data["values"]["final_decision"] == "rejected"
    values = [row["values"] for row in stepgraph("history", "--thread", "t", "--json").data]
    assert {v["final_decision"] for v in values if "final_decision" in v} == {"approved", "rejected"}


def test_the_end_of_the_input_is_no_answer(stepgraph: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def ended(prompt: str) -> str:
        raise EOFError

    stepgraph("run", flow("one_question"), "--input", "{}", "--thread", "t")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("builtins.input", ended)
    assert stepgraph("resume", flow("one_question"), "--thread", "t").code == 3


def test_a_nested_graph_that_was_edited_asks_anew(stepgraph: Command) -> None:
    stepgraph("run", DEMO, "--input", '{"request": "tea"}', "--thread", "t")
    words = ("--ns", "dept", "--values", '{"request": "coffee"}', "--as-node", "__start__")
    stepgraph("fork", DEMO, "--thread", "t", *words)
    asked = stepgraph("resume", DEMO, "--thread", "t", "--json")
    assert asked.code == 3
    assert [a["value"]["question"] for a in asked.data["interrupts"]] == [
        "Does the department approve: coffee?"
    ]
    done = stepgraph("resume", DEMO, "--thread", "t", "approved", "--json")
    assert done.data["values"]["request"] == "coffee"
