"""A graph as the text of a Mermaid flowchart.

The text of an ordinary graph is the one that the field knows, line for line, so that stored texts compare equal. Names
that Mermaid would misread are made safe: ids keep letters, digits, ``_`` and inner ``-`` and write the rest as a
backslash with the character's hex number, words that Mermaid reserves included; ids never collide; labels with anything
but plain characters are quoted, and what a quoted label may not hold becomes an entity.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from stepgraph.draw.frontmatter import frontmatter_text
from stepgraph.draw.model import Drawable, Edge, Node, group_of, metadata_lines
from stepgraph.draw.styles import NodeStyles, StyleSheet

RESERVED = re.compile(
    r"\d*(end|graph|flowchart|subgraph|style|linkStyle|default|interpolate|classDef|class|click|href|call|direction"
    r"|accTitle|accDescr|_self|_blank|_parent|_top)\b"
)
PLAIN_LABEL = re.compile(r"\w([\w .,:+*/!?=~'$-]*\w)?")
PLAIN_EDGE_LABEL = re.compile(r"\w([\w ,:+*/!?='$]|-(?!-))*")
DIRECTION = re.compile(r"(direction)\s+(?=TB|BT|RL|LR|TD)")
"""Mermaid takes a line that holds this anywhere for a command."""
EMPHASIS = "*_`"
ENTITIES = {
    '"': "#quot;",
    "<": "#lt;",
    ">": "#gt;",
    "&": "#amp;",
    "#": "#35;",
    "`": "#96;",
    ";": "#59;",
    "%": "#37;",
}

Group = tuple[str, ...]


def mermaid(
    graph: Drawable,
    *,
    with_styles: bool = True,
    curve: str = "linear",
    node_colors: StyleSheet | None = None,
    words_per_line: int = 9,
    frontmatter: dict[str, Any] | None = None,
) -> str:
    """Write a graph as a Mermaid flowchart.

    Args:
        graph: The graph.
        with_styles: With the head, the nodes' shapes and colours; without, only the edges.
        curve: Mermaid's name of the way that lines are bent.
        node_colors: CSS of the nodes.
        words_per_line: Break edge labels after so many words.
        frontmatter: Mermaid's configuration, put at the head of the text.
    """
    ids = Ids()
    for key in graph.nodes:
        ids.take(key, key)
    lines = ["graph TD;"]
    if with_styles:
        lines.insert(0, frontmatter_text(frontmatter, curve))
    lines += Writer(graph, ids, with_styles, words_per_line).group(())
    if with_styles:
        styles = node_colors or NodeStyles()
        for kind in ("default", "first", "last"):
            lines.append(f"\tclassDef {kind} {getattr(styles, kind)}")
    return DIRECTION.sub(r"\1#32;", "\n".join(lines)) + "\n"


class Ids:
    """Gives every node and group an id of its own that Mermaid reads as an id."""

    def __init__(self) -> None:
        self.by_key: dict[object, str] = {}
        self.used: set[str] = set()

    def take(self, key: object, wanted: str) -> str:
        """The id for ``key``, as near to ``wanted`` as possible."""
        base = candidate = safe_id(wanted)
        number = 1
        while candidate in self.used:
            number += 1
            candidate = f"{base}_{number}"
        self.used.add(candidate)
        self.by_key[key] = candidate
        return candidate


class Writer:
    """Writes the groups of one graph, from the outermost inwards."""

    def __init__(self, graph: Drawable, ids: Ids, with_styles: bool, words_per_line: int) -> None:
        self.ids = ids
        self.with_styles = with_styles
        self.words_per_line = words_per_line
        self.first, self.last = graph.first_node(), graph.last_node()
        self.nodes: dict[Group, list[Node]] = {}
        self.edges: dict[Group, list[Edge]] = {}
        self.children: dict[Group, list[Group]] = {}
        for node in graph.nodes.values():
            self._open(group_of(node.id))
            self.nodes.setdefault(group_of(node.id), []).append(node)
        for edge in graph.edges:
            self.edges.setdefault(_shared(group_of(edge.source), group_of(edge.target)), []).append(edge)
        self._put_groups_with_edges_first()

    def _open(self, group: Group) -> None:
        if group and group not in self.children.setdefault(group[:-1], []):
            self.children[group[:-1]].append(group)
            self._open(group[:-1])

    def _put_groups_with_edges_first(self) -> None:
        place: dict[Group, int] = {}
        for number, group in enumerate(self.edges):
            for depth in range(1, len(group) + 1):
                place.setdefault(group[:depth], number)
        for children in self.children.values():
            children.sort(key=lambda child: place.get(child, len(place)))

    def group(self, group: Group) -> Iterable[str]:
        """The lines of one group: its nodes, its edges, and the groups inside it."""
        for node in self.nodes.get(group, ()):
            if self.with_styles or safe_id(node.name) != node.name or group:
                yield "\t" + self.node(node)
        edges = self.edges.get(group, [])
        loops = [edge for edge in edges if edge.source == edge.target]
        yield from (self.edge(edge) for edge in edges if edge.source != edge.target)
        yield from (self.edge(edge) for edge in loops)
        for child in self.children.get(group, ()):
            title = child[-1]
            if title in self.ids.used or safe_id(title) != title:
                yield f'\tsubgraph {self.ids.take(child, ":".join(child))}["{escape(title)}"]'
            else:
                yield f"\tsubgraph {self.ids.take(child, title)}"
            yield from self.group(child)
            yield "\tend"

    def node(self, node: Node) -> str:
        """The line that declares a node."""
        label = escape(node.name)
        plain = PLAIN_LABEL.fullmatch(node.name) is not None and not RESERVED.fullmatch(node.name)
        if label[:1] in EMPHASIS and label[-1:] in EMPHASIS:
            label = f"<p>{label}</p>"
        if node.metadata and (details := metadata_lines(node.metadata)):
            text = "\n".join(details)
            label += f"<hr/><small><em>{escape_details(text)}</em></small>"
        label = label if plain else f'"{label}"'
        key = self.ids.by_key[node.id]
        if node == self.last:
            return f"{key}([{label}]):::last"
        if node == self.first:
            return f"{key}([{label}]):::first"
        return f"{key}({label})"

    def edge(self, edge: Edge) -> str:
        """The line of an edge."""
        source, target = self.ids.by_key[edge.source], self.ids.by_key[edge.target]
        arrow = "-.->" if edge.conditional else "-->"
        if edge.label:
            text = self._edge_label(edge.label)
            arrow = f"-. {text} .->" if edge.conditional else f"-- {text} -->"
        return f"\t{source} {arrow} {target};"

    def _edge_label(self, label: str) -> str:
        words = label.split()
        plain = PLAIN_EDGE_LABEL.fullmatch(label) is not None
        size = max(1, self.words_per_line)
        if len(words) > size:
            rows = [" ".join(words[start : start + size]) for start in range(0, len(words), size)]
        else:
            rows = [label]
        text = "&nbsp;<br>&nbsp;".join(row if plain else escape(row) for row in rows)
        return f"&nbsp;{text}&nbsp;" if plain else f'"&nbsp;{text}&nbsp;"'


def safe_id(name: str) -> str:
    """Write a name as a Mermaid id.

    >>> safe_id("tool[0]"), safe_id("sub:child"), safe_id("a-b"), safe_id("end")
    ('tool\\\\5b0\\\\5d', 'sub\\\\3achild', 'a-b', '\\\\65nd')
    """

    def hexed(match: re.Match[str]) -> str:
        return f"\\{ord(match[0]):x}"

    safe = re.sub(r"[^A-Za-z0-9_-]|^-|-(?=-)|-$", hexed, name)
    return re.sub(r"^.", hexed, safe) if RESERVED.match(safe) else safe


def escape(text: str) -> str:
    """Write a text so that it may stand between quotes in a label.

    >>> escape('say "hi" & <b>')
    'say #quot;hi#quot; #amp; #lt;b#gt;'
    """
    return "".join(ENTITIES.get(char, char) for char in text).replace("\n", "<br/>")


def escape_details(text: str) -> str:
    """Write metadata so that it may stand in any label."""
    return re.sub(
        r"[^\w\s.,:=+*/!?~'$#@^-]|#", lambda match: ENTITIES.get(match[0], f"#{ord(match[0])};"), text
    )


def _shared(one: Group, other: Group) -> Group:
    length = 0
    while length < min(len(one), len(other)) and one[length] == other[length]:
        length += 1
    return one[:length]
