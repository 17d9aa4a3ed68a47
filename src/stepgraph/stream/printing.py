"""Printing events to the terminal, for `print_mode` and `debug=True`."""

from __future__ import annotations

from collections.abc import Callable
from pprint import pformat
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from stepgraph.stream.sink import Event


def printer(modes: frozenset[str], subgraphs: bool) -> Callable[[Event], None]:
    """A function that prints events of these modes, each with its mode and namespace."""

    def show(event: Event) -> None:
        parts, mode, data = event
        if mode in modes:
            where = f"[{'|'.join(parts)}]" if subgraphs and parts else ""
            print(f"{_bold(f'[{mode}]{where}')} {_text(data)}")

    return show


def _bold(text: str) -> str:
    return f"\033[1m{text}\033[0m"


def _text(data: Any) -> str:
    return data if isinstance(data, str) else pformat(data, sort_dicts=False, width=110)
