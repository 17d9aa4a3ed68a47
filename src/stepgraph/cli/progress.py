"""What a run tells while it runs, for people: which node at which level starts, ends, fails or asks.

Rules: reads stream parts (`{"type", "ns", "data"}`), knows nothing of graphs. Every question is shown once, where it was
asked; the levels above it only wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepgraph.cli.checkpoints import error_text
from stepgraph.cli.screen import Piece, Screen, Styled
from stepgraph.cli.values import brief
from stepgraph.values.names import NS_END

_WIDTH = 60


class Progress:
    """Writes one line for each thing that happens.

    Args:
        screen: Where to.
    """

    modes = ("tasks", "custom")

    def __init__(self, screen: Screen) -> None:
        self.screen = screen
        self._asked: set[str] = set()
        self._failed: set[int] = set()
        signs = ("▶", "✔", "✘", "⏸", "·", "›") if screen.unicode else (">", "+", "x", "?", ".", ">")
        self._begins, self._ends, self._fails, self._waits, self._says, self._below = signs

    def __call__(self, part: Mapping[str, Any]) -> None:
        """Tell about one part."""
        levels = part["ns"]
        if part["type"] == "custom":
            self._line(levels, Styled(self._says, "quiet"), [], brief(part["data"], _WIDTH))
        elif part["type"] == "tasks":
            self._task(levels, part["data"])

    def _task(self, levels: tuple[str, ...], task: Mapping[str, Any]) -> None:
        name = self._name(levels, task["name"])
        if "result" not in task:
            self._line(levels, Styled(self._begins, "quiet"), name)
        elif task["error"] is not None:
            error = task["error"]
            if id(error) not in self._failed:
                self._failed.add(id(error))
                self._line(levels, Styled(self._fails, "bad"), name, Styled(error_text(error), "bad"))
        elif task["interrupts"]:
            for asked in task["interrupts"]:
                if asked["id"] not in self._asked:
                    self._asked.add(asked["id"])
                    self._line(
                        levels, Styled(self._waits, "alert"), name, "asks: ", brief(asked["value"], _WIDTH)
                    )
        else:
            self._line(levels, Styled(self._ends, "good"), name, *_written(task["result"]))

    def _name(self, levels: tuple[str, ...], node: str) -> list[Piece]:
        path = [level.partition(NS_END)[0] for level in levels]
        above: list[Piece] = [Styled(f"{name} {self._below} ", "quiet") for name in path]
        return [*above, Styled(node, "name")]

    def _line(self, levels: tuple[str, ...], sign: Styled, name: list[Piece], *more: Piece) -> None:
        gap: list[Piece] = ["  "] if more and name else []
        self.screen.say("  " * len(levels), sign, " ", *name, *gap, *more)


def _written(result: Any) -> list[Piece]:
    if not isinstance(result, Mapping):
        return [Styled(brief(result, _WIDTH), "quiet")]
    text = ", ".join(f"{field} = {brief(value, _WIDTH)}" for field, value in result.items())
    return [Styled(brief(text, 2 * _WIDTH), "quiet")] if text else []
