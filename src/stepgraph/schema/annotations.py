"""Type hints of classes and callables, resolved.

Rules of this file: it evaluates annotations and takes them apart; it knows no channels and no reducers. Nothing
heavy is imported: `typing` does the evaluation, and other libraries are looked up in `sys.modules`, because a class
of theirs can only exist where they are loaded already.

Theory: an annotation may be a string (or hold one), so it is evaluated in the module of its owner. A class or
function made inside another function also sees that function's names, for which the caller's frames are searched.
A name that stays unknown (most often imported under `TYPE_CHECKING`) becomes `Any`, so that one such name does not
refuse a whole schema; only where a reducer or channel would be lost is it an error.
"""

from __future__ import annotations

import builtins
import sys
from types import CodeType, FrameType
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    ForwardRef,
    Generic,
    Literal,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

__all__ = ["annotation_of", "bare_type", "class_hints", "metadata_of", "strip_wrappers", "substitute"]

UNKNOWN = TypeVar("UNKNOWN")
_WRAPPERS: Final = ("Required", "NotRequired", "ReadOnly", "Final")
_BASES_OF_LIBRARIES: Final = ("typing", "typing_extensions", "pydantic.main")
"""Modules whose classes are only bases. A person's class may name one too: one that `type(...)` makes of a TypedDict does."""
_MOST_UNKNOWN_NAMES: Final = 50


def strip_wrappers(hint: Any) -> Any:
    """Drop `Required`, `NotRequired`, `ReadOnly` and `Final`, also from between and inside `Annotated`.

    >>> from typing import Annotated, NotRequired
    >>> strip_wrappers(NotRequired[int])
    <class 'int'>
    """
    origin = get_origin(hint)
    if getattr(origin, "_name", None) in _WRAPPERS:
        return strip_wrappers(get_args(hint)[0])
    if origin is Annotated:
        inner = strip_wrappers(hint.__origin__)
        return hint if inner is hint.__origin__ else Annotated[(inner, *hint.__metadata__)]
    return hint


def bare_type(hint: Any) -> Any:
    """The type below `Annotated` and the wrappers."""
    hint = strip_wrappers(hint)
    return hint.__origin__ if get_origin(hint) is Annotated else hint


def metadata_of(hint: Any) -> tuple[Any, ...]:
    """The metadata of an `Annotated` hint; empty for any other."""
    return tuple(hint.__metadata__) if get_origin(hint) is Annotated else ()


def substitute(hint: Any, values: dict[Any, Any]) -> Any:
    """Replace type variables by what `values` says; those it does not name stay as they are."""
    if isinstance(hint, TypeVar):
        return values.get(hint, hint)
    parameters = getattr(hint, "__parameters__", ())
    if not isinstance(parameters, tuple) or not parameters or get_origin(hint) is None:
        return hint
    return hint[tuple(values.get(parameter, parameter) for parameter in parameters)]


def own_annotations(owner: Any) -> dict[str, Any]:
    """The annotations written in the body of a class (or of a function), unevaluated where they are strings."""
    if sys.version_info >= (3, 14):
        from annotationlib import Format, get_annotations

        return dict(get_annotations(owner, format=Format.FORWARDREF))
    found = vars(owner).get("__annotations__") if isinstance(owner, type) else None
    if found is None and not isinstance(owner, type):
        found = getattr(owner, "__annotations__", None)
    return dict(found) if isinstance(found, dict) else {}


def enclosing_locals(qualname: str) -> dict[str, Any]:
    """The names of the functions that are running around a definition of this qualified name.

    The caller's frames are compared with the part before each `.<locals>.`, so only functions that really enclose
    the definition are looked at.
    """
    parts = qualname.split(".<locals>.")[:-1]
    if not parts:
        return {}
    wanted = [".<locals>.".join(parts[: count + 1]) for count in range(len(parts))]
    found: dict[str, dict[str, Any]] = {}
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < len(wanted):
        name = frame.f_code.co_qualname
        if name in wanted and name not in found:
            found[name] = dict(frame.f_locals)
        frame = frame.f_back
    merged: dict[str, Any] = {}
    for name in wanted:
        merged.update(found.get(name, {}))
    return merged


def _is_resolved(annotation: Any) -> bool:
    """Does an annotation hold no string that has to be evaluated?"""
    if isinstance(annotation, type):
        return True
    if annotation is None or isinstance(annotation, (str, ForwardRef)):
        return False
    origin = get_origin(annotation)
    if origin is Literal:
        return True
    if origin is Annotated:
        return _is_resolved(annotation.__origin__)
    if isinstance(annotation, list):  # the parameters of a Callable
        return all(map(_is_resolved, annotation))
    return all(map(_is_resolved, get_args(annotation)))


def evaluate(annotation: Any, global_names: dict[str, Any], local_names: dict[str, Any], where: str) -> Any:
    """Evaluate one annotation and the forward references inside it.

    Args:
        annotation: a type, a string, or a type that holds strings.
        global_names: names of the owner's module.
        local_names: names that go before them.
        where: what is being resolved, for messages.

    Raises:
        NameError: when the unknown name may be a reducer or a channel, so that `Any` would lose it.
    """
    if _is_resolved(annotation):
        return annotation
    named = _class_of_name(annotation, global_names, local_names)
    if named is not None:
        return named
    holder = type("Holder", (), {"__annotations__": {"hint": annotation}})
    names = dict(local_names)
    unknown: list[str] = []
    while True:
        try:
            hint = get_type_hints(holder, global_names, names, include_extras=True)["hint"]
            break
        except NameError as error:
            name = error.name
            if not name or name in names or len(unknown) >= _MOST_UNKNOWN_NAMES:
                raise
            unknown.append(name)
            names[name] = UNKNOWN
        except (AttributeError, TypeError) as error:
            if not (unknown or isinstance(error, AttributeError)) or "Annotated" in str(annotation):
                error.add_note(f"while resolving the annotation {annotation!r} of {where}")
                raise
            return Any
    if not unknown:
        return hint
    if any(entry is UNKNOWN for entry in metadata_of(strip_wrappers(hint))):
        raise NameError(
            f"The annotation {annotation!r} of {where} names {', '.join(map(repr, unknown))}, which cannot be found: "
            "a reducer or channel must be importable where the class is defined (not only under TYPE_CHECKING)."
        )
    return substitute(hint, {UNKNOWN: Any})


