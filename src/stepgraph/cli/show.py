"""`stepgraph show`: one checkpoint: its values, what is due, who is asked, what its tasks did."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any

from stepgraph.cli.arguments import add_database, add_graph, add_json, add_place, add_thread
from stepgraph.cli.exits import DONE

EXAMPLES = """\
examples:
  stepgraph show app.py:graph --thread article-1 --db threads.db
  stepgraph show app.py:graph --thread article-1 --at 1 --ns review
  stepgraph show --thread article-1 --json                  (what is stored; needs no graph)"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_graph(parser, optional=True)
    add_thread(parser)
    add_database(parser)
    add_place(parser, at="which checkpoint, the newest by default")
    add_json(parser)


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.checkpoints import checkpoint_of, config_of, namespace_of, require_thread
    from stepgraph.cli.loading import load
    from stepgraph.cli.screen import output
    from stepgraph.cli.storage import storage
    from stepgraph.cli.values import dumps

    target = load(args.graph) if args.graph else None
    with storage(args, target) as place:
        require_thread(place.saver, args.thread, place.name)
        namespace = namespace_of(place.saver, args.thread, args.ns)
        found = checkpoint_of(place.saver, args.thread, namespace, args.at)
        if target is None:
            shown = stored_json(found)
        else:
            config = config_of(found)
            if args.at is None:
                config["configurable"].pop("checkpoint_id")
            shown = state_json(target.compiled(place.saver).get_state(config, subgraphs=True))
        if args.json:
            print(dumps(shown))
        else:
            _print(output(), shown)
    return DONE


def stored_json(found: Any) -> dict[str, Any]:
    """What a saver holds, without the graph that made it."""
    from stepgraph.cli.checkpoints import seen_of_stored

    seen = seen_of_stored(found)
    return {
        **_head(seen, found.config["configurable"], found.metadata),
        "values": seen.values,
        "interrupts": [{"id": ask.id, "value": ask.value} for ask in seen.asks],
        "writes": [
            {"task_id": task, "channel": channel, "value": value}
            for task, channel, value in found.pending_writes or ()
        ],
    }


def state_json(state: Any) -> dict[str, Any]:
    """A snapshot, with the snapshots of nested graphs inside its tasks."""
    from stepgraph.cli.checkpoints import seen_of_state

    seen = seen_of_state(state)
    return {
        **_head(seen, state.config["configurable"], state.metadata),
        "values": seen.values,
        "next": list(state.next),
        "interrupts": [{"id": ask.id, "value": ask.value} for ask in state.interrupts],
        "tasks": [_task_json(task) for task in state.tasks],
    }


def _head(seen: Any, where: dict[str, Any], metadata: Any) -> dict[str, Any]:
    return {
        "thread_id": where["thread_id"],
        "checkpoint_ns": seen.namespace,
        "checkpoint_id": seen.id,
        "parent": seen.parent,
        "created_at": seen.created_at,
        "metadata": {key: value for key, value in (metadata or {}).items() if not key.startswith("__")},
    }


def _task_json(task: Any) -> dict[str, Any]:
    from stepgraph.cli.checkpoints import error_text

    shown: dict[str, Any] = {"id": task.id, "name": task.name}
    if task.error is not None:
        shown["error"] = error_text(task.error)
    if task.interrupts:
        shown["interrupts"] = [{"id": ask.id, "value": ask.value} for ask in task.interrupts]
    if task.result is not None:
        shown["result"] = task.result
    if hasattr(task.state, "tasks") and task.state.created_at is not None:
        shown["state"] = state_json(task.state)
    return shown


def _print(screen: Any, shown: dict[str, Any], indent: str = "") -> None:
    from stepgraph.cli.screen import Styled
    from stepgraph.cli.values import brief

    metadata = shown["metadata"]
    level = shown["checkpoint_ns"] or "root"
    screen.say(
        indent, Styled(f"step {metadata.get('step')}", "head"), f"  {metadata.get('source')}", f"  {level}"
    )
    for name in ("thread_id", "checkpoint_id", "parent", "created_at"):
        if shown[name]:
            screen.say(indent, Styled(f"{name:<14}", "quiet"), str(shown[name]))
    more = {k: v for k, v in metadata.items() if k not in ("step", "source", "parents")}
    if more:
        screen.say(indent, Styled(f"{'metadata':<14}", "quiet"), brief(more))
    screen.say(indent, Styled("values", "quiet"))
    screen.data(shown["values"], indent + "  ")
    if "next" in shown:
        due = Styled(", ".join(shown["next"]), "name") if shown["next"] else "nothing: it has come to its end"
        screen.say(indent, Styled(f"{'next':<14}", "quiet"), due)
    for asked in shown["interrupts"]:
        screen.say(indent, Styled(f"{'asks':<14}", "alert"), f"{brief(asked['value'])}  (id {asked['id']})")
    for task in shown.get("tasks", ()):
        _print_task(screen, task, indent)
    for write in shown.get("writes", ()):
        what = f"{write['task_id'][:8]}  {write['channel']} = {brief(write['value'])}"
        screen.say(indent, Styled(f"{'pending write':<14}", "quiet"), what)


def _print_task(screen: Any, task: dict[str, Any], indent: str) -> None:
    from stepgraph.cli.screen import Styled
    from stepgraph.cli.values import brief

    state = (
        "failed"
        if "error" in task
        else "asks"
        if "interrupts" in task
        else "done"
        if "result" in task
        else "due"
    )
    style = {"failed": "bad", "asks": "alert", "done": "good", "due": "quiet"}[state]
    detail = task.get("error") or (brief(task["result"]) if "result" in task else "")
    name = (Styled(f"{'task':<14}", "quiet"), Styled(task["name"], "name"), "  ", Styled(state, style))
    screen.say(indent, *name, f"  {detail}" if detail else "", Styled(f"  {task['id']}", "quiet"))
    if "state" in task:
        _print(screen, task["state"], indent + "    ")
