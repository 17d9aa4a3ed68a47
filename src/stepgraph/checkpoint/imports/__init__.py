"""Taking over threads that LangGraph's own savers stored; `import_threads` copies them into any saver.

Sources read tables, `convert` makes of each checkpoint one of ours, `transfer` copies. Rules: nothing here is imported by a
program that imports no threads, but `ids` when an imported thread is resumed.
"""

from __future__ import annotations
