from __future__ import annotations

import io
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest

from stepgraph.cli.screen import Branch, Screen, Styled, screen_for
from stepgraph.cli.values import brief, clean, jsonable

TREE = Branch(("root",), [Branch((Styled("a", "name"),), [Branch(("b",))]), Branch(("c",))])


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8")

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined,no-any-return]


@pytest.fixture
def colours(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    pytest.importorskip("rich")
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal()


def plain(show: Any) -> list[str]:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    show(Screen(stream))
    stream.flush()
    return stream.buffer.getvalue().decode().splitlines()  # type: ignore[attr-defined,no-any-return]


def test_columns_are_as_wide_as_their_widest_cell_also_in_wide_signs() -> None:
    assert plain(
        lambda screen: screen.table(("name", "n"), [("批准批", "1"), (Styled("b", "good"), "22")])
    ) == [
        "name    n",
        "批准批  1",
        "b       22",
    ]


def test_a_tree() -> None:
    assert plain(lambda screen: screen.tree(TREE)) == ["root", "├─ a", "│  └─ b", "└─ c"]


def test_a_tree_where_only_ascii_can_be_shown() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Screen(stream).tree(TREE)
    stream.flush()
    assert stream.buffer.getvalue().decode().splitlines() == ["root", "|- a", "|  `- b", "`- c"]  # type: ignore[attr-defined]


def test_colours_only_on_a_terminal(colours: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    assert screen_for(colours).colours
    assert not screen_for(io.StringIO()).colours
    monkeypatch.setenv("NO_COLOR", "1")
    assert not screen_for(colours).colours


def test_colours_change_no_words(colours: Terminal) -> None:
    screen = screen_for(colours)
    screen.say("[bold]", Styled("name", "name"), "  \x1b[2J")
    screen.table(("head",), [(Styled("[red]cell", "bad"),)])
    screen.tree(TREE)
    screen.data({"a": [1, "[b]"]})
    written = colours.text()
    assert "\x1b[1;36mname" in written
    for words in ("[bold]", "\\x1b[2J", "[red]cell", "└─ ", '"[b]"'):
        assert words in written


def test_long_lines_are_not_cut_on_a_terminal(colours: Terminal) -> None:
    screen_for(colours).say("x" * 200)
    screen_for(colours).tree(Branch(("root",), [Branch(("y" * 200,))]))
    assert "x" * 200 in colours.text()
    assert "y" * 200 in colours.text()


class Point(NamedTuple):
    x: int


@dataclass
class Box:
    inside: Any


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ({1: {2}}, {"1": [2]}),
        ((1, "a", None, True), [1, "a", None, True]),
        (Point(3), {"x": 3}),
        (Box(Box(b"x")), {"inside": {"inside": "eA=="}}),
        (float("nan"), "nan"),
        (datetime(2024, 1, 2, tzinfo=UTC), "2024-01-02T00:00:00+00:00"),
        (ValueError("no"), "ValueError: no"),
        (1 + 2j, "(1+2j)"),
    ],
)
def test_values_in_json(value: Any, shown: Any) -> None:
    assert jsonable(value) == shown


def test_messages_are_shown_by_their_fields() -> None:
    messages = pytest.importorskip("langchain_core.messages")
    shown = jsonable(messages.HumanMessage("hello", id="1"))
    assert (shown["type"], shown["content"], shown["id"]) == ("human", "hello", "1")


def test_brief_is_one_line() -> None:
    assert brief("a\nb") == "a b"
    assert brief({"a": "x" * 100}, 10) == '{"a": "xx…'


def test_reversals_of_direction_are_spelled_out() -> None:
    assert clean("a\u202eb\u2066c") == "a\\u202eb\\u2066c"
