"""The command: choose rows, take them one after another, print one table.

A row that cannot be taken (a package is missing, an engine fails) says so in its verdict and the others go on; the exit
code is 1 if any row failed, and with `--check` also if any is below its floor.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import traceback
import warnings
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter, process_time

from benchmarks.engine import Engine
from benchmarks.kinds import Bench, Scenario
from benchmarks.scenarios import ALL
from benchmarks.table import Row, as_json, markdown


def arguments() -> argparse.Namespace:
    """What the person asked for."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="This engine beside LangGraph and hand-written loops."
    )
    parser.add_argument("--only", action="append", metavar="ID", help="rows whose id begins with ID")
    parser.add_argument("--quick", action="store_true", help="small sizes and three samples")
    parser.add_argument("--self", action="store_true", dest="alone", help="without LangGraph")
    parser.add_argument("--samples", type=int, help="samples a side (default 7)")
    parser.add_argument("--cpu", action="store_true", help="CPU time of the process: for a busy machine")
    parser.add_argument("--json", metavar="OUT", help="also write the rows as JSON")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row is below its floor")
    parser.add_argument("--list", action="store_true", help="print the ids and stop")
    parser.add_argument("--ours", default="stepgraph", help="package on our side (default stepgraph)")
    parser.add_argument("--theirs", default="langgraph", help="package on the other side (default langgraph)")
    parser.add_argument("--traceback", action="store_true", help="print the traceback of a row that failed")
    return parser.parse_args()


def take(scenario: Scenario, bench: Bench, show_traceback: bool) -> list[Row]:
    """The scenario's rows, or one that says why there are none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return scenario.rows(bench)
    except Exception as error:
        if show_traceback:
            traceback.print_exc()
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        return [Row(scenario.id, note=f"failed: {reason[:100]}")]


def about(bench: Bench) -> dict[str, object]:
    """What the figures were measured on."""
    versions = {}
    for engine in (bench.ours, bench.theirs):
        if engine is not None:
            try:
                versions[engine.package] = version(engine.package)
            except PackageNotFoundError:
                versions[engine.package] = "from the source tree"
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "cores": os.cpu_count(),
        "samples": bench.samples,
        "scale": bench.scale,
        "clock": bench.clock.__name__,
        "versions": versions,
    }


def main() -> int:
    """Run the command."""
    asked = arguments()
    chosen = [s for s in ALL if not asked.only or s.id.startswith(tuple(asked.only))]
    if asked.list:
        print("\n".join(s.id for s in chosen))
        return 0
    bench = Bench(
        ours=Engine(asked.ours),
        theirs=None if asked.alone else Engine(asked.theirs),
        samples=asked.samples or (3 if asked.quick else 7),
        scale=0.2 if asked.quick else 1.0,
        clock=process_time if asked.cpu else perf_counter,
    )
    rows: list[Row] = []
    with bench.cleanup:
        for scenario in chosen:
            taken = take(scenario, bench, asked.traceback)
            rows += taken
            for row in taken:
                print(f"{row.id}: {row.cells()[3]} ({row.cells()[6]})", file=sys.stderr, flush=True)
    facts = about(bench)
    print(markdown(rows))
    print("\n" + ", ".join(f"{key}: {value}" for key, value in facts.items()))
    if asked.quick:
        print("Quick mode: sizes are a fifth; floors and aims belong to the full sizes.")
    if asked.json:
        with open(asked.json, "w", encoding="utf-8") as out:
            out.write(as_json(rows, facts) + "\n")
    failed = [row for row in rows if row.note or (asked.check and row.verdict == "below")]
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
