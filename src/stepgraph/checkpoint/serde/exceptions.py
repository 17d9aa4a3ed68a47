"""Exceptions: class, arguments, notes, attributes that can be stored; the causes as text.

An exception is made by the `__new__` of the builtin that its class is based on, never by a constructor of the class.
What cannot be stored among arguments and attributes must not hide the failure itself: an argument becomes its `repr`,
an attribute is left out. A cause comes back as a `RecordedError` with its text; so does an exception whose class is not
there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.classes import is_exception
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, RecordedError
from stepgraph.checkpoint.serde.families import RESTORERS
from stepgraph.checkpoint.serde.lookup import is_builtin
from stepgraph.checkpoint.serde.policy import Policy, check_values
from stepgraph.checkpoint.serde.writer import Head

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.families import Encode, Restore
    from stepgraph.checkpoint.serde.writer import Writer

MAX_CAUSES: Final = 20

_MEMBERS: Final[tuple[tuple[type[BaseException], tuple[str, ...]], ...]] = (
    (OSError, ("errno", "strerror", "filename", "filename2")),
    (ImportError, ("msg", "name", "path")),
    (StopIteration, ("value",)),
    (SystemExit, ("code",)),
    (UnicodeEncodeError, ("encoding", "object", "start", "end", "reason")),
    (UnicodeDecodeError, ("encoding", "object", "start", "end", "reason")),
    (UnicodeTranslateError, ("object", "start", "end", "reason")),
    (SyntaxError, ("msg", "filename", "lineno", "offset", "text", "end_lineno", "end_offset")),
    (NameError, ("name",)),
    (AttributeError, ("name",)),
)
"""What builtins keep outside of `args` and `__dict__`."""


def exception_encoder(cls: type) -> Encode:
    """The encoder for an exception class."""
    head = Head(cls, codes.HEAD_EXCEPTION, cls.__module__, cls.__qualname__)
    members = [name for base, names in _MEMBERS if issubclass(cls, base) for name in names]
    is_group = issubclass(cls, BaseExceptionGroup)

    def encode(writer: Writer, obj: BaseException) -> Any:
        args = [obj.args[0], list(obj.exceptions)] if isinstance(obj, BaseExceptionGroup) else list(obj.args)
        kept = {name: value for name in members if (value := getattr(obj, name, None)) is not None}
        attributes = {**obj.__dict__, **kept}
        cause = obj.__cause__ if obj.__cause__ is not None else obj.__context__
        state = [
            _text(obj),
            args if is_group else [arg if writer.can_pack(arg) else repr(arg) for arg in args],
            {name: value for name, value in attributes.items() if writer.can_pack(value)},
            _texts(cause),
            obj.__cause__ is not None,
            obj.__suppress_context__,
        ]
        return writer.object(obj, head, state)

    return encode


def _texts(cause: BaseException | None) -> list[list[str]]:
    """Class and text of a cause, of its cause, and so on."""
    texts: list[list[str]] = []
    while cause is not None and len(texts) < MAX_CAUSES:
        if isinstance(cause, RecordedError):
            texts.append([cause.type_name, cause.message])
        else:
            texts.append([type_name(type(cause)), _text(cause)])
        cause = cause.__cause__ if cause.__cause__ is not None else cause.__context__
    return texts


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception as broken:
        return f"(its text cannot be made: {type(broken).__name__})"


def type_name(cls: type) -> str:
    """The name of a class as a traceback shows it."""
    return cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"


def _make_exception_restorer(policy: Policy, head: list[Any]) -> tuple[type | None, Restore]:
    module, qualname = head[1], head[2]
    cls = policy.find(module, qualname, is_exception, "exception")
    name = qualname if module == "builtins" else f"{module}.{qualname}"

    restorable = cls is not None and is_made_by_builtin(cls)

    def restore(state: Any) -> BaseException:
        text, args, attributes, causes, has_cause, suppress = check_values(state, 6)
        if type(args) is not list or type(attributes) is not dict or type(causes) is not list:
            raise CorruptPayloadError(
                "The stored bytes should hold the arguments and attributes of an exception."
            )
        if cls is None or not restorable:
            restored: BaseException = RecordedError(name, text, tuple(args))
            for note in attributes.get("__notes__", ()):
                restored.add_note(str(note))
        else:
            restored = from_args(cls, args)
            _set_state(restored, attributes)
        _chain(restored, causes, bool(has_cause), bool(suppress))
        return restored

    return cls, restore


def is_made_by_builtin(cls: type[BaseException]) -> bool:
    """Whether the builtin that a class is based on can make its instances: not those of an extension with data of its own."""
    builtin = next(base for base in cls.__mro__ if is_builtin(base))
    arguments = ("", [Exception()]) if issubclass(cls, BaseExceptionGroup) else ()
    try:
        builtin.__new__(cls, *arguments)
    except TypeError:
        return False
    return True


def from_args(cls: Any, args: list[Any]) -> BaseException:
    """An exception of a class with these arguments, made by the builtin that it is based on."""
    builtin = next(base for base in cls.__mro__ if is_builtin(base))
    if issubclass(cls, BaseExceptionGroup):
        message, parts = check_values(args, 2)
        if type(parts) is not list:
            raise CorruptPayloadError("The stored bytes should hold the exceptions of a group.")
        members = [
            part if isinstance(part, BaseException) else RecordedError("Exception", repr(part))
            for part in parts
        ]
        group: BaseException = builtin.__new__(cls, message, members)
        return group
    restored: BaseException = builtin.__new__(cls)
    _SET_ARGS(restored, tuple(args))
    return restored


def _set_state(restored: BaseException, attributes: dict[str, Any]) -> None:
    """Put attributes back: what the builtin keeps through its own descriptors, everything else into `__dict__`."""
    builtins = [base for base in type(restored).__mro__ if is_builtin(base)]
    rest = {}
    for name, value in attributes.items():
        owner = next((base for base in builtins if name in base.__dict__), None)
        if owner is None or name == "__notes__":
            rest[name] = value
        elif name in _MEMBER_NAMES:
            owner.__dict__[name].__set__(restored, value)
        else:
            raise CorruptPayloadError(f"An exception keeps no state under the name {name!r}.")
    object.__setattr__(restored, "__dict__", rest)


def _chain(restored: BaseException, causes: list[Any], has_cause: bool, suppress: bool) -> None:
    inner: RecordedError | None = None
    for texts in reversed(causes):
        cause = RecordedError(*check_values(texts, 2))
        cause.__cause__ = inner
        inner = cause
    chain = _SET_CAUSE if has_cause else _SET_CONTEXT
    chain(restored, inner)
    _SET_SUPPRESS(restored, suppress)


_MEMBER_NAMES: Final = frozenset([name for _, names in _MEMBERS for name in names])
_SET_ARGS: Final = BaseException.__dict__["args"].__set__
_SET_CAUSE: Final = BaseException.__dict__["__cause__"].__set__
_SET_CONTEXT: Final = BaseException.__dict__["__context__"].__set__
_SET_SUPPRESS: Final = BaseException.__dict__["__suppress_context__"].__set__

RESTORERS[codes.HEAD_EXCEPTION] = _make_exception_restorer
