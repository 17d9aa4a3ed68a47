"""Benchmarks: `python -m benchmarks` compares this engine with LangGraph and with loops written by hand.

    python -m benchmarks                  the whole table (needs: pip install -r benchmarks/requirements.txt)
    python -m benchmarks --quick          small sizes, three samples: a look, not a figure to quote
    python -m benchmarks --only fan       rows whose id begins with "fan" (may be repeated)
    python -m benchmarks --self           no LangGraph needed: hand-written loops, laws and stored bytes
    python -m benchmarks --cpu            CPU time in place of wall time: for a machine that others use too
    python -m benchmarks --json OUT       the same rows for a program

How it measures (the rules; `measure.py` keeps them):

1. Both engines run in one process, in turns, over the same node functions and the same input.
2. Nothing is timed before both sides have given the same outcome.
3. A sample runs the program as often as 5 ms take; garbage is collected before each; the figure is the median.
4. What counts is the ratio: times on shared machines mean little, their ratio survives.
5. Laws print a slope or a growth factor of one engine: no constant factor can fake them.

`engine.py` names what a scenario may use of an engine, `kinds.py` the four kinds of row, `scenarios/` holds one
family a file, `table.py` prints.
"""
