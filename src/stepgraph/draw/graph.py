"""The drawable graph: nodes, edges, and the ways to look at them.

A ``Graph`` is plain data with the attribute and method names that programs know from LangChain's drawable graph. It
knows nothing of how graphs run; ``build.py`` makes one from a compiled graph. A node inside a nested graph has the id
``parent:child``; the part before the last colon is the group that frames it.
"""

from __future__ import annotations

import inspect
import sys
import uuid
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stepgraph.draw.ascii import draw_text, encodable
from stepgraph.draw.mermaid import mermaid
from stepgraph.draw.model import END_NAME, GROUP_SEPARATOR, START_NAME, Drawable, Edge, Node
from stepgraph.draw.png import png
from stepgraph.draw.scene import make_scene
from stepgraph.draw.styles import CurveStyle, MermaidDrawMethod, NamedStyle, StyleSheet
from stepgraph.draw.svg import svg

FUNCTION_ID = ["langgraph", "_internal", "_runnable", "RunnableCallable"]
WIRE_IDS = {
    "CompiledStateGraph": ["langgraph", "graph", "state", "CompiledStateGraph"],
    "Pregel": ["langgraph", "pregel", "main", "Pregel"],
}


@dataclass
class Graph:
    """Nodes by id, and edges between them.

    >>> graph = Graph()
    >>> first, second = graph.add_node(None, "a"), graph.add_node(None, "b")
    >>> graph.add_edge(first, second)
    Edge(source='a', target='b', data=None, conditional=False)
    >>> graph.draw_mermaid(with_styles=False).split()
    ['graph', 'TD;', 'a', '-->', 'b;']
    """

    nodes: dict[str, Node] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.nodes)

    # -- changing ---------------------------------------------------------------------------------------------------

    def next_id(self) -> str:
        """A fresh id for a node that has none."""
        return uuid.uuid4().hex

    def add_node(self, data: Any, id: str | None = None, *, metadata: dict[str, Any] | None = None) -> Node:
        """Add a node and return it.

        Raises:
            ValueError: A node with this id is already there.
        """
        if id is not None and id in self.nodes:
            raise ValueError(
                f"Node with id {id} already exists in this drawable graph; give the new node another id."
            )
        key = id or self.next_id()
        node = Node(key, _display_name(key, data), data, metadata)
        self.nodes[key] = node
        return node

    def remove_node(self, node: Node) -> None:
        """Remove a node and every edge that touches it."""
        self.nodes.pop(node.id)
        self.edges = [edge for edge in self.edges if node.id not in (edge.source, edge.target)]

    def add_edge(self, source: Node, target: Node, data: Any = None, conditional: bool = False) -> Edge:
        """Add an edge between two nodes of this graph and return it.

        Raises:
            ValueError: An end of the edge is not a node of this graph.
        """
        for role, node in (("Source", source), ("Target", target)):
            if node.id not in self.nodes:
                known = ", ".join(self.nodes) or "none"
                raise ValueError(
                    f"{role} node {node.id} not in graph (its nodes: {known}); add the node first."
                )
        edge = Edge(source.id, target.id, data, conditional)
        self.edges.append(edge)
        return edge

    def extend(self, graph: Drawable, *, prefix: str = "") -> tuple[Node | None, Node | None]:
        """Copy another graph's nodes and edges into this one.

        Args:
            graph: The other graph, LangChain's too; it is not changed.
            prefix: Put before the ids, as ``prefix:id``, unless all ids are generated ones.

        Returns:
            The copies of the other graph's first and last node, each ``None`` where there is no single one.
        """
        if all(_is_generated(key) for key in graph.nodes):
            prefix = ""

        def rename(key: str) -> str:
            return f"{prefix}{GROUP_SEPARATOR}{key}" if prefix else key

        def copied(node: Node) -> Node:
            return Node(rename(node.id), node.name, node.data, node.metadata)

        for node in graph.nodes.values():
            self.nodes[rename(node.id)] = copied(node)
        for edge in graph.edges:
            self.edges.append(Edge(rename(edge.source), rename(edge.target), edge.data, edge.conditional))
        first, last = graph.first_node(), graph.last_node()
        return first and copied(first), last and copied(last)

    def reid(self) -> Graph:
        """A copy whose ids are the names, numbered where several nodes share one."""
        counts = Counter(node.name for node in self.nodes.values())
        used: Counter[str] = Counter()
        renamed: dict[str, str] = {}
        for key, node in self.nodes.items():
            if counts[node.name] > 1:
                used[node.name] += 1
                renamed[key] = f"{node.name}_{used[node.name]}"
            else:
                renamed[key] = node.name
        return Graph(
            {renamed[key]: node.copy(id=renamed[key]) for key, node in self.nodes.items()},
            [edge.copy(source=renamed[edge.source], target=renamed[edge.target]) for edge in self.edges],
        )

    # -- ends -------------------------------------------------------------------------------------------------------

    def first_node(self) -> Node | None:
        """The one node that no edge leads to; of several the start node, if it is among them; else ``None``."""
        return self._first(())

    def last_node(self) -> Node | None:
        """The one node that no edge leaves; of several the end node, if it is among them; else ``None``."""
        return self._last(())

    def trim_first_node(self) -> None:
        """Remove the first node if it only leads to one other node, which then is the first."""
        first = self.first_node()
        if first and self._first((first.id,)) and sum(edge.source == first.id for edge in self.edges) == 1:
            self.remove_node(first)

    def trim_last_node(self) -> None:
        """Remove the last node if only one other node leads to it, which then is the last."""
        last = self.last_node()
        if last and self._last((last.id,)) and sum(edge.target == last.id for edge in self.edges) == 1:
            self.remove_node(last)

    def _first(self, without: Collection[str]) -> Node | None:
        reached = {edge.target for edge in self.edges if edge.source not in without}
        return _only(
            [n for key, n in self.nodes.items() if key not in without and key not in reached], START_NAME
        )

    def _last(self, without: Collection[str]) -> Node | None:
        left = {edge.source for edge in self.edges if edge.target not in without}
        return _only([n for key, n in self.nodes.items() if key not in without and key not in left], END_NAME)

    # -- looking ----------------------------------------------------------------------------------------------------

    def to_json(self, *, with_schemas: bool = False) -> dict[str, list[dict[str, Any]]]:
        """Nodes and edges as JSON-ready dicts; generated ids become numbers.

        Args:
            with_schemas: Give the JSON schema of nodes that stand for a Pydantic model, not just their name.
        """
        ids = {key: number if _is_generated(key) else key for number, key in enumerate(self.nodes)}
        edges: list[dict[str, Any]] = []
        for edge in self.edges:
            entry: dict[str, Any] = {"source": ids[edge.source], "target": ids[edge.target]}
            if edge.data is not None:
                entry["data"] = edge.data
            if edge.conditional:
                entry["conditional"] = True
            edges.append(entry)
        nodes = [{"id": ids[node.id], **_node_json(node, with_schemas)} for node in self.nodes.values()]
        return {"nodes": nodes, "edges": edges}

    def draw_mermaid(
        self,
        *,
        with_styles: bool = True,
        curve_style: NamedStyle = CurveStyle.LINEAR,
        node_colors: StyleSheet | None = None,
        wrap_label_n_words: int = 9,
        frontmatter_config: dict[str, Any] | None = None,
    ) -> str:
        """The graph as the text of a Mermaid flowchart.

        Args:
            with_styles: With the head, the nodes' shapes and colours; without, only the edges.
            curve_style: How lines are bent.
            node_colors: CSS of the nodes, ``NodeStyles()`` by default.
            wrap_label_n_words: Break edge labels after so many words.
            frontmatter_config: Mermaid's configuration, put at the head of the text.
        """
        return mermaid(
            self,
            with_styles=with_styles,
            curve=curve_style.value,
            node_colors=node_colors,
            words_per_line=wrap_label_n_words,
            frontmatter=frontmatter_config,
        )

    def draw_ascii(self, *, unicode: bool = False) -> str:
        """The graph as a drawing for the terminal.

        Args:
            unicode: Use box-drawing characters; by default only ASCII ones.
        """
        return draw_text(self, unicode=unicode)

    def print_ascii(self) -> None:
        """Print the drawing for the terminal, with box-drawing characters where the terminal can show them."""
        print(self.draw_ascii(unicode=encodable(sys.stdout.encoding)))

    def draw_svg(
        self,
        output_file_path: str | Path | None = None,
        *,
        node_colors: StyleSheet | None = None,
        background_color: str | None = "white",
        padding: int = 10,
    ) -> str:
        """The graph as an SVG picture, made offline without any dependency.

        Args:
            output_file_path: Also write the picture to this file.
            node_colors: CSS of the nodes, ``NodeStyles()`` by default (``fill``, ``stroke``, ``color`` are read).
            background_color: Colour of the paper, ``None`` for none.
            padding: Free space around the drawing.
        """
        text = svg(make_scene(self, node_colors), background=background_color, padding=padding)
        if output_file_path is not None:
            Path(output_file_path).write_text(text, encoding="utf-8")
        return text

    def draw_mermaid_png(
        self,
        *,
        curve_style: NamedStyle = CurveStyle.LINEAR,
        node_colors: StyleSheet | None = None,
        wrap_label_n_words: int = 9,
        output_file_path: str | Path | None = None,
        draw_method: NamedStyle = MermaidDrawMethod.API,
        background_color: str | None = "white",
        padding: int = 10,
        max_retries: int = 1,
        retry_delay: float = 1.0,
        frontmatter_config: dict[str, Any] | None = None,
        base_url: str | None = None,
        proxies: dict[str, str] | None = None,
    ) -> bytes:
        """The graph as a PNG picture, made offline. Needs Pillow (``pip install "stepgraph[draw]"``).

        No service is asked and no browser started: ``curve_style``, ``wrap_label_n_words``, ``draw_method``,
        ``max_retries``, ``retry_delay``, ``frontmatter_config``, ``base_url`` and ``proxies`` are accepted so that
        calls keep working, and have no effect.

        Args:
            curve_style: No effect.
            node_colors: CSS of the nodes, ``NodeStyles()`` by default (``fill``, ``stroke``, ``color`` are read).
            wrap_label_n_words: No effect.
            output_file_path: Also write the picture to this file.
            draw_method: No effect.
            background_color: Colour of the paper, ``None`` for none.
            padding: Free space around the drawing.
            max_retries: No effect.
            retry_delay: No effect.
            frontmatter_config: No effect.
            base_url: No effect.
            proxies: No effect.

        Returns:
            The bytes of the picture.

        Raises:
            ImportError: Pillow is not installed.
        """
        return self._png(
            output_file_path, node_colors=node_colors, background=background_color, padding=padding
        )

    def draw_png(
        self,
        output_file_path: str | Path | None = None,
        fontname: str | None = None,
        labels: Mapping[str, Mapping[str, str]] | None = None,
    ) -> bytes:
        """The graph as a PNG picture, made offline. Needs Pillow (``pip install "stepgraph[draw]"``).

        Args:
            output_file_path: Also write the picture to this file.
            fontname: A font file, or a font's name that Pillow can find.
            labels: Other texts, as ``{"nodes": {name: text}, "edges": {label: text}}``.

        Raises:
            ImportError: Pillow is not installed.
        """
        return self._relabelled(labels or {})._png(output_file_path, font=fontname)

    def _repr_svg_(self) -> str:
        return self.draw_svg()

    def _png(
        self,
        path: str | Path | None,
        *,
        node_colors: StyleSheet | None = None,
        background: str | None = "white",
        padding: int = 10,
        font: str | None = None,
    ) -> bytes:
        picture = png(make_scene(self, node_colors), background=background, padding=padding, font_name=font)
        if path is not None:
            Path(path).write_bytes(picture)
        return picture

    def _relabelled(self, labels: Mapping[str, Mapping[str, str]]) -> Graph:
        node_names, edge_labels = labels.get("nodes", {}), labels.get("edges", {})
        return Graph(
            {key: node.copy(name=node_names.get(node.name)) for key, node in self.nodes.items()},
            [edge._replace(data=edge_labels.get(str(edge.data), edge.data)) for edge in self.edges],
        )


