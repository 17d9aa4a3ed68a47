"""The channel of a field with a reducer of two arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

from stepgraph.channels.base import Fold, Value
from stepgraph.channels.empty import empty_value, optional_container
from stepgraph.channels.fold import binary_operator
from stepgraph.channels.one_value import OneValue
from stepgraph.values.missing import MISSING, Missing

__all__ = ("BinaryOperatorAggregate",)


class BinaryOperatorAggregate(OneValue[Value]):
    """Folds every write into its value with a reducer.

    It starts from the declared default, else from the empty value of its type; without either, the first write is taken
    as it is.

    Args:
        typ: The type of the value.
        operator: The reducer, called as `operator(value, write)`.
        default: Makes the declared default of the field; `None` as a default is none.

    Example:
        >>> import operator
        >>> total = BinaryOperatorAggregate(int, operator.add)
        >>> total.update([1, 2, 3]), total.get()
        (True, 6)
    """

    __slots__ = ("_fold", "default", "operator")

    operator: Callable[[Value, Value], Value]
    default: Callable[[], Any] | Missing
    step_sensitive: ClassVar[bool] = False

    def __init__(
        self,
        typ: type[Value],
        operator: Callable[[Value, Value], Value],
        *,
        default: Callable[[], Any] | Missing = MISSING,
    ) -> None:
        super().__init__(typ)
        self.operator = operator
        self.default = default
        self._fold: tuple[str, Fold] | None = None
        self.value = self.start()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BinaryOperatorAggregate) and other.operator == self.operator

    def start(self) -> Any:
        """A new start value: the declared default, else the empty value of the type, else `MISSING`."""
        if not isinstance(self.default, Missing):
            value = self.default()
            if value is not None:
                return value
        return empty_value(self.typ)

    def from_checkpoint(self, checkpoint: Value | Any) -> Self:
        """A channel like this one with a stored value."""
        channel = self.__class__.__new__(self.__class__)
        channel.typ, channel.key = self.typ, self.key
        channel.operator, channel.default, channel._fold = self.operator, self.default, None
        channel.value = self.start() if checkpoint is MISSING else checkpoint
        return channel

    def update(self, values: Sequence[Value]) -> bool:
        """Fold the writes of a step."""
        if not values:
            return False
        self.value = self._folding()(self.value, values, {})
        return True

    def folder(self) -> Fold | None:
        """The reducer, write by write."""
        return self._folding() if type(self) is BinaryOperatorAggregate else None

    def _folding(self) -> Fold:
        if self._fold is None or self._fold[0] != self.key:
            fold = binary_operator(self.operator, self.start, optional_container(self.typ), self.key)
            self._fold = (self.key, fold)
        return self._fold[1]
