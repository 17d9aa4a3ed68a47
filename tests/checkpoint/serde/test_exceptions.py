"""Exceptions come back with class, arguments, notes and the text of their causes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from checkpoint.serde.compare import round_trip
from checkpoint.serde.samples import Problem
from stepgraph.checkpoint.serde.errors import PlainDataWarning, RecordedError
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from stepgraph.checkpoint.serde.policy import forget_warnings
from stepgraph.errors import InvalidUpdateError


@pytest.mark.parametrize(
    "error",
    [
        ValueError("bad", 3),
        KeyError(("a", 1)),
        StopIteration(5),
        SystemExit(2),
        KeyboardInterrupt(),
        FileNotFoundError(2, "no such file", "/a"),
        OSError(5, "io"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad byte"),
        UnicodeEncodeError("ascii", "é", 0, 1, "no"),
        ImportError("no module", name="x", path="/p"),
        SyntaxError("bad", ("f.py", 1, 2, "text", 1, 3)),
        InvalidUpdateError("At key 'x'"),
        json.JSONDecodeError("bad", "{", 1),
    ],
)
def test_exception_comes_back(error: BaseException) -> None:
    back = round_trip(error)
    assert type(back) is type(error)
    assert (back.args, str(back), repr(back)) == (error.args, str(error), repr(error))
    for name in (
        "errno",
        "filename",
        "value",
        "code",
        "name",
        "path",
        "start",
        "reason",
        "lineno",
        "pos",
        "doc",
    ):
        assert getattr(back, name, None) == getattr(error, name, None)


def test_groups_come_back() -> None:
    group = ExceptionGroup("several", [ValueError("a"), ExceptionGroup("inner", [KeyError("b")])])
    back = round_trip(group)
    assert type(back) is ExceptionGroup
    assert repr(back) == repr(group)


def _failing(kind: str) -> BaseException:
    try:
        try:
            try:
                raise KeyError("first")
            except KeyError as error:
                raise OSError("second") from error
        except OSError as error:
            if kind == "cause":
                raise ValueError("third") from error
            if kind == "suppressed":
                raise ValueError("third") from None
            raise ValueError("third") from None if kind == "none" else error
    except ValueError as error:
        return error


def test_causes_come_back_as_text() -> None:
    back = round_trip(_failing("cause"))
    assert type(back.__cause__) is RecordedError
    assert str(back.__cause__) == "OSError: second"
    assert str(back.__cause__.__cause__) == "KeyError: 'first'"


def test_causes_survive_a_second_round_trip() -> None:
    back = round_trip(round_trip(_failing("cause")))
    assert str(back.__cause__.__cause__) == "KeyError: 'first'"


def test_suppressed_context_stays_suppressed() -> None:
    back = round_trip(_failing("suppressed"))
    assert back.__cause__ is None
    assert back.__suppress_context__
    assert str(back.__context__) == "OSError: second"


def test_what_cannot_be_stored_does_not_hide_the_failure() -> None:
    error = Problem(1)
    error.args = ("text", print)
    error.response = object()  # type: ignore[attr-defined]
    back = round_trip([error])[0]
    assert back.args == ("text", repr(print))
    assert not hasattr(back, "response")
    assert back.code == 1


def test_failing_text_of_an_exception_is_no_failure() -> None:
    back = round_trip(Mute())
    assert type(back) is Mute


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_exception_whose_class_is_not_there_stays_an_exception() -> None:
    forget_warnings()
    serializer = JsonPlusSerializer()
    data = serializer.pack(Problem(7)).replace(b"Problem", b"Trouble")
    with pytest.warns(PlainDataWarning, match="Trouble"):
        back: Any = serializer.unpack(data)
    assert type(back) is RecordedError
    assert str(back) == "checkpoint.serde.samples.Trouble: problem 7"
    assert back.arguments == ("problem 7",)


def test_exception_of_an_extension_with_data_of_its_own_comes_back_as_its_text() -> None:
    pydantic = pytest.importorskip("pydantic")
    with pytest.raises(pydantic.ValidationError) as raised:
        pydantic.TypeAdapter(int).validate_python("many")
    raised.value.add_note("of field 'count'")
    restored = round_trip(raised.value)
    assert isinstance(restored, RecordedError)
    assert restored.type_name == "pydantic_core._pydantic_core.ValidationError"
    assert "unable to parse string as an integer" in restored.message
    assert restored.__notes__ == ["of field 'count'"]
