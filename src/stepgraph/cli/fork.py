"""`stepgraph fork`: write to a thread at a checkpoint, as if a node had; what came after it stays in the history."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace

from stepgraph.cli.arguments import add_database, add_graph, add_json, add_place, add_thread, read_json
from stepgraph.cli.exits import DONE, Misuse

EXAMPLES = """\
The thread then stands at the fork: `stepgraph resume` goes on from it. Without --values the checkpoint is taken as it is.

examples:
  stepgraph fork app.py:graph --thread article-1 --db threads.db --at 1
  stepgraph fork app.py:graph --thread article-1 --at 1 --values '{"topic": "lakes"}' --as-node draft"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_graph(parser)
    add_thread(parser)
    add_database(parser)
    add_place(parser, at="where to fork, the newest checkpoint by default")
    parser.add_argument("--values", metavar="JSON", help="what to write; or @FILE, or - for stdin")
    parser.add_argument(
        "--as-node", metavar="NODE", help="which node is said to have written; by default the last one"
    )
    add_json(parser)


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.checkpoints import checkpoint_of, config_of, namespace_of, require_thread
    from stepgraph.cli.reporting import command
    from stepgraph.cli.screen import Styled, notes, output
    from stepgraph.cli.storage import open_target
    from stepgraph.cli.values import dumps
    from stepgraph.values.names import COPY

    if args.values is None and args.as_node is not None:
        raise Misuse("--as-node says who wrote, so it needs --values.")
    values = None if args.values is None else read_json(args.values, "--values")
    with open_target(args) as (graph, place, _):
        require_thread(place.saver, args.thread, place.name)
        namespace = namespace_of(place.saver, args.thread, args.ns)
        found = checkpoint_of(place.saver, args.thread, namespace, args.at)
        as_node = COPY if args.values is None else args.as_node
        made = graph.update_state(config_of(found), values, as_node=as_node)["configurable"]
        where = {key: made[key] for key in ("thread_id", "checkpoint_ns", "checkpoint_id") if key in made}
        state = graph.get_state({"configurable": where})
        if args.json:
            shown = {
                "thread_id": args.thread,
                "checkpoint_ns": namespace,
                "checkpoint_id": where["checkpoint_id"],
                "forked_from": config_of(found)["configurable"]["checkpoint_id"],
                "next": list(state.next),
                "values": state.values,
            }
            print(dumps(shown))
            return DONE
        step = (state.metadata or {}).get("step")
        screen = output()
        screen.say(Styled("forked", "good"), f"  step {step}  {where['checkpoint_id']}")
        screen.say("next    ", Styled(", ".join(state.next) or "nothing: it has come to its end", "name"))
        if state.next:
            notes().say("go on with:  ", command("resume", args.graph, args.thread, place))
    return DONE
