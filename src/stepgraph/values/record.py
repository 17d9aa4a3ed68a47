"""Slotted records that answer like dataclasses without importing `dataclasses`.

A record class lists its attributes in `__slots__`, takes them in a hand-written `__init__`, and names the ones that
count for comparison in `record_fields`. `dataclasses.fields`, `asdict`, `replace` and `is_dataclass` work on it: the
field descriptions are derived from `__init__` when somebody first asks, so start-up pays nothing for them.

Rules: `Record` may be changed and has no hash; `FrozenRecord` refuses assignment and hashes by value, and sets its own
slots through the slot descriptors (`set_slots`).
"""

from __future__ import annotations

from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, ClassVar, Final, NoReturn

from stepgraph.values.missing import MISSING

if TYPE_CHECKING:
    from dataclasses import Field


class _DerivedFields:
    """Descriptor: on first access derives dataclass fields (or params) from `__init__` and stores them in the class."""

    __slots__ = ("name",)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, instance: object, owner: type[Record]) -> Any:
        if owner.__init__ is object.__init__:
            # A base without fields; what it stored would hide this descriptor from the records below it.
            raise AttributeError(f"{owner.__name__} is a base of records and has no {self.name}")
        twin = _dataclass_twin(owner)
        for name in ("__dataclass_fields__", "__dataclass_params__"):
            if owner.__dict__.get(name) is None:
                type.__setattr__(owner, name, getattr(twin, name))
        return getattr(twin, self.name)


def _dataclass_twin(owner: type[Record]) -> type:
    """Make a dataclass with the fields that the `__init__` of `owner` takes."""
    import dataclasses
    from inspect import Parameter, signature

    columns: list[tuple[str, Any, Any]] = []
    for parameter in list(signature(owner.__init__).parameters.values())[1:]:
        if parameter.kind is Parameter.VAR_KEYWORD:
            continue
        default = None if parameter.default is MISSING else parameter.default
        kind: Any = parameter.annotation
        if parameter.name not in owner.record_fields:
            kind = dataclasses.InitVar[kind]
        column = dataclasses.field(kw_only=parameter.kind is Parameter.KEYWORD_ONLY)
        if default is not Parameter.empty:
            column.default = default
        columns.append((parameter.name, kind, column))
    frozen = issubclass(owner, FrozenRecord)
    return dataclasses.make_dataclass(owner.__name__, columns, frozen=frozen)


class Record:
    """Base of records that may be changed: compared by value, not hashable.

    Attributes:
        record_fields: The names that make up the value, in order.
    """

    __slots__ = ()

    record_fields: ClassVar[tuple[str, ...]] = ()
    if TYPE_CHECKING:
        __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    else:
        __dataclass_fields__ = _DerivedFields()
        __dataclass_params__ = _DerivedFields()

    def _as_tuple(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self.record_fields])

    def _as_dict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.record_fields}

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return self._as_tuple() == other._as_tuple()

    __hash__: ClassVar[Any] = None

    @recursive_repr()
    def __repr__(self) -> str:
        content = ", ".join([f"{name}={getattr(self, name)!r}" for name in self.record_fields])
        return f"{type(self).__qualname__}({content})"


class FrozenRecord(Record):
    """Base of records that may not be changed: compared and hashed by value."""

    __slots__ = ()

    def __hash__(self) -> int:
        return hash(self._as_tuple())

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise _frozen_error(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise _frozen_error(f"cannot delete field {name!r}")

    def __setstate__(self, state: Any) -> None:
        for part in state if isinstance(state, tuple) else (state,):
            for name, value in (part or {}).items():
                set_slot(self, name, value)


set_slot: Final = object.__setattr__
"""Set an attribute of a frozen record, for the record's own code."""


def _frozen_error(message: str) -> AttributeError:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(message)
