"""The known name that a misspelt one was probably meant to be.

Rules of this file: it is asked only where an error or a warning is made, so what it needs is loaded then.
"""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: object, known: Iterable[str]) -> str | None:
    """The known name that looks most like `name`; None if none does.

    Example:
        >>> nearest("agnet", ["agent", "tools"])
        'agent'
    """
    from difflib import get_close_matches

    close = get_close_matches(str(name), list(known), 1)
    return close[0] if close else None
