"""`python -m stepgraph.compat`: see `stepgraph.compat.command`."""

from __future__ import annotations

from stepgraph.compat.command import main

if __name__ == "__main__":
    main()
