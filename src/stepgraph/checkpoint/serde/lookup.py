"""Finds a class by module and qualified name among what is loaded already.

Rules: imports nothing, calls nothing: names are looked up in the dictionaries of modules and classes, so neither a
module's `__getattr__` nor a descriptor runs.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from weakref import ref

MAX_REMEMBERED: Final = 1024

_written: dict[tuple[str, str], ref[type]] = {}


def loaded_class(module: str, qualname: str) -> type | None:
    """The class of that name in a module that is loaded, or None."""
    found = sys.modules.get(module)
    if not isinstance(found, ModuleType):
        return None
    names = vars(found)
    cls: object = names.get(qualname)
    if cls is None:
        for part in qualname.split("."):
            cls = names.get(part)
            if not isinstance(cls, type):
                return None
            names = type.__dict__["__dict__"].__get__(cls)
    return cls if isinstance(cls, type) else None


def remember(cls: type) -> None:
    """Keep track of a class that cannot be found by its name, such as one made in a function.

    It can be found with `written_class` in this process, for as long as something else holds it.
    """
    from weakref import ref

    if len(_written) >= MAX_REMEMBERED:
        for key in [key for key, kept in list(_written.items()) if kept() is None] or list(_written):
            _written.pop(key, None)
    _written[cls.__module__, cls.__qualname__] = ref(cls)


def written_class(module: str, qualname: str) -> type | None:
    """The class of that name that was last written in this process and cannot be found by its name."""
    kept = _written.get((module, qualname))
    return None if kept is None else kept()


def is_builtin(cls: type) -> bool:
    """Whether a class was made by the interpreter and not by a `class` statement."""
    return not cls.__flags__ & _HEAP_TYPE


_HEAP_TYPE: Final = 1 << 9
