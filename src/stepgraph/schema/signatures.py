"""Parameters of any callable, read without `inspect` where the callable is made of plain functions.

Rules of this file: it knows callables and nothing of graphs. `inspect` is imported only for callables that have no
Python code of their own (builtins, extension types) or that carry a `__signature__`, because importing it costs more
than the whole core of this package.

Theory: a callable is unwrapped to the plain function that runs (through `partial`, bound methods, `__call__`,
decorators) while counting what is already bound on the way. A decorator that takes `*args` or `**kwargs` shows the
signature of what it wraps; one with a signature of its own shows that, with the wrapped function's annotations.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, MethodDescriptorType, MethodType, WrapperDescriptorType
from typing import Any, Final

from stepgraph.schema.annotations import annotation_of, own_annotations

__all__ = ["ParameterKind", "ParameterSpec", "Signature", "signature_of", "underlying_function"]

_HAS_VARIABLE_POSITIONAL: Final = 0x04
_HAS_VARIABLE_KEYWORD: Final = 0x08
_SIMPLE_SIGNATURE: Final = r"\((\$?\w+(=[\w.+-]+)?|/|, ?)*\)"


class ParameterKind(Enum):
    """How an argument reaches a parameter."""

    POSITIONAL_ONLY = 0
    POSITIONAL_OR_KEYWORD = 1
    VARIABLE_POSITIONAL = 2
    KEYWORD_ONLY = 3
    VARIABLE_KEYWORD = 4


class ParameterSpec:
    """One parameter that is not bound yet.

    Attributes:
        name: its name.
        kind: how an argument reaches it.
        optional: it has a default.
        owner: the plain function whose annotations tell its type, or `None`.
        owner_name: the name it has there.
        annotation: its annotation as `inspect` tells it, where there is no such function.
    """

    __slots__ = ("annotation", "kind", "name", "optional", "owner", "owner_name")

    def __init__(
        self,
        name: str,
        kind: ParameterKind,
        optional: bool,
        owner: FunctionType | None,
        owner_name: str,
        annotation: Any = None,
    ) -> None:
        self.name = name
        self.kind = kind
        self.optional = optional
        self.owner = owner
        self.owner_name = owner_name
        self.annotation = annotation

    def owned_by(self, owner: FunctionType, owner_name: str) -> ParameterSpec:
        """The same parameter, whose type another function's annotations tell."""
        return ParameterSpec(self.name, self.kind, self.optional, owner, owner_name, self.annotation)

    @property
    def is_positional(self) -> bool:
        """Can it be passed by position (variable ones apart)?"""
        return self.kind in (ParameterKind.POSITIONAL_ONLY, ParameterKind.POSITIONAL_OR_KEYWORD)

    def raw_annotation(self) -> Any:
        """The annotation as it is written; a string under `from __future__ import annotations`."""
        if self.owner is None:
            return self.annotation
        return own_annotations(self.owner).get(self.owner_name)

    def resolved_annotation(self) -> Any:
        """The evaluated annotation, `None` where there is none."""
        if self.owner is None:
            return self.annotation
        return annotation_of(self.owner, self.owner_name)


class Signature:
    """The parameters of a callable that its caller still has to fill.

    Attributes:
        parameters: in order, those bound by position left out.
        bound: names that a `partial` binds by keyword; they stay in `parameters` but must not be passed.
    """

    __slots__ = ("bound", "parameters")

    def __init__(self, parameters: tuple[ParameterSpec, ...], bound: frozenset[str]) -> None:
        self.parameters = parameters
        self.bound = bound

    def free(self) -> list[ParameterSpec]:
        """The parameters that nothing binds."""
        return [parameter for parameter in self.parameters if parameter.name not in self.bound]


def underlying_function(action: Any) -> FunctionType | None:
    """The plain function that a callable runs in the end, or `None` where there is none in Python."""
    function, _, _ = _unwrap(action)
    return _innermost(function) if isinstance(function, FunctionType) else None


def signature_of(action: Callable[..., Any]) -> Signature | None:
    """The signature of a callable, or `None` where a builtin does not tell it."""
    function, positional, bound = _unwrap(action)
    if not isinstance(function, FunctionType) or "__signature__" in vars(function):
        return _inspected(function, positional, bound)
    parameters = _parameters_of(function)
    wrapped = function
    while _passes_on(wrapped) and "__wrapped__" in vars(wrapped):
        inner, skipped, names = _unwrap(vars(wrapped)["__wrapped__"])
        if not isinstance(inner, FunctionType):
            break
        wrapped, bound = inner, bound | names
        parameters = _parameters_of(inner)[skipped:]
    innermost = _innermost(wrapped)
    if innermost is not wrapped:
        parameters = _annotated_from(parameters, wrapped, innermost)
    return Signature(tuple(_after(parameters, positional)), frozenset(bound))


