"""The shape of a graph as a short text that is stored with its threads: what they need to find again when they go on.

It names the nodes (and which of them are graphs), the waiting edges, each field with its kind of channel and the class of
its values, and the migrations that a thread of this graph no longer needs. Reducers, edges, policies and code are not in
it: a change of these alone is none that a stored thread could trip over.

Rules: pure. The text is made once a graph, on first use; in all runs of an unchanged graph it is compared, never read.

Stored form: `[version, nodes, waiting edges, {field: kind and class}, migrations]` as JSON. A node that is a graph is written
`name>graph`. Of a field, `str` is a plain one that holds text, `+list` folds lists, `Topic str` is any other channel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from stepgraph.channels.binop import BinaryOperatorAggregate
from stepgraph.channels.last_value import LastValue
from stepgraph.pregel.subgraphs import is_compiled_graph
from stepgraph.schema.type_names import type_name

if TYPE_CHECKING:
    from stepgraph.pregel.plan import Plan
    from stepgraph.values.migrations import Migration

FORMAT = 1
_GRAPH_MARK = ">"


class Field(NamedTuple):
    """How a field is kept: its kind of channel and the class of its values, each empty where it is the plainest."""

    kind: str
    type: str

    def text(self) -> str:
        """For people: `str`, `list with a reducer`, `Topic of str`."""
        kept = self.type or "any value"
        if self.kind == "":
            return kept
        return f"{kept} with a reducer" if self.kind == "+" else f"{self.kind} of {kept}"


class Shape(NamedTuple):
    """A shape that was read.

    Attributes:
        nodes: Name to the name of the graph that the node is, else to "".
        joins: The channels of waiting edges.
        fields: Name to how it is kept.
        applied: What the migrations are called that a thread of this shape no longer needs.
    """

    nodes: Mapping[str, str]
    joins: Sequence[str]
    fields: Mapping[str, Field]
    applied: Sequence[str]


NOTHING = Shape({}, (), {}, ())


def shape_of(plan: Plan, migrations: Sequence[Migration]) -> str:
    """The shape of a graph, with the migrations that hold where it runs."""
    key = tuple(migration.identity() for migration in migrations)
    known = plan.shape_texts.get(key)
    if known is None:
        from json import dumps

        parts = [FORMAT, _nodes(plan), sorted(plan.joins), _fields(plan), key]
        known = plan.shape_texts[key] = dumps(parts, separators=(",", ":"))
    return known


def read_shape(text: Any) -> Shape | None:
    """The shape in a stored text; None if it is not known or of a form that is not known here."""
    from json import loads

    try:
        version, nodes, joins, fields, applied = loads(text)
        if version != FORMAT:
            return None
        names = [node.partition(_GRAPH_MARK) for node in nodes]
        kept = {name: _read_field(code) for name, code in fields.items()}
        return Shape({name: mark + graph for name, mark, graph in names}, joins, kept, applied)
    except (TypeError, ValueError, AttributeError):
        return None


def fields_of(plan: Plan) -> dict[str, Field]:
    """How a graph keeps its fields."""
    return {
        name: Field(_kind(channel), type_name(channel.typ))
        for name, channel in plan.channels.items()
        if name not in plan.untracked
    }


def _nodes(plan: Plan) -> list[str]:
    return sorted(
        name + (_GRAPH_MARK + node.action.name if is_compiled_graph(node.action) else "")
        for name, node in plan.nodes.items()
        if not node.hidden
    )


def _fields(plan: Plan) -> dict[str, str]:
    found = fields_of(plan)
    return {name: _code(found[name]) for name in sorted(found)}


def _code(field: Field) -> str:
    return field.type if field.kind == "" else f"{field.kind}{'' if field.kind == '+' else ' '}{field.type}"


def _read_field(code: str) -> Field:
    if code.startswith("+"):
        return Field("+", code[1:])
    kind, found, kept = code.partition(" ")
    return Field(kind, kept) if found else Field("", code)


def _kind(channel: Any) -> str:
    cls = type(channel)
    if cls is LastValue:
        return ""
    if cls is BinaryOperatorAggregate:
        return "+"
    return str(cls.__name__)
