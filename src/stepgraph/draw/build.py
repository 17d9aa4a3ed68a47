"""From a compiled graph to a drawable one.

Reads records only: what the builder was told (edges, joins, branches and their targets, destinations of nodes) and, for
graphs made without a builder, which channels nodes read and write. No user code runs. What is read is described by the
protocols below, so that this module needs nothing of the engine.

What the picture says where the records are silent: a branch without declared targets may go to every other node and to
the end; a node that leads nowhere leads to the end, if anything leads to it. A node's own error handler is a node of its
own, reached by a conditional edge that says so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, cast

from stepgraph.draw.graph import Graph
from stepgraph.draw.model import END_NAME, GROUP_SEPARATOR, START_NAME, Edge, Node

Depth = int | bool
HANDLER_PREFIX = "__error_handler__"
HANDLER_LABEL = "error"


class BranchRecord(Protocol):
    """A conditional edge: its targets by label, ``None`` if it may go anywhere."""

    @property
    def ends(self) -> Mapping[Any, str] | None: ...


class NodeRecord(Protocol):
    """A declared node; ``ends`` are the nodes that its commands may go to, by name or with labels."""

    @property
    def ends(self) -> Collection[str] | Mapping[str, str] | None: ...
    @property
    def defer(self) -> bool: ...
    @property
    def metadata(self) -> Mapping[str, Any] | None: ...


class BuilderRecords(Protocol):
    """What a graph builder was told."""

    @property
    def nodes(self) -> Mapping[str, NodeRecord]: ...
    @property
    def edges(self) -> Iterable[tuple[str, str]]: ...
    @property
    def waiting_edges(self) -> Iterable[tuple[Sequence[str], str]]: ...
    @property
    def branches(self) -> Mapping[str, Mapping[str, BranchRecord]]: ...


def drawable(compiled: Any, xray: Depth = False) -> Graph:
    """Make the drawable graph of a compiled graph.

    Args:
        compiled: The compiled graph, with or without a builder.
        xray: How many levels of nested graphs to open: ``True`` for all. The nodes of an opened graph get ids like
            ``parent:child``.
    """
    builder = getattr(compiled, "builder", None)
    if builder is None:
        return drawable_pregel(compiled, xray)
    records = cast("BuilderRecords", builder)
    edges = [*_declared_edges(records)]
    edges = [*sorted(set(edges), key=_edge_order), *_end_edges(records, edges)]
    graph = Graph(edges=edges)
    graph.nodes[START_NAME] = Node(START_NAME, START_NAME, split_input)
    for name, record in records.nodes.items():
        metadata = _metadata(compiled, name, record)
        graph.nodes[name] = Node(name, name, _runs(compiled, name, record), metadata)
        handler = HANDLER_PREFIX + name
        if _has_handler(record) and handler not in records.nodes:
            graph.nodes[handler] = Node(handler, handler, getattr(record, "error_handler", None))
    if any(edge.target == END_NAME for edge in edges):
        graph.nodes[END_NAME] = Node(END_NAME, END_NAME)
    return _opened(graph, compiled, xray) if xray else graph


def split_input(value: Any) -> Any:
    """Stands for what the start node runs: it takes the input apart into the fields of the input schema."""
    return value


def drawable_pregel(compiled: Any, xray: Depth = False) -> Graph:
    """Make the drawable graph of a graph without a builder, from the channels that its nodes read and write.

    An edge says that one node writes a channel that triggers another; a node that writes an output channel, or that
    triggers nothing, may be the last.

    Args:
        compiled: The graph.
        xray: How many levels of nested graphs to open: ``True`` for all.
    """
    graph = Graph()
    inputs, outputs = _names(compiled.input_channels), _names(compiled.output_channels)
    triggers = {name: set(node.triggers) for name, node in compiled.nodes.items()}
    written = {name: _written_channels(node) for name, node in compiled.nodes.items()}
    edges = [Edge(START_NAME, name) for name, channels in triggers.items() if channels & inputs]
    for name in triggers:
        targets = [other for other, channels in triggers.items() if channels & written[name]]
        edges += [Edge(name, other) for other in targets]
        if written[name] & outputs or not targets:
            edges.append(Edge(name, END_NAME, None, True))
        metadata = dict(getattr(compiled.nodes[name], "metadata", None) or {}) or None
        graph.nodes[name] = Node(name, name, _runs(compiled, name, None), metadata)
    graph.edges = sorted(edges, key=_edge_order)
    if any(edge.source == START_NAME for edge in edges):
        graph.nodes[START_NAME] = Node(START_NAME, START_NAME)
    if any(edge.target == END_NAME for edge in edges):
        graph.nodes[END_NAME] = Node(END_NAME, END_NAME)
    return _opened(graph, compiled, xray) if xray else graph


def _edge_order(edge: Edge) -> tuple[str, str, str, bool]:
    return edge.source, edge.target, edge.label, edge.conditional


def _declared_edges(records: BuilderRecords) -> Iterator[Edge]:
    """All declared edges, but for plain ones to the end."""
    for source, target in records.edges:
        if target != END_NAME:
            yield Edge(source, target)
    for sources, target in records.waiting_edges:
        if target != END_NAME:
            yield from (Edge(source, target) for source in sources)
    for source, branches in records.branches.items():
        for branch in branches.values():
            yield from _branch_edges(source, branch, records)
    for name, record in records.nodes.items():
        labels: Mapping[str, str] = record.ends if isinstance(record.ends, Mapping) else {}
        for target in record.ends or ():
            yield Edge(name, target, labels.get(target) or None, True)
        if _has_handler(record):
            yield Edge(name, HANDLER_PREFIX + name, HANDLER_LABEL, True)


def _has_handler(record: NodeRecord) -> bool:
    return any(getattr(record, field, None) is not None for field in ("error_handler", "error_handler_node"))


def _branch_edges(source: str, branch: BranchRecord, records: BuilderRecords) -> Iterator[Edge]:
    if branch.ends is None:
        for name in (*records.nodes, END_NAME):
            if name != source:
                yield Edge(source, name, None, True)
        return
    for label, target in branch.ends.items():
        yield Edge(source, target, None if label == target else str(label), True)


def _end_edges(records: BuilderRecords, edges: list[Edge]) -> list[Edge]:
    """Plain edges to the end: the declared ones, and one for each node that is reached and leads nowhere."""
    enders = {source for source, target in records.edges if target == END_NAME}
    enders |= {
        source for sources, target in records.waiting_edges if target == END_NAME for source in sources
    }
    leading = {edge.source for edge in edges if not edge.target.startswith(HANDLER_PREFIX)}
    enders |= {edge.target for edge in edges if edge.target not in leading and edge.target != END_NAME}
    return [Edge(name, END_NAME) for name in sorted(enders)]


def _runs(compiled: Any, name: str, record: Any) -> Any:
    """What a node runs, for those who look at ``Node.data``."""
    node = (getattr(compiled, "nodes", None) or {}).get(name)
    subgraphs = getattr(node, "subgraphs", None)
    if subgraphs and getattr(record, "is_subgraph", False):
        return subgraphs[0]
    for holder, attribute in ((node, "bound"), (record, "runnable"), (record, "action")):
        found = getattr(holder, attribute, None)
        if found is not None:
            return found
    return None


def _metadata(compiled: Any, name: str, record: NodeRecord) -> dict[str, Any] | None:
    metadata = dict(record.metadata or {})
    tools = getattr(_runs(compiled, name, record), "tools_by_name", None)
    if tools:
        metadata["__tools"] = list(tools)
    if record.defer:
        metadata["defer"] = True
    pauses = []
    for when in ("before", "after"):
        names = getattr(compiled, f"interrupt_{when}_nodes", None) or ()
        if names == "*" or name in names:
            pauses.append(when)
    if pauses:
        metadata["__interrupt"] = ",".join(pauses)
    return metadata or None


def _opened(graph: Graph, compiled: Any, xray: Depth) -> Graph:
    """Put the nested graphs in the place of the nodes that run them."""
    deeper: Depth = xray if isinstance(xray, bool) else xray - 1
    for name in list(graph.nodes):
        children = _children(compiled, name, deeper)
        if children:
            _replace(graph, name, children)
    return graph


def _children(compiled: Any, name: str, deeper: Depth) -> list[Graph]:
    """The trimmed drawable graphs that a node runs, those left out that have nothing to show."""
    node = compiled.nodes.get(name)
    found = []
    for subgraph in getattr(node, "subgraphs", None) or ():
        child: Graph = subgraph.get_graph(xray=deeper)
        child.trim_first_node()
        child.trim_last_node()
        if child.nodes and not set(child.nodes) <= {START_NAME, END_NAME}:
            found.append((str(getattr(subgraph, "name", None) or "graph"), child))
    if len(found) < 2:
        return [_prefixed(child, name) for _, child in found]
    used: dict[str, int] = {}
    children = []
    for title, child in found:
        used[title] = used.get(title, 0) + 1
        unique = title if used[title] == 1 else f"{title}_{used[title]}"
        children.append(_prefixed(child, f"{name}{GROUP_SEPARATOR}{unique}"))
    return children


def _prefixed(child: Graph, prefix: str) -> Graph:
    framed = Graph()
    framed.extend(child, prefix=prefix)
    return framed


def _replace(graph: Graph, name: str, children: list[Graph]) -> None:
    """Replace a node by graphs: what led to it leads to their first nodes, what left it leaves their last ones."""
    del graph.nodes[name]
    firsts, lasts = [], []
    for child in children:
        keys = list(child.nodes)
        first, last = child.first_node(), child.last_node()
        firsts.append(first.id if first else keys[0])
        lasts.append(last.id if last else keys[-1])
        graph.nodes.update(child.nodes)
    edges: list[Edge] = []
    for edge in graph.edges:
        sources = lasts if edge.source == name else [edge.source]
        targets = firsts if edge.target == name else [edge.target]
        edges += [edge.copy(source=source, target=target) for source in sources for target in targets]
    graph.edges = edges + [edge for child in children for edge in child.edges]


def _names(channels: str | Iterable[str]) -> set[str]:
    return {channels} if isinstance(channels, str) else set(channels)


def _written_channels(node: Any) -> set[str]:
    """The channels that a node's writers name."""
    channels: set[str] = set()
    for writer in getattr(node, "writers", None) or ():
        for write in getattr(writer, "writes", None) or (writer,):
            channel = getattr(write, "channel", None)
            if isinstance(channel, str):
                channels.add(channel)
    return channels
