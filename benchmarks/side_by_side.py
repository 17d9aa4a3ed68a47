"""Run the same generated programs on langgraph and on stepgraph, and show where they differ.

What is compared: results, errors, stream parts of every mode by namespace and step (the order among parallel tasks of
a step is free), shapes of namespaces, the history of every namespace, snapshots, and how often each node ran. What
`docs/differences.md` lists is kept out of the programs (`AGREED`).

A differing program is shrunk, and printed with both traces' difference. Use an environment that has both packages:

    PYTHONPATH=src:tests python benchmarks/side_by_side.py --examples 300
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / part) for part in ("tests", "src")]

from generated.build import Setting  # noqa: E402
from generated.checks import difference  # noqa: E402
from generated.programs import Call, Nest, Program, Quiet, asks, depth, nodes, sketch  # noqa: E402
from generated.strategies import Limits, programs  # noqa: E402
from generated.trace import Run, shape, start  # noqa: E402

PAUSING = Limits(
    parallel_parent_commands=False,
    persistent_parent_commands=False,
    below_false=False,
    deferred_beside_sends=False,
    persistent=False,
)


def speaks(program: Program) -> bool:
    """Whether every graph inside surely writes something that its parent gets, or nobody can interrupt it.

    What one that wrote nothing answers depends in langgraph on whether it was interrupted.
    """
    return not asks(program) or all(
        (isinstance(node.action, Nest) and set(node.action.level.takes) & set(node.action.level.gives))
        or not any(isinstance(inner.action, Quiet | Nest | Call) for inner in node.action.level.nodes)
        for node in nodes(program)
        if isinstance(node.action, Nest | Call)
    )


def calls_twice(program: Program) -> bool:
    """Whether a function calls a graph several times: with `exit`, langgraph asks the first call's question for ever."""
    return any(isinstance(node.action, Call) and node.action.times > 1 for node in nodes(program))


WITH_PAUSES = programs(PAUSING).filter(speaks)
AGREED = WITH_PAUSES | programs(replace(PAUSING, persistent=True, pauses=False))
PARENT = re.compile(r'"parent_config": (null|\{.*?\}\}), ')
DRIVERS = {"sync": ("stream", "sync"), "async": ("astream", "async")}


class Differs(AssertionError):
    """Both packages ran a program and did not agree."""


def traced(package: str, program: Program, options: argparse.Namespace) -> Any:
    """The shape of a run of `program` on `package`, and of what `--then` asks for after it."""
    way, colour = DRIVERS[options.driver]
    setting = Setting(package, colour=colour)
    saver = None if options.saver == "none" else options.saver
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = start(program, setting, driver=way, durability=options.durability, saver=saver).to_end()
        if run.turns[-1].error is None and saver is not None:
            AFTER[options.then](run)
        return shape(run)


def input_again(run: Run) -> None:
    """A second input on the same thread."""
    if run.turn(run.program.input()):
        run.onwards()


def replay(run: Run) -> None:
    """Go on from each of the first checkpoints of the root."""
    for snapshot in list(run.graph.get_state_history(run.config))[::-1][:5]:
        if not run.turn(None, {**run.config, **snapshot.config}):
            return
        run.onwards()


def update(run: Run) -> None:
    """Update the state as each node of the root, at the head and at an old checkpoint, and go on."""
    old = list(run.graph.get_state_history(run.config))[-2]
    for node in run.program.root.nodes:
        for config in (run.config, {**run.config, **old.config}):
            run.graph.update_state(config, {"log": [f"u{node.name}"]}, as_node=node.name)
            if not run.turn(None):
                return
            run.onwards()


AFTER = {"nothing": lambda run: None, "input": input_again, "replay": replay, "update": update}


def forgive(theirs: Any, ours: Any, durability: str | None) -> None:
    """Make equal, in place, what may differ and a program cannot avoid.

    That is what `docs/differences.md` lists, and what siblings of a failing task got done before the run ended.
    """
    if [turn["error"] for turn in theirs["turns"]] == [turn["error"] for turn in ours["turns"]] and theirs[
        "turns"
    ][-1]["error"]:
        theirs.clear()
        ours.clear()
        return
    if str(theirs["head"]).startswith("unreadable"):
        ours["head"] = theirs["head"]
    for turn in theirs["turns"]:
        for lines in turn["parts"].values():
            failed = [json.loads(line[6:])["name"] for line in lines if line.startswith('tasks {"error": "')]
            for name in failed:
                lines.pop(f'updates {{"{name}": null}}', None)
    if durability == "exit":
        for traces in (theirs, ours):
            for turn in traces["turns"]:
                turn["parts"] = {
                    where: dict(Counter({PARENT.sub("", line): many for line, many in lines.items()}))
                    for where, lines in turn["parts"].items()
                }


def compare(options: argparse.Namespace, counts: Counter[str]) -> None:
    """Compare generated programs until one differs."""

    if options.durability == "exit":
        agreed = programs(replace(PAUSING, parent_commands=False)).filter(
            lambda program: speaks(program) and not (asks(program) and calls_twice(program))
        )
    elif options.durability == "sync" or options.then in ("replay", "update"):
        agreed = WITH_PAUSES
    else:
        agreed = AGREED

    @settings(
        max_examples=options.examples,
        deadline=None,
        derandomize=options.seed is None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate] if options.no_shrink else [Phase.generate, Phase.shrink],
        print_blob=False,
    )
    @given(agreed if options.agreed else programs())
    def same(program: Program) -> None:
        counts["programs"] += 1
        counts[f"depth {depth(program.root)}"] += 1
        theirs = traced(options.reference, program, options)
        ours = traced(options.package, program, options)
        forgive(theirs, ours, options.durability)
        if theirs == ours:
            return
        raise Differs(
            f"{sketch(program)}\n--- {options.reference}\n+++ {options.package}\n" + difference(theirs, ours)
        )

    same()


def main() -> int:
    """Parse the command line and compare; 1 if a program differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--driver", choices=sorted(DRIVERS), default="sync")
    parser.add_argument("--durability", choices=["sync", "async", "exit"], default=None)
    parser.add_argument("--then", choices=sorted(AFTER), default="nothing", help="what to do after the run")
    parser.add_argument("--saver", choices=["memory", "sqlite", "none"], default="memory")
    parser.add_argument("--no-shrink", action="store_true")
    parser.add_argument(
        "--seed", type=int, default=None, help="search at random instead of the fixed programs"
    )
    parser.add_argument(
        "--everything", dest="agreed", action="store_false", help="also what is known to differ"
    )
    parser.add_argument("--reference", default="langgraph")
    parser.add_argument("--package", default="stepgraph")
    parser.add_argument("--lines", type=int, default=120, help="how much of a difference to print")
    options = parser.parse_args()
    counts: Counter[str] = Counter()
    try:
        compare(options, counts)
    except Differs as difference_found:
        print("\n".join(str(difference_found).splitlines()[: options.lines]))
        print(dict(counts))
        return 1
    print("no difference:", dict(counts))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
