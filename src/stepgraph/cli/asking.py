"""Asking the person at the terminal.

Rules: nobody is asked where nobody is: without a terminal, or when the input ends, the answer is None.
"""

from __future__ import annotations

import sys


def ask(prompt: str) -> str | None:
    """One line from the person at the terminal; None if there is no answer to be had."""
    if not sys.stdin.isatty():
        return None
    try:
        return input(prompt)
    except EOFError:
        print()
        return None
