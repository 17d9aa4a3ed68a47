"""Let langgraph begin generated programs and stepgraph end them, and show where that differs from langgraph alone.

A program runs on langgraph and its SQLite saver. After each turn that leaves something to do, a copy of the file is
imported; then langgraph goes on with its own thread and stepgraph with the imported one, to the end. Final values must be the
same, and so must be which nodes returned how often. An environment that has both packages runs it:

    PYTHONPATH=src:tests python benchmarks/imported_side_by_side.py --examples 100
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings

sys.path[:0] = [str(Path(__file__).resolve().parent.parent / part) for part in ("", "tests", "src")]

from benchmarks.side_by_side import PAUSING, speaks  # noqa: E402
from generated.build import Setting  # noqa: E402
from generated.programs import Program, asks, sketch  # noqa: E402
from generated.strategies import programs  # noqa: E402
from generated.trace import Run, start  # noqa: E402
from stepgraph.checkpoint.imports.sqlite import SqliteSource  # noqa: E402
from stepgraph.checkpoint.imports.transfer import import_threads  # noqa: E402
from stepgraph.checkpoint.memory import InMemorySaver  # noqa: E402

TURNS = 3
"""After so many turns a program is imported, at most."""


class Differs(AssertionError):
    """The imported thread came out otherwise."""


def outcome(run: Run) -> dict[str, Any]:
    """Go on to the end; what there is to compare then."""
    run.onwards()
    error = run.turns[-1].error if run.turns else None
    if error is not None:
        return {"error": error.partition("(")[0]}
    values = run.state().values
    return {"values": values, "returned": dict(Counter(name for name, _ in run.setting.log.left))}


def begun(program: Program, saver: Any, turns: int) -> Run | None:
    """A run on langgraph after so many turns; `None` if nothing is left to do, or it failed."""
    run = start(program, Setting("langgraph"), saver=saver)
    if not run.turn(program.input()):
        return None
    for _ in range(turns - 1):
        state = run.state()
        if not state.next or not run.turn(run.answer(state)):
            return None
    return run if run.state().next else None


def compare(program: Program, folder: Path) -> int:
    """Compare both ways to go on, after each number of turns; answers how often."""
    from langgraph.checkpoint.sqlite import SqliteSaver

    compared = 0
    for turns in range(1, TURNS + 1):
        with tempfile.TemporaryDirectory(dir=folder) as place:
            theirs, copied = Path(place) / "theirs.db", Path(place) / "copy.db"
            with SqliteSaver.from_conn_string(str(theirs)) as saver:
                run = begun(program, saver, turns)
                if run is None:
                    return compared
                saver.conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                shutil.copy(theirs, copied)
                before = dict(Counter(name for name, _ in run.setting.log.left))
                expected = outcome(run)
            ours = start(program, Setting("stepgraph"), saver=InMemorySaver())
            with closing(SqliteSource(str(copied))) as source:
                (report,) = import_threads(source, ours.saver)
            ours.turns = list(run.turns[:1])
            found = outcome(ours)
            if "returned" in found and "returned" in expected:
                found["returned"] = dict(Counter(found["returned"]) + Counter(before))
            if report.problems or found != expected:
                problems = [str(problem) for problem in report.problems]
                raise Differs(
                    f"{sketch(program)}\nafter {turns} turns\nlanggraph {expected}\nstepgraph {found}\n{problems}"
                )
            compared += 1
    return compared


def main() -> int:
    """Parse the command line and compare; 1 if a program differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--examples", type=int, default=100)
    parser.add_argument("--seed", type=int, default=None, help="search at random")
    options = parser.parse_args()
    counts: Counter[str] = Counter()

    @settings(
        max_examples=options.examples,
        deadline=None,
        derandomize=options.seed is None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink],
        print_blob=False,
    )
    @given(programs(PAUSING).filter(lambda program: asks(program) and speaks(program)))
    def same(program: Program) -> None:
        counts["programs"] += 1
        with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
            warnings.simplefilter("ignore")
            counts["imports"] += compare(program, Path(folder))

    try:
        same()
    except Differs as found:
        print(found)
        return 1
    finally:
        print(dict(counts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