def _only(candidates: list[Node], preferred_name: str) -> Node | None:
    if len(candidates) == 1:
        return candidates[0]
    preferred = [node for node in candidates if node.name == preferred_name]
    return preferred[0] if len(preferred) == 1 else None


def _is_generated(key: str) -> bool:
    try:
        uuid.UUID(key)
    except ValueError:
        return False
    return True


def _display_name(key: str, data: Any) -> str:
    if not _is_generated(key) or data is None:
        return key
    if isinstance(data, str):
        return data
    get_name = getattr(data, "get_name", None)
    if callable(get_name) and not inspect.isclass(data):
        return str(get_name())
    return str(getattr(data, "__name__", None) or getattr(data, "name", None) or type(data).__name__)


def _node_json(node: Node, with_schemas: bool) -> dict[str, Any]:
    data = node.data
    described: dict[str, Any]
    if data is None:
        described = {}
    elif inspect.isclass(data) and hasattr(data, "model_json_schema"):
        described = {"type": "schema", "data": data.model_json_schema() if with_schemas else node.name}
    elif hasattr(data, "invoke") or hasattr(data, "ainvoke"):
        described = {"type": "runnable", "data": {"id": _wire_id(type(data)), "name": node.name}}
    elif callable(data):
        described = {"type": "runnable", "data": {"id": FUNCTION_ID, "name": node.name}}
    else:
        described = {"type": "unknown", "data": node.name}
    if node.metadata:
        described["metadata"] = node.metadata
    return described


def _wire_id(kind: type) -> list[str]:
    """Where a class is found, as front ends know it from the wire: our graphs by the name they have there."""
    if kind.__module__.split(".")[0] == "stepgraph":
        return WIRE_IDS.get(kind.__name__, WIRE_IDS["Pregel"])
    return [*kind.__module__.split("."), kind.__name__]
