"""The default key of a cached result.

Rules: equal inputs have equal keys in every process and on every start of it; inputs of different types, or with different
content, have different keys. So nothing here depends on `hash()`, on the order of a set, or on the identity of objects.

Theory: the input is turned into a canonical byte text, in which every value is preceded by what it is. Dicts and sets are
ordered by the text of their keys and items. Objects that are no builtins are taken apart by what `copyreg` would pickle of
them: their class and their state.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from types import FunctionType
from typing import Any

_ATOMS = (str, int, float, complex, bool, bytes, type(None))


def cache_key(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Make the key of a call: 32 hex digits.

    Args:
        args: The positional arguments.
        kwargs: The keyword arguments; their order does not matter.

    Returns:
        The digest.

    Raises:
        TypeError: An argument has no content that could be compared over processes (a lambda, a lock, an open file).
            Give `CachePolicy(key_func=...)` then.
    """
    from hashlib import blake2b

    content = canonical((args, kwargs), [])
    return blake2b(content, digest_size=16).hexdigest()


def canonical(value: Any, above: list[int]) -> bytes:
    """The canonical text of a value.

    Args:
        value: The value.
        above: The identities of the values that contain it, to find cycles.
    """
    kind = type(value)
    if kind in _ATOMS:
        return _framed(kind.__name__, repr(value).encode("utf-8", "surrogatepass"))
    if id(value) in above:
        return _framed("above", str(len(above) - above.index(id(value))).encode())
    above.append(id(value))
    try:
        return _framed(_name(kind), _content(value, kind, above))
    finally:
        above.pop()


def _content(value: Any, kind: type, above: list[int]) -> bytes:
    if kind in (list, tuple):
        return b"".join([canonical(item, above) for item in value])
    if isinstance(value, set | frozenset):
        attributes = _pairs(getattr(value, "__dict__", {}), above)
        return b"".join(sorted([canonical(item, above) for item in value])) + attributes
    if kind is dict:
        return _pairs(value, above)
    if kind is FunctionType or isinstance(value, type):
        return _global(value)
    if hasattr(value, "model_dump") and isinstance(getattr(value, "__dict__", None), dict):
        extra = getattr(value, "__pydantic_extra__", None) or {}
        private = getattr(value, "__pydantic_private__", None) or {}
        return _pairs(value.__dict__, above) + _pairs(extra, above) + _pairs(private, above)
    return _reduced(value, above)


def _pairs(mapping: Mapping[Any, Any], above: list[int]) -> bytes:
    return b"".join(sorted([canonical(key, above) + canonical(item, above) for key, item in mapping.items()]))


def _reduced(value: Any, above: list[int]) -> bytes:
    """An object by what pickling would keep of it."""
    import copyreg

    reducer = copyreg.dispatch_table.get(type(value))
    try:
        reduced = reducer(value) if reducer is not None else value.__reduce_ex__(2)
    except Exception as error:
        raise _no_key(value) from error
    if isinstance(reduced, str):
        return reduced.encode()
    parts = [*reduced, None, None, None, None][:5]
    items, pairs = parts[3], parts[4]
    parts[3] = None if items is None else list(items)
    if pairs is not None:
        parts[4] = list(pairs) if isinstance(value, OrderedDict) else dict(pairs)
    return b"".join([canonical(part, above) for part in parts])


def _global(value: Any) -> bytes:
    name = f"{value.__module__}.{value.__qualname__}"
    if "<lambda>" in name or ("<locals>" in name and not isinstance(value, type)):
        raise _no_key(value)
    return name.encode()


def _name(kind: type) -> str:
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _framed(name: str, content: bytes) -> bytes:
    return b"%s(%d:%s)" % (name.encode(), len(content), content)


def _no_key(value: Any) -> TypeError:
    return TypeError(
        f"Cannot make a cache key of a {type(value).__qualname__}: {value!r} has no content that would be the same in another"
        " process. Give CachePolicy(key_func=...) a function that makes the key from what matters in the node's input."
    )
