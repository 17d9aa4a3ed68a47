from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from stepgraph.draw import Node
from stepgraph.draw.text import DETAIL_WIDTH, LABEL_WIDTH, NAME_WIDTH, detail_lines, label_lines, name_lines


def test_short_names_stay_on_one_line() -> None:
    assert name_lines(Node("a", "call the model")) == ["call the model"]


def test_long_names_are_broken_where_words_part() -> None:
    lines = name_lines(Node("a", "summarise_everything_that_was_found_so_far"))
    assert lines == ["summarise_everything_that_was_", "found_so_far"]


def test_a_word_that_is_too_long_is_cut() -> None:
    lines = name_lines(Node("a", "x" * (NAME_WIDTH + 5)))
    assert lines == ["x" * NAME_WIDTH, "x" * 5]


def test_breaks_within_a_name_become_blanks() -> None:
    assert name_lines(Node("a", "one\ntwo")) == ["one two"]


@given(st.text(max_size=120))
def test_no_line_is_too_long_and_no_letter_is_lost(text: str) -> None:
    lines = label_lines(text)
    assert all(len(line) <= LABEL_WIDTH for line in lines)
    printable = "".join(char for char in text if char.isprintable() and not char.isspace())
    assert "".join("".join(lines).split()) == printable


def test_long_details_are_cut() -> None:
    (line,) = detail_lines(Node("a", "a", None, {"note": "y" * 100}))
    assert len(line) == DETAIL_WIDTH
    assert line.endswith("…")


def test_reserved_metadata_is_shown_without_its_underscores() -> None:
    assert detail_lines(Node("a", "a", None, {"__interrupt": "before"})) == ["interrupt = before"]
