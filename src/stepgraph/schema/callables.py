"""What a node, path, reducer or handler asks of its caller.

Rules of this file: questions about one callable, answered from its signature; nothing is called. Types of ours and
of LangChain are recognised by name, so that asking about a node imports neither.

Theory: the first parameter that nothing binds is the state. Of the others, those named `config`, `runtime`,
`writer`, `store` or `previous`, or annotated with the matching type under another name, are filled by the engine. A
parameter that bears such a name but another type, and has a default, is the person's own and is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from types import FunctionType, UnionType
from typing import Any, Final, Literal, Union, get_args, get_origin

from stepgraph.schema.annotations import annotation_of, bare_type
from stepgraph.schema.kinds import is_schema_class
from stepgraph.schema.signatures import (
    ParameterKind,
    ParameterSpec,
    Signature,
    signature_of,
    underlying_function,
)

__all__ = [
    "command_targets",
    "describe_parameters",
    "injected_arguments",
    "injected_parameters",
    "input_schema_of",
    "literal_targets",
    "name_of",
    "positional_arity",
    "return_hint_of",
    "state_parameter_of",
    "takes_two_arguments",
]

InjectedKind = Literal["config", "runtime", "writer", "store", "previous", "error"]

_KIND_OF_TYPE: Final[dict[str, InjectedKind]] = {
    "RunnableConfig": "config",
    "Runtime": "runtime",
    "StreamWriter": "writer",
    "BaseStore": "store",
    "NodeError": "error",
}
_KIND_OF_NAME: Final[dict[str, InjectedKind]] = {
    "config": "config",
    "runtime": "runtime",
    "writer": "writer",
    "store": "store",
    "previous": "previous",
}
_TYPE_NAME: Final = r"\b(" + "|".join(_KIND_OF_TYPE) + r")\b"
_TRANSPARENT: Final = r"\b(Optional|Union|Annotated)\["
_TYPE_HOMES: Final = ("stepgraph", "langgraph", "langchain_core")
_WRITER_TYPE: Final = Callable[[Any], None]
_MARKS: Final = {ParameterKind.VARIABLE_POSITIONAL: "*", ParameterKind.VARIABLE_KEYWORD: "**"}


def state_parameter_of(action: Any) -> ParameterSpec | None:
    """The parameter that receives the state: the first one that nothing binds.

    Where a `partial` binds an earlier parameter by keyword, the state must be passed by this parameter's name; its
    position is taken. `None` when the callable takes no argument or does not tell.
    """
    signature = _signature(action)
    if signature is None:
        return None
    for parameter in signature.free():
        if parameter.is_positional or parameter.kind is ParameterKind.VARIABLE_POSITIONAL:
            return parameter
    return None


def input_schema_of(action: Any) -> Any | None:
    """The schema that a node asks for: its state parameter's annotation, if that is a schema class.

    Args:
        action: a function (sync or async), method, callable object or `partial`; decorated ones too.

    Returns:
        The class (or a generic one with arguments), or `None`: then the node gets the graph's state.
    """
    if type(action) is FunctionType and not action.__annotations__ and not hasattr(action, "__wrapped__"):
        return None
    if hasattr(action, "invoke"):
        return None
    parameter = state_parameter_of(action)
    if parameter is None or parameter.kind is ParameterKind.VARIABLE_POSITIONAL:
        return None
    hint = bare_type(parameter.resolved_annotation())
    return hint if is_schema_class(hint) else None


def injected_parameters(action: Any) -> dict[str, InjectedKind]:
    """Which of the engine's values a callable wants.

    Returns:
        Parameter name to `"config"`, `"runtime"`, `"writer"`, `"store"`, `"previous"` or `"error"` (an error
        handler's `NodeError`); never the state parameter, and never one that a `partial` binds.
    """
    if type(action) is FunctionType and _takes_one_argument(action):
        return {}
    signature = _signature(action)
    if signature is None:
        return {}
    state = state_parameter_of(action)
    found: dict[str, InjectedKind] = {}
    taken = None if state is None else state.name
    for parameter in signature.free():
        if parameter.name == taken or parameter.kind not in _BY_KEYWORD:
            continue
        kind = _injected_kind(parameter)
        if kind is not None:
            found[parameter.name] = kind
    return found


_BY_KEYWORD: Final = (ParameterKind.POSITIONAL_OR_KEYWORD, ParameterKind.KEYWORD_ONLY)


def injected_arguments(action: Any) -> dict[str, tuple[InjectedKind, int | None]]:
    """The same for a callable that is called with arguments of its own, not with a state: the first parameter counts too.

    Returns:
        Parameter name to what it wants, and its place among the positional parameters (`None`: it has none): an argument
        that the caller passes there wins.
    """
    signature = _signature(action)
    found: dict[str, tuple[InjectedKind, int | None]] = {}
    for place, parameter in enumerate(() if signature is None else signature.free()):
        kind = _injected_kind(parameter) if parameter.kind in _BY_KEYWORD else None
        if kind is not None:
            found[parameter.name] = (kind, place if parameter.is_positional else None)
    return found


def _takes_one_argument(function: FunctionType) -> bool:
    """The common node, told from its code alone: nothing but the state."""
    code = function.__code__
    return (
        code.co_argcount <= 1
        and not code.co_kwonlyargcount
        and not code.co_flags & _VARIABLE_ARGUMENTS
        and not hasattr(function, "__wrapped__")
    )


_VARIABLE_ARGUMENTS = 0x04 | 0x08
"""`CO_VARARGS` and `CO_VARKEYWORDS` of a code object's flags."""


def _injected_kind(parameter: ParameterSpec) -> InjectedKind | None:
    by_name = _KIND_OF_NAME.get(parameter.name)
    written = parameter.raw_annotation()
    if written is None:
        return by_name
    by_type = _kind_of_annotation(parameter, written)
    if by_type is not None:
        return by_type
    if by_name is None or not parameter.optional:
        return by_name
    return by_name if _may_hold(by_name, bare_type(parameter.resolved_annotation())) else None


def _kind_of_annotation(parameter: ParameterSpec, written: Any) -> InjectedKind | None:
    match = re.search(_TYPE_NAME, written) if isinstance(written, str) else None
    if match is not None and "[" not in re.sub(_TRANSPARENT, "", match.string[: match.start()]):
        return _KIND_OF_TYPE[match.group()]
    hint = bare_type(parameter.resolved_annotation())
    for option in _options(hint):
        if option == _WRITER_TYPE:
            return "writer"
        origin = get_origin(option) or option
        if isinstance(origin, type):
            for base in origin.__mro__:
                if base.__name__ in _KIND_OF_TYPE and base.__module__.split(".", 1)[0] in _TYPE_HOMES:
                    return _KIND_OF_TYPE[base.__name__]
            if origin.__name__ == "RunnableConfig":
                return "config"
    return None


def _may_hold(kind: InjectedKind, hint: Any) -> bool:
    """Can a parameter of this type be meant to receive the engine's value?"""
    options = _options(hint)
    if kind == "previous" or any(option is Any or option is object for option in options):
        return True
    origins = {get_origin(option) or option for option in options}
    if kind == "config":
        return any(isinstance(origin, type) and issubclass(dict, origin) for origin in origins)
    if kind == "writer":
        return any(getattr(origin, "__name__", "") == "Callable" for origin in origins)
    return False


def _options(hint: Any) -> tuple[Any, ...]:
    """The members of a union without `None`; the hint itself where it is no union."""
    if get_origin(hint) in (Union, UnionType):
        return tuple(bare_type(option) for option in get_args(hint) if option is not type(None))
    return (hint,)


def _signature(action: Any) -> Signature | None:
    return signature_of(action) if callable(action) else None


def return_hint_of(action: Any) -> Any:
    """The resolved return annotation of a callable, `None` where there is none."""
    function = underlying_function(action)
    return None if function is None else annotation_of(function, "return")


def literal_targets(hint: Any) -> tuple[str, ...] | None:
    """The names a path can return, from its return annotation.

    Understands `Literal[...]`, unions of them (`Send` and `None` beside them are fine), and lists, sequences, sets
    and tuples of them.

    Returns:
        The names in the order written, or `None` where the annotation does not list all of them.

    >>> literal_targets(Literal["search", "answer"])
    ('search', 'answer')
    """
    names: list[str] = []
    for option in _options(bare_type(hint)):
        origin = get_origin(option)
        if origin is Literal:
            found: tuple[Any, ...] | None = get_args(option)
        elif isinstance(origin, type) and not issubclass(origin, (str, dict)) and hasattr(origin, "__iter__"):
            members = [member for member in get_args(option) if member is not Ellipsis]
            found = _targets_of_all(members)
        elif getattr(option, "__name__", "") == "Send":
            found = ()
        else:
            return None
        if found is None:
            return None
        names.extend(str(getattr(name, "value", name)) for name in found if name is not None)
    return tuple(dict.fromkeys(names)) or None


def _targets_of_all(members: list[Any]) -> tuple[str, ...] | None:
    found: list[str] = []
    for member in members:
        names = literal_targets(member)
        if names is None:
            return None
        found.extend(names)
    return tuple(found) or None


def command_targets(hint: Any) -> tuple[str, ...]:
    """The names that a node's `Command[Literal[...]]` return annotation lets it go to; empty where there is none.

    A union's and a list's commands all count.
    """
    names: list[str] = []
    for option in _options(bare_type(hint)):
        origin = get_origin(option)
        if getattr(origin, "__name__", "") == "Command":
            names.extend(literal_targets(get_args(option)[0]) or ())
        elif origin in (list, tuple):
            names.extend(name for member in get_args(option) for name in command_targets(member))
    return tuple(dict.fromkeys(names))


def name_of(action: Any) -> str:
    """What a node is called when nobody names it.

    A function's own name, the inner function's for a `partial`, a graph's or runnable's for those, the class name
    for other callable objects.
    """
    while True:
        if callable(get_name := getattr(action, "get_name", None)) and not isinstance(action, type):
            return str(get_name())
        inner = getattr(action, "func", None)
        if inner is None or getattr(action, "keywords", None) is None:
            break
        action = inner
    if isinstance(name := getattr(action, "name", None), str) and name:
        return name
    return str(getattr(action, "__name__", None) or type(action).__name__)


def positional_arity(action: Callable[..., Any]) -> tuple[int, int | None] | None:
    """How many positional arguments a callable needs and how many it takes at most (`None`: any number).

    Returns:
        `None` where a builtin does not tell. A required keyword-only parameter makes the arity unreachable:
        `(1, 0)`.
    """
    signature = signature_of(action)
    if signature is None:
        return None
    least = 0
    most: int | None = 0
    for parameter in signature.free():
        if parameter.kind is ParameterKind.VARIABLE_POSITIONAL:
            most = None
        elif parameter.kind is ParameterKind.KEYWORD_ONLY and not parameter.optional:
            return 1, 0
        elif parameter.is_positional:
            least += not parameter.optional
            most = None if most is None else most + 1
    return least, most


def takes_two_arguments(action: Callable[..., Any]) -> bool:
    """Can it be called with two positional arguments? Builtins that do not tell are believed."""
    arity = positional_arity(action)
    if arity is None:
        return True
    least, most = arity
    return least <= 2 and (most is None or most >= 2)


def describe_parameters(action: Callable[..., Any]) -> str:
    """The parameters as a person writes them, for messages."""
    signature = signature_of(action)
    if signature is None:
        return "..."
    shown = []
    starred = False
    for parameter in signature.free():
        if parameter.kind is ParameterKind.KEYWORD_ONLY and not starred:
            shown.append("*")
        starred = starred or parameter.kind in (ParameterKind.VARIABLE_POSITIONAL, ParameterKind.KEYWORD_ONLY)
        shown.append(_shown_parameter(parameter))
    return ", ".join(shown)


def _shown_parameter(parameter: ParameterSpec) -> str:
    if parameter.kind in _MARKS:
        return _MARKS[parameter.kind] + parameter.name
    return f"{parameter.name}=..." if parameter.optional else parameter.name
