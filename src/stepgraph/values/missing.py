"""The one mark for "no value".

`None`, `False`, `0` and empty containers are values like any other in this package, so the absence of a value needs a
mark of its own. There is exactly one such object: copying and unpickling give it back, so `is` is always a safe test.
"""

from __future__ import annotations

from typing import Any, Final, final


@final
class Missing:
    """The type of `MISSING`; calling it gives the one instance."""

    __slots__ = ()

    def __new__(cls) -> Missing:
        return MISSING

    def __repr__(self) -> str:
        return "MISSING"

    def __copy__(self) -> Missing:
        return self

    def __deepcopy__(self, memo: Any) -> Missing:
        return self

    def __reduce__(self) -> str:
        return "MISSING"


MISSING: Final[Missing] = object.__new__(Missing)
"""Stands where no value is. Not the same as `None`, and true in a boolean test like any plain object."""
