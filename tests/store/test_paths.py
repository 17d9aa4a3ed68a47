"""Paths into values, and the texts they find."""

from __future__ import annotations

import pytest

from stepgraph.store.base import get_text_at_path, tokenize_path

VALUE = {
    "a": {"b": "t1", "c": ["x", "y", {"z": "deep"}]},
    "n": 5,
    "f": 1.5,
    "t": True,
    "none": None,
    "l": [1, 2],
    "e": [],
    "objects": [{"a": "1"}, {"a": "2"}],
    "s": "",
}


@pytest.mark.parametrize(
    ("path", "tokens"),
    [
        ("a", ["a"]),
        ("a.b", ["a", "b"]),
        ("a[0].b", ["a", "[0]", "b"]),
        ("a[0][1]", ["a", "[0]", "[1]"]),
        ("x.{a,b}.c", ["x", "{a,b}", "c"]),
        ("{a.b,c[0]}", ["{a.b,c[0]}"]),
        ("a..b", ["a", "b"]),
        ("a.*", ["a", "*"]),
        ("a[", ["a", "["]),
        ("$", ["$"]),
        ("", []),
    ],
)
def test_a_path_has_steps(path, tokens):
    assert tokenize_path(path) == tokens


@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("a.b", ["t1"]),
        ("a.c[0]", ["x"]),
        ("a.c[-1].z", ["deep"]),
        ("a.c[*]", ["x", "y", '{"z": "deep"}']),
        ("a.c[*].z", ["deep"]),
        ("a.c[9]", []),
        ("a.c[x]", []),
        ("a.*", ["t1", '["x", "y", {"z": "deep"}]']),
        ("objects.*", ['{"a": "1"}', '{"a": "2"}']),
        ("objects[*].a", ["1", "2"]),
        ("{n,f}", ["5", "1.5"]),
        ("a.{b,c}", ["t1", '["x", "y", {"z": "deep"}]']),
        ("{a.b, objects[0].a}", ["t1", "1"]),
        ("t", ["True"]),
        ("none", []),
        ("missing", []),
        ("missing.deeper[0]", []),
        ("n.deeper", []),
        ("l", ["[1, 2]"]),
        ("l[*]", ["1", "2"]),
        ("e", ["[]"]),
        ("e[*]", []),
        ("s", [""]),
    ],
)
def test_a_path_finds_texts(path, texts):
    assert get_text_at_path(VALUE, path) == texts
    assert get_text_at_path(VALUE, tokenize_path(path)) == texts


@pytest.mark.parametrize("path", ["", "$"])
def test_the_whole_value_is_json(path):
    assert get_text_at_path({"b": 1, "a": "é"}, path) == ['{"a": "é", "b": 1}']


def test_what_is_no_dictionary_has_no_fields():
    assert get_text_at_path("text", "a") == []
    assert get_text_at_path(None, "a") == []
