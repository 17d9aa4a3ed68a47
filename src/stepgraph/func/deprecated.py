"""Old names of arguments, still taken with a warning."""

from __future__ import annotations

from typing import Any


def replaced(kwargs: dict[str, Any], where: str, old: str, new: str, value: Any, last: bool = True) -> Any:
    """The value of an argument that may have been given under its old name.

    Args:
        kwargs: The arguments that have no parameter; the old name is taken out.
        where: What is called.
        old: The old name.
        new: The name of today.
        value: What was given under the name of today.
        last: No other old name is looked for after this one.

    Raises:
        TypeError: An argument is unknown, or was given under both names.
    """
    if old in kwargs:
        import warnings

        from stepgraph.warnings import LangGraphDeprecatedSinceV05, LangGraphDeprecatedSinceV10

        category = LangGraphDeprecatedSinceV10 if old == "config_schema" else LangGraphDeprecatedSinceV05
        given = kwargs.pop(old)
        if value is not None:
            raise TypeError(f"{where}() takes {new} or its old name {old}, not both.")
        warnings.warn(
            f"`{old}` is deprecated and will be removed. Please use `{new}` instead.", category, stacklevel=3
        )
        value = given
    if last and kwargs:
        raise TypeError(f"{where}() got unexpected keyword arguments: {', '.join(kwargs)}")
    return value