def _class_of_name(annotation: Any, global_names: dict[str, Any], local_names: dict[str, Any]) -> type | None:
    """The class that an annotation names, where it is no more than a name: by far the most common text."""
    if type(annotation) is not str or not annotation.isidentifier():
        return None
    if annotation == "None":
        return type(None)
    for names in (local_names, global_names, vars(builtins)):
        if annotation in names:
            found = names[annotation]
            return found if isinstance(found, type) else None
    return None


def module_names(module: str | None) -> dict[str, Any]:
    """The globals of a loaded module; empty when it is not loaded."""
    loaded = sys.modules.get(module or "")
    return loaded.__dict__ if loaded is not None else {}


def _hints_in_body(cls: type) -> dict[str, Any]:
    global_names = module_names(cls.__module__)
    local_names: dict[str, Any] | None = None
    hints: dict[str, Any] = {}
    for name, annotation in own_annotations(cls).items():
        if isinstance(annotation, type):
            hints[name] = annotation
            continue
        if local_names is None:
            fallback = {key: value for key, value in vars(cls).items() if key not in global_names}
            local_names = {**fallback, **enclosing_locals(cls.__qualname__)}
            local_names.setdefault(cls.__name__, cls)
            for parameter in getattr(cls, "__type_params__", ()):
                local_names.setdefault(parameter.__name__, parameter)
        hints[name] = evaluate(annotation, global_names, local_names, f"field {name!r} of {cls.__qualname__}")
    return hints


def _arguments_of_bases(cls: type) -> dict[type, dict[Any, Any]]:
    """For every generic ancestor that was subclassed with arguments: its type variables and their values."""
    found: dict[type, dict[Any, Any]] = {}
    waiting: list[tuple[type, dict[Any, Any]]] = [(cls, {})]
    while waiting:
        owner, values = waiting.pop()
        found.setdefault(owner, values)
        for base in vars(owner).get("__orig_bases__", owner.__bases__):
            origin = get_origin(base) or base
            if not isinstance(origin, type) or origin in (Generic, object):
                continue
            parameters = getattr(origin, "__parameters__", ())
            arguments = [substitute(argument, values) for argument in get_args(base)]
            waiting.append((origin, dict(zip(parameters, arguments))))
    return found


def class_hints(schema: Any) -> dict[str, Any]:
    """All annotated fields of a class, inherited ones first, resolved and with `Annotated` kept.

    Args:
        schema: a class, or a generic one with its arguments (`Box[int]`).

    Returns:
        Name to hint, without class variables; wrappers such as `NotRequired` are stripped.
    """
    cls = get_origin(schema) or schema
    arguments = dict(zip(getattr(cls, "__parameters__", ()), get_args(schema)))
    known = _arguments_of_bases(cls)
    hints: dict[str, Any] = {}
    for owner in reversed(cls.__mro__):
        if owner is not cls and (owner is object or owner.__module__ in _BASES_OF_LIBRARIES):
            continue
        for name, hint in _hints_in_body(owner).items():
            if get_origin(hint) is ClassVar or hint is ClassVar:
                hints.pop(name, None)
                continue
            hints[name] = substitute(substitute(strip_wrappers(hint), known.get(owner, {})), arguments)
    if issubclass(cls, dict):
        hints.update(_hints_of_typed_dict_bases(cls, arguments))
    return hints


def _hints_of_typed_dict_bases(cls: type, arguments: dict[Any, Any]) -> dict[str, Any]:
    """A TypedDict forgets its bases and copies their fields; the arguments of generic bases are found here."""
    hints: dict[str, Any] = {}
    own = own_annotations(cls)
    for base in vars(cls).get("__orig_bases__", ()):
        origin = get_origin(base)
        if not isinstance(origin, type) or not issubclass(origin, dict):
            continue
        theirs = own_annotations(origin)
        for name, hint in class_hints(base).items():
            if own.get(name) is theirs.get(name):
                hints[name] = substitute(hint, arguments)
    return hints


def _closure_names(function: Any) -> dict[str, Any]:
    code: CodeType = function.__code__
    names: dict[str, Any] = {}
    for name, cell in zip(code.co_freevars, function.__closure__ or ()):
        try:
            names[name] = cell.cell_contents
        except ValueError:  # the cell of a name that is not bound yet
            continue
    return names


def annotation_of(function: Any, parameter: str) -> Any:
    """The resolved annotation of one parameter of a plain function (`"return"` for its result).

    Returns:
        The hint, or `None` where nothing is annotated.
    """
    annotation = own_annotations(function).get(parameter)
    if annotation is None:
        return None
    if isinstance(annotation, type):
        return annotation
    names = {**enclosing_locals(function.__qualname__), **_closure_names(function)}
    for type_parameter in getattr(function, "__type_params__", ()):
        names.setdefault(type_parameter.__name__, type_parameter)
    where = f"{parameter!r} of {function.__qualname__}"
    return evaluate(annotation, function.__globals__, names, where)
