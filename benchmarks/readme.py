"""Put figures into README.md: only what a run of the benchmark wrote with `--json`.

    python -m benchmarks --json figures.json
    python -m benchmarks.readme figures.json

The block between the two markers in README.md is replaced; nothing else is touched.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

README = Path(__file__).parent.parent / "README.md"
BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"

SHOWN = {
    "tiny": "one node, one `invoke`",
    "loop": "a loop, per step",
    "loop-saver-async": "the same with a saver in memory",
    "loop-sqlite-async": "the same with a SQLite file",
    "loop-sqlite-sync": "the same, on the disk before the next step starts",
    "loop-mixed": "the same in an event loop, with a sync node",
    "fan": "500 parallel tasks, per task",
    "nested": "100 parallel subgraphs of 12 steps",
    "react": "a tool loop, per call",
    "wide": "15 fields, 26 laps of six nodes",
    "chain": "1,000 nodes in sequence, per node",
    "import": "importing it",
    "memory": "memory of a parallel task",
    "store-list": "stored after 1,000 steps of one 500-byte item (memory)",
    "store-list-sqlite": "the same in SQLite",
    "store-messages": "the same as messages (memory)",
}


def line(row: dict[str, Any]) -> str:
    """One line of the table; a limit's figure is turned into a ratio where LangGraph's was taken too."""
    ratio = (
        f"{row['figure']:.3g}x"
        if row["unit"] == "x"
        else f"{leading(row['theirs']) / leading(row['ours']):.0f}x"
    )
    return f"| {SHOWN[row['id']]} | {row['theirs']} | {row['ours']} | {ratio} |"


def leading(text: str) -> float:
    """The number that a cell begins with."""
    return float(text.split()[0])


def block(result: dict[str, Any]) -> str:
    """The table and what it was measured on."""
    rows = {row["id"]: row for row in result["rows"] if not row["note"] and row["theirs"] != "-"}
    about = result["about"]
    lines = ["| | LangGraph | stepgraph | |", "|---|---|---|---|"]
    lines += [line(rows[name]) for name in SHOWN if name in rows]
    lines += [
        "",
        f"Medians of {about['samples']} samples a side, Python {about['python']}, {about['system']}, {about['cores']} cores,"
        f" LangGraph {about['versions'].get('langgraph')}. `python -m benchmarks` prints all rows and the slopes.",
    ]
    return "\n".join(lines)


def main() -> None:
    """Replace the block."""
    result = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    text = README.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    README.write_text(f"{before}{BEGIN}\n{block(result)}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
