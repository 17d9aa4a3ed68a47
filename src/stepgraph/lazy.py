"""Names of a package that are imported when they are first asked for.

Rules of this file: it imports nothing of ours, and nothing that a program may not need.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

__all__ = ("names_from",)


def names_from(module: dict[str, Any], homes: Mapping[str, str]) -> Callable[[str], Any]:
    """The `__getattr__` of a module whose names live elsewhere.

    Args:
        module: The module's `globals()`; a name that was asked for is entered there.
        homes: Where each name lives: the full path of a module, or one without dots that is in this package.

    Returns:
        A function that answers a name, and raises `AttributeError` for others.

    Example:
        `__getattr__ = names_from(globals(), {"Topic": "topic"})`
    """

    def answer(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {module['__name__']!r} has no attribute {name!r}")
        from importlib import import_module

        place = home if "." in home else f"{module['__name__']}.{home}"
        value = module[name] = getattr(import_module(place), name)
        return value

    return answer