def _unwrap(action: Any) -> tuple[Any, int, frozenset[str]]:
    """Down to a plain function: what is bound by position (how many) and by keyword (which) on the way."""
    positional = 0
    bound: frozenset[str] = frozenset()
    while not isinstance(action, FunctionType):
        if isinstance(action, partial):
            positional += len(action.args)
            bound |= frozenset(action.keywords)
            action = action.func
        elif isinstance(action, MethodType):
            positional += 1
            action = action.__func__
        elif isinstance(action, (staticmethod, classmethod)) or "__wrapped__" in getattr(
            action, "__dict__", ()
        ):
            action = action.__wrapped__
        elif not isinstance(action, type) and isinstance(
            call := _class_attribute(action, "__call__"), FunctionType
        ):
            positional += 1
            action = call
        else:
            break
    return action, positional, bound


def _class_attribute(value: Any, name: str) -> Any:
    return getattr(type(value), name, None)


def _passes_on(function: FunctionType) -> bool:
    return bool(function.__code__.co_flags & (_HAS_VARIABLE_POSITIONAL | _HAS_VARIABLE_KEYWORD))


def _innermost(function: FunctionType) -> FunctionType:
    seen: set[int] = set()
    while id(function) not in seen:
        seen.add(id(function))
        inner = vars(function).get("__wrapped__")
        if not isinstance(inner, FunctionType):
            return function
        function = inner
    return function


def _parameters_of(function: FunctionType) -> list[ParameterSpec]:
    code = function.__code__
    names = code.co_varnames
    positional_count = code.co_argcount
    first_optional = positional_count - len(function.__defaults__ or ())
    found = [
        ParameterSpec(
            name,
            ParameterKind.POSITIONAL_ONLY
            if index < code.co_posonlyargcount
            else ParameterKind.POSITIONAL_OR_KEYWORD,
            index >= first_optional,
            function,
            name,
        )
        for index, name in enumerate(names[:positional_count])
    ]
    after_keywords = positional_count + code.co_kwonlyargcount
    if code.co_flags & _HAS_VARIABLE_POSITIONAL:
        name = names[after_keywords]
        found.append(ParameterSpec(name, ParameterKind.VARIABLE_POSITIONAL, True, function, name))
    defaults = function.__kwdefaults__ or {}
    for name in names[positional_count:after_keywords]:
        found.append(ParameterSpec(name, ParameterKind.KEYWORD_ONLY, name in defaults, function, name))
    if code.co_flags & _HAS_VARIABLE_KEYWORD:
        name = names[after_keywords + bool(code.co_flags & _HAS_VARIABLE_POSITIONAL)]
        found.append(ParameterSpec(name, ParameterKind.VARIABLE_KEYWORD, True, function, name))
    return found


def _annotated_from(
    parameters: list[ParameterSpec], outer: FunctionType, inner: FunctionType
) -> list[ParameterSpec]:
    """A decorator's own parameters, with the types that the function inside gives them by name or position."""
    theirs = _parameters_of(inner)
    by_name = {parameter.name: parameter for parameter in theirs}
    copied = own_annotations(outer) == own_annotations(inner)
    found: list[ParameterSpec] = []
    for index, parameter in enumerate(parameters):
        source = by_name.get(parameter.name)
        if source is None and parameter.is_positional and index < len(theirs):
            source = theirs[index]
        annotated = not copied and parameter.name in own_annotations(outer)
        keep = annotated or source is None
        found.append(parameter if keep or source is None else parameter.owned_by(inner, source.name))
    return found


def _after(parameters: list[ParameterSpec], positional: int) -> list[ParameterSpec]:
    """What is left when the first few arguments are given by position."""
    left = list(parameters)
    for _ in range(positional):
        if not left or not left[0].is_positional:
            break
        left.pop(0)
    return left


def _builtin_parameters(action: Any) -> list[ParameterSpec] | None:
    """The parameters of a builtin from its text signature, `None` where that is missing or not simple.

    `operator.add` and its like are the most common reducers, and should not cost the import of `inspect`.
    """
    if not isinstance(action, (BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType)):
        return None
    text = getattr(action, "__text_signature__", None)
    if not text or not re.fullmatch(_SIMPLE_SIGNATURE, text):
        return None
    names = [name.strip() for name in text[1:-1].split(",") if name.strip()]
    positional_only = names.index("/") if "/" in names else 0
    found: list[ParameterSpec] = []
    for index, written in enumerate(names):
        name = written.partition("=")[0]
        is_bound = name.startswith("$") and isinstance(action, BuiltinFunctionType)
        if name == "/" or is_bound:
            continue
        kind = (
            ParameterKind.POSITIONAL_ONLY if index < positional_only else ParameterKind.POSITIONAL_OR_KEYWORD
        )
        found.append(ParameterSpec(name.lstrip("$"), kind, "=" in written, None, name.lstrip("$")))
    return found


def _inspected(action: Any, positional: int, bound: frozenset[str]) -> Signature | None:
    known = _builtin_parameters(action)
    if known is not None:
        return Signature(tuple(_after(known, positional)), bound)
    import inspect

    try:
        parameters = inspect.signature(action).parameters.values()
    except (ValueError, TypeError):
        return None
    found = [
        ParameterSpec(
            parameter.name,
            ParameterKind(int(parameter.kind)),
            parameter.default is not parameter.empty,
            None,
            parameter.name,
            None if parameter.annotation is parameter.empty else parameter.annotation,
        )
        for parameter in parameters
    ]
    return Signature(tuple(_after(found, positional)), bound)
