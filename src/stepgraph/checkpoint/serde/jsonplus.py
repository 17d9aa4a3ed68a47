"""`JsonPlusSerializer`: the serializer that savers, stores and caches use unless they are given another.

Rules: the face only; how values become bytes is `writer.py`'s and `reader.py`'s, which classes may come back `policy.py`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Literal

from ormsgpack import OPT_NON_STR_KEYS, packb, unpackb

from stepgraph.checkpoint.serde import plain as _plain  # noqa: F401  (enters the builtin containers)
from stepgraph.checkpoint.serde.base import SerializerProtocol
from stepgraph.checkpoint.serde.codes import TAG
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, NotStorableError, Unstorable
from stepgraph.checkpoint.serde.policy import Mode, Policy, default_mode
from stepgraph.checkpoint.serde.reader import Reader
from stepgraph.checkpoint.serde.writer import INT_RANGE, MANY, Packed, Writer, is_flat

__all__ = ("InvalidModuleError", "JsonPlusSerializer")

AllowedModules = Iterable[tuple[str, ...] | type]

_BY_ENVIRONMENT: Final[Any] = object()
_OWN_TAGS: Final = frozenset((TAG,))


class InvalidModuleError(Exception):
    """Old JSON names a module that is not allowed. Kept for programs that catch it: such data comes back plain.

    Args:
        message: What is not allowed.
    """

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


class JsonPlusSerializer(SerializerProtocol):
    """Turns values into bytes and back: exact types, and safe to read by default.

    Reading restores builtin and library types that are known here, and objects of classes that this process has loaded
    and that really are a dataclass, named tuple, enum, Pydantic model or exception. It imports no module because data
    names it and calls nothing but what puts the state of such objects back. Everything else comes back as plain data,
    with one warning that says how to allow it.

    Args:
        pickle_fallback: Pickle what has no stored form, and unpickle when reading. Only for stores that nobody else can
            write to.
        allowed_json_modules: For JSON of old versions: names that may be imported, such as `("app", "models", "Order")`;
            `True` allows all.
        allowed_msgpack_modules: A list of classes and of tuples such as `("app.models", "Order")` makes reading strict:
            nothing else of a person's is restored (`None` is the empty list). `True` is lax: modules that data names are
            imported. By default the environment variable `LANGGRAPH_STRICT_MSGPACK` decides between strict and normal.
        strict: Strict whatever the other arguments say, or not strict whatever the environment says.
        allowed_modules: Modules, with all below them, that may be imported when data names them, such as `["app."]`.
        __unpack_ext_hook__: Replaces the restoring of everything that is not plain.

    Raises:
        TypeError: An allowlist holds something that is neither a class nor a tuple of text.

    Example:
        >>> serializer = JsonPlusSerializer()
        >>> serializer.loads_typed(serializer.dumps_typed({"seen": {(1, 2)}, "size": 2**70}))
        {'seen': {(1, 2)}, 'size': 1180591620717411303424}
    """

    def __init__(
        self,
        *,
        pickle_fallback: bool = False,
        allowed_json_modules: Iterable[tuple[str, ...]] | Literal[True] | None = None,
        allowed_msgpack_modules: AllowedModules | Literal[True] | None = _BY_ENVIRONMENT,
        strict: bool | None = None,
        allowed_modules: Iterable[str] = (),
        __unpack_ext_hook__: Callable[[int, bytes], Any] | None = None,
    ) -> None:
        allowed: AllowedModules = ()
        mode: Mode = default_mode()
        if allowed_msgpack_modules is True:
            mode = "lax"
        elif allowed_msgpack_modules is not _BY_ENVIRONMENT:
            mode = "strict"
            allowed = tuple(allowed_msgpack_modules or ())
        if strict is not None:
            mode = "strict" if strict else "lax" if mode == "lax" else "loaded"
        self.pickle_fallback = pickle_fallback
        self._use(Policy(mode, allowed, allowed_modules, pickle=pickle_fallback), __unpack_ext_hook__)
        self._allowed_json = (
            allowed_json_modules if allowed_json_modules is True else tuple(allowed_json_modules or ())
        )

    def _use(self, policy: Policy, unpack_ext_hook: Callable[[int, bytes], Any] | None) -> None:
        self._policy = policy
        self._given_hook = unpack_ext_hook
        self._hook = unpack_ext_hook or Reader(policy).hook

    @property
    def strict(self) -> bool:
        """Whether only classes on an allowlist are restored."""
        return self._policy.mode == "strict"

    def pack(self, value: Any, packed: Packed | None = None) -> bytes:
        """Turn a value into bytes, without a tag.

        Args:
            value: What to store.
            packed: Remembers the bytes of large plain parts by identity, for values that share parts: give the same dict
                while no part can change.

        Returns:
            The bytes; `unpack` turns them back.

        Raises:
            NotStorableError: Something in the value has no stored form, is cyclic, or is nested too deeply. It is a
                `TypeError` that names the place.
        """
        kind = type(value)
        if kind is bool or value is None or kind is float or (kind is str and value.isascii()):
            return packb(value)
        if kind is int and -INT_RANGE < value < INT_RANGE:
            return packb(value)
        if (kind is list or kind is dict) and len(value) <= MANY and is_flat(value):
            return packb(value)
        writer = Writer(self._policy, packed)
        try:
            return writer.document(value)
        except (TypeError, ValueError, Unstorable, RecursionError) as error:
            cause = writer.failure or error
            raise _not_storable(value, cause) from (None if isinstance(cause, Unstorable) else cause)

    def unpack(self, data: bytes) -> Any:
        """Turn bytes that `pack` made back into the value.

        Raises:
            CorruptPayloadError: The bytes are damaged, were tampered with, or are of another format. It is a
                `ValueError`.
        """
        try:
            return unpackb(data, ext_hook=self._hook)
        except ValueError as error:
            return self._explain(data, error, 0)

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Turn a value into a tag and bytes.

        Args:
            obj: What to store.

        Returns:
            The tag of the format and the bytes.

        Raises:
            NotStorableError: As `pack`.
        """
        if obj is None:
            return "null", b""
        cls = type(obj)
        if cls is bytes:
            return "bytes", obj
        if cls is bytearray:
            return "bytearray", bytes(obj)
        return TAG, self.pack(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Turn a tag and bytes back into the value; the tags of LangGraph's serializer are read too.

        Args:
            data: The tag and the bytes.

        Returns:
            The value.

        Raises:
            CorruptPayloadError: As `unpack`.
            NotImplementedError: The tag is of no format that is known here.
        """
        tag, content = data
        if tag in _OWN_TAGS:
            return self.unpack(content)
        if tag == "null":
            return None
        if tag == "bytes":
            return bytes(content)
        if tag == "bytearray":
            return bytearray(content)
        if tag == "msgpack":
            try:
                return unpackb(content, ext_hook=self._hook, option=OPT_NON_STR_KEYS)
            except ValueError as error:
                return self._explain(content, error, OPT_NON_STR_KEYS)
        if tag == "json":
            return self._load_json(content)
        if tag == "pickle" and self.pickle_fallback:
            import pickle

            return pickle.loads(content)
        raise NotImplementedError(_unknown_tag(tag))

    def with_msgpack_allowlist(self, extra_allowlist: Iterable[tuple[str, ...] | type]) -> JsonPlusSerializer:
        """A serializer that restores these classes too, also in strict mode.

        Args:
            extra_allowlist: Classes, and tuples such as `("app.models", "Order")`.

        Returns:
            Another serializer; this one stays as it is.
        """
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._use(self._policy.extended(extra_allowlist), self._given_hook)
        return other

    def as_strict(self, extra_allowlist: Iterable[tuple[str, ...] | type] = ()) -> JsonPlusSerializer:
        """A strict serializer: of a person's classes it restores only those that are allowed here or were before.

        Args:
            extra_allowlist: Classes, and tuples such as `("app.models", "Order")`.

        Returns:
            Another serializer; this one stays as it is.
        """
        other = self.with_msgpack_allowlist(extra_allowlist)
        other._policy.mode = "strict"
        return other

    def _load_json(self, content: bytes) -> Any:
        from stepgraph.checkpoint.serde.legacy_json import load_json

        allowed = self._allowed_json
        if allowed is True:
            policy = Policy("lax")
        else:
            policy = self._policy.extended(allowed) if allowed else self._policy
        try:
            return load_json(policy, content)
        except (ValueError, TypeError, RecursionError) as error:
            raise CorruptPayloadError(f"Stored JSON cannot be read: {error}") from error

    def _explain(self, data: bytes, error: ValueError, option: int) -> Any:
        """Read once more and keep what the decoders raise: native code loses it."""
        if self._given_hook is not None:
            raise CorruptPayloadError(f"Stored bytes cannot be read: {error}") from error
        errors: list[BaseException] = []
        try:
            return unpackb(data, ext_hook=Reader(self._policy, errors).hook, option=option)
        except ValueError as again:
            cause = errors[0] if errors else again
        if isinstance(cause, CorruptPayloadError | Warning) or not isinstance(cause, Exception):
            raise cause
        reason = "it is nested too deeply" if isinstance(cause, RecursionError) else str(cause)
        raise CorruptPayloadError(
            f"Stored bytes cannot be read: {reason} ({type(cause).__name__}). They were damaged, or were not written by"
            " this serializer."
        ) from cause


def _not_storable(value: Any, cause: BaseException) -> BaseException:
    """What `pack` raises for the failure of an encoder."""
    if isinstance(cause, Unstorable):
        from stepgraph.checkpoint.serde.locate import locate

        return NotStorableError(cause.reason, locate(value, cause.culprit))
    if isinstance(cause, RecursionError):
        return NotStorableError("it is nested too deeply, or contains itself.")
    if isinstance(cause, Warning) or not isinstance(cause, Exception):
        return cause
    return NotStorableError(f"{cause} ({type(cause).__name__})")


def _unknown_tag(tag: str) -> str:
    if tag == "pickle":
        return (
            "Unknown serialization type: pickle. Unpickling runs code that the data names; if you trust whoever can write"
            " to the store, read it with JsonPlusSerializer(pickle_fallback=True)."
        )
    if "+" in tag:
        return f"Unknown serialization type: {tag}. It is encrypted: read it with an EncryptedSerializer that has the key."
    return (
        f"Unknown serialization type: {tag}. This version reads {TAG}, null, bytes, bytearray, and msgpack and json of"
        " LangGraph; the data was written by a later version or by another serializer."
    )


def _msgpack_ext_hook_to_json(code: int, data: bytes) -> Any:
    """For tools that unpack stored msgpack themselves: an extension as something that JSON can show."""
    from stepgraph.checkpoint.serde.to_json import json_hook

    return json_hook(code, data)
