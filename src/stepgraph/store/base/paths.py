"""Paths into a value, and the texts that stand there: what a store embeds.

Rules of this file: pure functions of a value and a path.

A path is field names with periods (`"meta.title"`), list positions (`"chapters[0]"`, `"chapters[-1]"`), all elements
(`"chapters[*].text"`), all fields (`"meta.*"`), several fields (`"{title,summary}"`), or `"$"` for the whole value.
"""

from __future__ import annotations

import json
from typing import Any

_CLOSING = {"[": "]", "{": "}"}


def tokenize_path(path: str) -> list[str]:
    """The steps of a path.

    >>> tokenize_path("chapters[*].{title,text}")
    ['chapters', '[*]', '{title,text}']
    """
    tokens: list[str] = []
    start = position = 0
    while position < len(path):
        character = path[position]
        if character in _CLOSING:
            _append(tokens, path[start:position])
            end = _end_of_group(path, position)
            tokens.append(path[position:end])
            start = position = end
        elif character == ".":
            _append(tokens, path[start:position])
            start = position = position + 1
        else:
            position += 1
    _append(tokens, path[start:])
    return tokens


def _append(tokens: list[str], token: str) -> None:
    if token:
        tokens.append(token)


def _end_of_group(path: str, start: int) -> int:
    opening, closing, depth = path[start], _CLOSING[path[start]], 0
    for position in range(start, len(path)):
        if path[position] == opening:
            depth += 1
        elif path[position] == closing:
            depth -= 1
            if not depth:
                return position + 1
    return len(path)


def get_text_at_path(obj: Any, path: str | list[str]) -> list[str]:
    """The texts that stand at a path of a value: none, one, or several where the path has a wildcard.

    Numbers and booleans are written as text, dictionaries and lists as JSON; `None` has no text.

    Args:
        obj: The value to look into.
        path: A path, or its steps as `tokenize_path` gives them.

    >>> get_text_at_path({"title": "Dune", "chapters": [{"text": "one"}, {"text": "two"}]}, "chapters[*].text")
    ['one', 'two']
    """
    tokens = tokenize_path(path) if isinstance(path, str) else path
    if not tokens or tokens == ["$"]:
        return [_as_json(obj)]
    return [text for found in _resolve(obj, tokens) for text in _as_text(found)]


def _resolve(obj: Any, tokens: list[str]) -> list[Any]:
    """The values at the end of a path."""
    if not tokens:
        return [obj]
    token, rest = tokens[0], tokens[1:]
    if token.startswith("{"):
        names = [name.strip() for name in token[1:-1].split(",")]
        return [found for name in names if name for found in _resolve(obj, [*tokenize_path(name), *rest])]
    return [found for child in _children(obj, token) for found in _resolve(child, rest)]


def _children(obj: Any, token: str) -> list[Any]:
    """The values one step below a value."""
    if token.startswith("["):
        return _elements(obj, token[1:-1]) if isinstance(obj, (list, tuple)) else []
    if token == "*":
        if isinstance(obj, dict):
            return list(obj.values())
        return list(obj) if isinstance(obj, (list, tuple)) else []
    return [obj[token]] if isinstance(obj, dict) and token in obj else []


def _elements(obj: list[Any] | tuple[Any, ...], which: str) -> list[Any]:
    if which == "*":
        return list(obj)
    try:
        return [obj[int(which)]]
    except (ValueError, IndexError):
        return []


def _as_text(found: Any) -> list[str]:
    if found is None:
        return []
    if isinstance(found, str):
        return [found]
    if isinstance(found, (bool, int, float)):
        return [str(found)]
    return [_as_json(found)]


def _as_json(found: Any) -> str:
    return json.dumps(found, sort_keys=True, ensure_ascii=False, default=str)
