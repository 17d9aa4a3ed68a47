"""Telling how a run came out: for people, with what to do next; for programs, as one JSON object.

Rules: the output and the questions go to standard output, verdict and hints to standard error.
"""

from __future__ import annotations

import shlex
import traceback
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TextIO

from stepgraph.cli.checkpoints import error_text
from stepgraph.cli.screen import Screen, Styled, notes, output, screen_for
from stepgraph.cli.storage import Storage
from stepgraph.cli.values import clean, dumps

VALUE = "VALUE"


class Question(NamedTuple):
    """A question that waits, and the path of nodes to where it was asked."""

    path: tuple[str, ...]
    asked: Any


def questions_of(state: Any, above: tuple[str, ...] = ()) -> Iterator[Question]:
    """All questions of a snapshot that was taken with `subgraphs=True`, each where it was asked.

    What a nested graph asked before it was forked from outside is no question any more: it will ask anew.
    """
    for task in state.tasks:
        path = (*above, task.name)
        nested = task.state if hasattr(task.state, "tasks") else None
        inner = list(questions_of(nested, path)) if nested is not None else []
        yield from inner
        if nested is not None and nested.next and not inner:
            continue
        known = {question.asked.id for question in inner}
        for asked in task.interrupts:
            if asked.id not in known:
                yield Question(path, asked)


def command(name: str, spec: str, thread: str, place: Storage, *more: str) -> str:
    """A command line that can be copied into a shell."""
    line = shlex.join(["stepgraph", name, spec, "--thread", thread, *place.option])
    return " ".join([line, *more])


class Report:
    """Tells about runs of one thread.

    Args:
        spec: The graph, as the person named it.
        thread: The thread.
        place: Where it is stored; None if it is not.
        traceback: Whether to show where errors come from.
    """

    def __init__(self, spec: str, thread: str, place: Storage | None, *, traceback: bool = False) -> None:
        self.spec = spec
        self.thread = thread
        self.place = place
        self.traceback = traceback

    def for_people(self, outcome: Any) -> None:
        """Write the output or the questions, and what to do next."""
        out, err = output(), notes()
        if outcome.status == "done":
            out.data(outcome.values)
            self._stored(err, Styled("done", "good"))
        elif outcome.status == "paused":
            show_questions(out, outcome.questions)
            self._stored(err, Styled("paused", "alert"))
            self._how_to_go_on(err, outcome)
        elif outcome.status == "failed":
            self._failure(err, outcome.error)
            self._go_on(err, "it is stored up to there; go on with:")
        else:
            err.say(Styled(outcome.status, "alert"), f"  what had ended is stored in thread {self.thread}")
            self._go_on(err, "go on with:")

    def for_programs(self, outcome: Any) -> None:
        """Write one line of JSON."""
        result: dict[str, Any] = {
            "type": "result",
            "status": outcome.status,
            "thread_id": self.thread if self.place is not None else None,
            "checkpoint_id": outcome.checkpoint,
            "values": outcome.values,
            "next": list(outcome.next),
            "interrupts": [question_json(question) for question in outcome.questions],
        }
        if outcome.error is not None:
            result["error"] = _error_json(outcome.error)
        print(dumps(result), flush=True)
        if self.traceback and outcome.error is not None:
            self._failure(notes(), outcome.error)

    def _stored(self, screen: Screen, verdict: Styled) -> None:
        if self.place is None:
            screen.say(verdict)
        else:
            screen.say(verdict, f"  thread {self.thread} in {self.place.name}")

    def _how_to_go_on(self, screen: Screen, outcome: Any) -> None:
        if self.place is None:
            screen.say("Nothing was stored, so it cannot go on; run it with a database.")
            return
        asked = outcome.questions
        if not asked:
            screen.say(f"at a breakpoint; due: {', '.join(outcome.next)}")
            self._go_on(screen, "go on with:")
        elif len(asked) == 1:
            screen.say("answer with:  ", command("resume", self.spec, self.thread, self.place, VALUE))
        else:
            ids = [f"--id {question.asked.id} {VALUE}" for question in asked]
            screen.say("answer with:  ", command("resume", self.spec, self.thread, self.place, *ids))

    def _go_on(self, screen: Screen, words: str) -> None:
        if self.place is not None:
            screen.say(f"{words}  ", command("resume", self.spec, self.thread, self.place))

    def _failure(self, screen: Screen, error: BaseException) -> None:
        if self.traceback:
            screen.text("".join(traceback.format_exception(error)))
            return
        screen.say(Styled("failed", "bad"), "  ", error_text(error))
        for note in getattr(error, "__notes__", ()):
            screen.say("  ", note)
        screen.say(Styled("  see where with --traceback", "quiet"))


def show_questions(screen: Screen, questions: tuple[Question, ...]) -> None:
    """Write what is asked, by whom, and what an answer must look like."""
    arrow = " › " if screen.unicode else " > "
    for path, asked in questions:
        screen.say(
            Styled(arrow.join(path) or "a node", "name"), " asks", Styled(f"  (id {asked.id})", "quiet")
        )
        if isinstance(asked.value, str):
            screen.say("  ", asked.value)
        else:
            screen.data(asked.value, "  ")
        if asked.response_schema is not None:
            screen.say("  the answer must fit:")
            screen.data(asked.response_schema, "  ")


def question_json(question: Question) -> Mapping[str, Any]:
    """A question for programs."""
    asked = question.asked
    return {
        "id": asked.id,
        "value": asked.value,
        "response_schema": asked.response_schema,
        "path": list(question.path),
    }


def _error_json(error: BaseException) -> dict[str, Any]:
    return {
        "type": type(error).__name__,
        "message": str(error),
        "notes": list(getattr(error, "__notes__", ())),
    }


def print_part(part: Mapping[str, Any], stream: TextIO, *, as_json: bool) -> None:
    """Write one stream part: as JSON, as the bare text of a message at the root, or as a line with mode and level."""
    if as_json:
        print(dumps(part), file=stream, flush=True)
        return
    where = "|".join(part["ns"])
    text = getattr(part["data"][0], "content", None) if part["type"] == "messages" else None
    if isinstance(text, str) and not where:
        print(clean(text), end="", file=stream, flush=True)
        return
    level = f" {where}" if where else ""
    screen_for(stream).say(Styled(f"[{part['type']}]", "quiet"), level, " ", dumps(part["data"]))
