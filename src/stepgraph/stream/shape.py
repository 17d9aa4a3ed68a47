"""The forms in which a person receives events: v1 tuples and bare parts, v2 dicts, and what `invoke` answers."""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from stepgraph.stream.messages import only_new
from stepgraph.values.names import INTERRUPT

if TYPE_CHECKING:
    from stepgraph.stream.sink import Event


def shaper(
    graph: Any, modes: frozenset[str], single: bool, subgraphs: bool, version: str, others: bool = True
) -> Callable[[Event], Any]:
    """How one call's events are shaped; the function answers None for an event that is not shown.

    `others` says that there are events of modes that were not asked for.
    """
    if single and not subgraphs and not others and version == "v1":
        shape: Callable[[Event], Any] = itemgetter(2)
    else:
        shape = _shape_of(modes, single, subgraphs, version)
    return only_new(shape) if "messages" in modes else shape


def _shape_of(modes: frozenset[str], single: bool, subgraphs: bool, version: str) -> Callable[[Event], Any]:
    if version == "v2":
        return lambda event: _part(event) if event[1] in modes else None
    if single and not subgraphs:
        return lambda event: event[2] if event[1] in modes else None
    if single:
        return lambda event: (event[0], event[2]) if event[1] in modes else None
    if not subgraphs:
        return lambda event: (event[1], event[2]) if event[1] in modes else None
    return lambda event: event if event[1] in modes else None


def _part(event: Event) -> dict[str, Any]:
    parts, mode, data = event
    part: dict[str, Any] = {"type": mode, "ns": parts, "data": data}
    if mode == "values":
        asked: tuple[Any, ...] = ()
        if isinstance(data, dict) and INTERRUPT in data:
            asked = tuple(data[INTERRUPT])
            part["data"] = {key: value for key, value in data.items() if key != INTERRUPT}
        part["interrupts"] = asked
    return part


def as_output(graph: Any, stream_mode: Any, version: str, parts: list[Any]) -> Any:
    """What `invoke` answers for its stream's parts."""
    if stream_mode != "values":
        return parts
    output: Any = None
    asked: list[Any] = []
    for mode, part in parts:
        if mode == "values":
            output = part
        elif isinstance(part, dict) and INTERRUPT in part:
            asked += part[INTERRUPT]
    if isinstance(output, dict):
        output = {key: value for key, value in output.items() if key != INTERRUPT}
    if version == "v2":
        from stepgraph.values.parts import GraphOutput

        return GraphOutput(output, tuple(asked))
    if asked:
        return {**(output if isinstance(output, dict) else {}), INTERRUPT: asked}
    return output
