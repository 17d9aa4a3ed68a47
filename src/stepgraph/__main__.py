"""`python -m stepgraph`: the command line, where its script is not on the path."""

from __future__ import annotations

import sys

from stepgraph.cli.main import main

sys.exit(main())
