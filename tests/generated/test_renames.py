"""A thread that paused, and whose graph got other names for nodes and fields at any level, ends as it would have without."""

from __future__ import annotations

import asyncio
import operator
from collections.abc import Callable
from typing import Annotated, Any, TypedDict

from hypothesis import given
from hypothesis import strategies as st

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.graph import START, StateGraph
from stepgraph.migrations import Migration, rename_field, rename_node
from stepgraph.types import Command, Send, interrupt

Layer = list[Any]
"""The nodes of one superstep: `"write"`, `"ask"`, `"spread"` (sends to a node of its own), or the layers of a nested graph."""

THREAD: Any = {"configurable": {"thread_id": "1"}}


def layers(depth: int) -> st.SearchStrategy[list[Layer]]:
    kinds = st.sampled_from(["write", "ask", "ask", "spread"])
    node = kinds if depth == 0 else st.one_of(kinds, kinds, layers(depth - 1))
    return st.lists(st.lists(node, min_size=1, max_size=3), min_size=1, max_size=3)


class Names:
    """The names that nodes and fields have at each level; `now` are those that were chosen to be other ones."""

    def __init__(self, chosen: set[str] | None) -> None:
        self.chosen = chosen

    def node(self, place: str) -> str:
        known = f"n{place.rpartition('/')[2]}"
        return f"{known}_now" if self.chosen is not None and place in self.chosen else known

    def field(self, place: str) -> str:
        known = field_of(place)
        return f"{known}_now" if self.chosen is not None and f"field:{place}" in self.chosen else known


def field_of(place: str) -> str:
    """The name of the field that only this level has: what graphs share is not renamed on one side alone."""
    return "inner" if place else "kept"


class Built:
    """A graph, and all places in it that may get other names."""

    def __init__(self, program: list[Layer], names: Names, waits: bool) -> None:
        self.names, self.waits = names, waits
        self.places: list[str] = []
        self.renames: list[Migration] = []
        self.builder = self._level(program, "", "")

    def _level(self, program: list[Layer], above: str, at: str) -> StateGraph[Any]:
        field = self.names.field(above)
        self._place(f"field:{above}", rename_field, field_of(above), field, at)
        fields: Any = {"log": Annotated[list, operator.add], field: Annotated[list, operator.add]}
        builder = StateGraph(TypedDict("Level", fields, total=False))  # type: ignore[operator]
        before: list[str] = []
        for index, layer in enumerate(program):
            now = [
                self._node(builder, kind, f"{above}/{index}{count}", field, at)
                for count, kind in enumerate(layer)
            ]
            for name in now:
                if not before:
                    builder.add_edge(START, name)
                elif self.waits and len(before) > 1:
                    builder.add_edge(before, name)
                else:
                    for source in before:
                        builder.add_edge(source, name)
            before = now
        return builder

    def _node(self, builder: StateGraph[Any], kind: Any, place: str, field: str, at: str) -> str:
        name = self.names.node(place)
        self._place(place, rename_node, f"n{place.rpartition('/')[2]}", name, at)
        label = place
        if isinstance(kind, list):
            builder.add_node(name, self._level(kind, place, f"{at}|{name}".strip("|")).compile())
        elif kind == "spread":
            target = self.names.node(f"{place}9")
            self._place(f"{place}9", rename_node, f"n{place.rpartition('/')[2]}9", target, at)
            builder.add_node(name, lambda state: {"log": [label]})
            builder.add_node(target, lambda got: {"log": [f"{label}:{got[field]}:{interrupt(label)}"]})
            builder.add_conditional_edges(
                name, lambda state: [Send(target, {field: [n]}) for n in (1, 2)], [target]
            )
        elif kind == "ask":
            builder.add_node(name, lambda state: {"log": [f"{label}:{interrupt(label)}"], field: [label]})
        else:
            builder.add_node(
                name, lambda state: {"log": [label], field: [f"{label}:{len(state.get(field, ()))}"]}
            )
        return name

    def _place(self, place: str, rename: Callable[..., Migration], old: str, new: str, at: str) -> None:
        self.places.append(place)
        if new != old:
            self.renames.append(rename(old, new, at=at))


def to_end(graph: Any, state: Any, pauses: int | None, driver: str) -> Any:
    """Answer one question at a time, `pauses` times or to the end."""
    while state.get("__interrupt__") and pauses != 0:
        question = state["__interrupt__"][0]
        given = Command(resume={question.id: f"re {question.value}"})
        state = run(graph, given, driver)
        pauses = None if pauses is None else pauses - 1
    return state


def run(graph: Any, given: Any, driver: str) -> Any:
    return graph.invoke(given, THREAD) if driver == "sync" else asyncio.run(graph.ainvoke(given, THREAD))


@given(layers(1), st.booleans(), st.integers(0, 4), st.sampled_from(["sync", "async"]), st.data())
def test_a_paused_thread_ends_as_it_would_have_under_the_old_names(
    program: list[Layer], waits: bool, pauses: int, driver: str, data: st.DataObject
) -> None:
    old = Built(program, Names(None), waits)
    chosen = data.draw(st.sets(st.sampled_from(old.places)))
    new = Built(program, Names(chosen), waits)
    start = {"log": ["start"], "kept": ["start"]}
    plain = old.builder.compile(InMemorySaver())
    expected = to_end(plain, run(plain, start, "sync"), None, "sync")
    saver = InMemorySaver()
    before = old.builder.compile(saver)
    to_end(before, run(before, start, "sync"), pauses, "sync")
    after = new.builder.compile(saver, migrations=new.renames)
    shown = after.get_state(THREAD)
    assert [asked.id for asked in shown.interrupts] == [
        asked.id for asked in before.get_state(THREAD).interrupts
    ]
    if shown.next:
        pausing = {"__interrupt__": list(shown.interrupts)}
        ended = to_end(after, pausing, None, driver)
    else:
        ended = shown.values
    name = "kept_now" if "field:" in chosen else "kept"
    assert {"log": ended["log"], "kept": ended[name]} == expected
