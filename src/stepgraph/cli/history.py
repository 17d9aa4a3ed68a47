"""`stepgraph history`: the checkpoints of a thread, of one level as a list or of all levels as a tree."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Iterator
from typing import Any

from stepgraph.cli.arguments import add_database, add_graph, add_json, add_namespace, add_thread, positive
from stepgraph.cli.exits import DONE

EXAMPLES = """\
examples:
  stepgraph history app.py:graph --thread article-1 --db threads.db
  stepgraph history app.py:graph --thread article-1 --ns review --limit 5
  stepgraph history --thread article-1 --tree               (all levels; needs no graph)"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_graph(parser, optional=True)
    add_thread(parser)
    add_database(parser)
    add_namespace(parser)
    parser.add_argument("--tree", action="store_true", help="all levels, each below the step that it ran in")
    parser.add_argument("--limit", "-n", metavar="N", type=positive, help="at most so many, the newest")
    add_json(parser)


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.checkpoints import namespace_of, require_thread
    from stepgraph.cli.loading import load
    from stepgraph.cli.screen import output
    from stepgraph.cli.storage import storage
    from stepgraph.cli.values import dumps

    target = load(args.graph) if args.graph else None
    with storage(args, target) as place:
        require_thread(place.saver, args.thread, place.name)
        graph = target.compiled(place.saver) if target is not None else None
        if args.tree:
            levels = all_levels(place.saver, args.thread, graph)
            if args.json:
                print(dumps({namespace: list(map(_json, found)) for namespace, found in levels.items()}))
            else:
                output().tree(tree_of(args.thread, levels))
            return DONE
        namespace = namespace_of(place.saver, args.thread, args.ns)
        found = list(states(place.saver, args.thread, namespace, graph, args.limit))
        if args.json:
            print(dumps(list(map(_json, found))))
        else:
            output().table(*_table(found, graph is not None))
    return DONE


def states(saver: Any, thread: str, namespace: str, graph: Any, limit: int | None = None) -> Iterator[Any]:
    """The checkpoints of one level, newest first; with the graph, what was due at each."""
    from stepgraph.cli.checkpoints import seen_of_state, seen_of_stored, stored

    if graph is None:
        yield from map(seen_of_stored, stored(saver, thread, namespace, limit=limit))
    else:
        config = {"configurable": {"thread_id": thread, "checkpoint_ns": namespace}}
        yield from map(seen_of_state, graph.get_state_history(config, limit=limit))


def all_levels(saver: Any, thread: str, graph: Any) -> dict[str, list[Any]]:
    """Namespace to its checkpoints, oldest first."""
    from stepgraph.cli.checkpoints import seen_of_stored, stored

    levels: dict[str, list[Any]] = {}
    for item in stored(saver, thread, None):
        seen = seen_of_stored(item)
        levels.setdefault(seen.namespace, []).append(seen)
    if graph is not None:
        for namespace in levels:
            levels[namespace] = list(states(saver, thread, namespace, graph))
    return {namespace: levels[namespace][::-1] for namespace in sorted(levels)}


def tree_of(thread: str, levels: dict[str, list[Any]]) -> Any:
    """Levels below the checkpoints that they ran in, each with its own checkpoints, oldest first."""
    from stepgraph.cli.screen import Branch, Styled

    return Branch((Styled(thread, "head"),), _branches("", levels))


def _branches(namespace: str, levels: dict[str, list[Any]]) -> list[Any]:
    from stepgraph.cli.screen import Branch

    own = levels.get(namespace, [])
    steps = {seen.id: seen.step for seen in own}
    below: dict[str | None, list[Any]] = {}
    for child in _children(namespace, levels):
        started_in = levels[child][0].parents.get(namespace)
        below.setdefault(started_in if started_in in steps else None, []).append(
            _level(child, namespace, levels)
        )
    found, before = [], None
    for seen in own:
        forked = seen.parent is not None and seen.parent != before
        found.append(Branch(_line(seen, steps.get(seen.parent) if forked else None), below.pop(seen.id, ())))
        before = seen.id
    return [*found, *below.get(None, ())]


def _level(namespace: str, above: str, levels: dict[str, list[Any]]) -> Any:
    from stepgraph.cli.checkpoints import path_of
    from stepgraph.cli.screen import Branch, Styled

    name = path_of(namespace[len(above) :].lstrip("|"))
    return Branch((Styled(name, "name"),), _branches(namespace, levels))


def _children(namespace: str, levels: Iterable[str]) -> list[str]:
    """The levels right below one; a level without checkpoints of its own is skipped over."""
    below = [name for name in levels if name != namespace and _is_below(name, namespace)]
    return [name for name in below if not any(_is_below(name, other) for other in below if other != name)]


def _is_below(name: str, namespace: str) -> bool:
    return namespace == "" or name.startswith(namespace + "|")


def _line(seen: Any, forked_from: int | None) -> tuple[Any, ...]:
    from stepgraph.cli.screen import Styled

    fork = Styled(f"  forked from step {forked_from}", "alert") if forked_from is not None else ""
    due = f"  next: {', '.join(seen.next)}" if seen.next else ""
    asks = Styled("  asks", "alert") if seen.asks else ""
    failed = Styled("  failed", "bad") if seen.errors else ""
    return (
        f"step {seen.step}",
        Styled(f"  {seen.source}", "quiet"),
        fork,
        due,
        asks,
        failed,
        Styled(f"  {seen.id}", "quiet"),
    )


def _table(found: list[Any], with_graph: bool) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    from stepgraph.cli.screen import Styled

    rows = []
    for seen in found:
        state: Any = Styled("asks", "alert") if seen.asks else Styled("failed", "bad") if seen.errors else ""
        when = seen.created_at[:19].replace("T", " ")
        due = (Styled(", ".join(seen.next or ()), "name"),) if with_graph else ()
        rows.append((str(seen.step), seen.source, *due, state, seen.id, seen.parent or "", when))
    heads = (
        "step",
        "source",
        *(("next",) if with_graph else ()),
        "state",
        "checkpoint",
        "after",
        "time (UTC)",
    )
    return heads, rows


def _json(seen: Any) -> dict[str, Any]:
    shown: dict[str, Any] = seen._asdict()
    shown["interrupts"] = [{"id": ask.id, "value": ask.value} for ask in shown.pop("asks")]
    return shown
