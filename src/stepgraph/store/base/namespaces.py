"""Namespaces: which are allowed, how they are written as text, and which of them a listing selects.

Rules of this file: pure functions of tuples of labels. As no label holds a period, `"a.b"` is an unambiguous text for
`("a", "b")`; the empty namespace is the empty text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from stepgraph.store.base.ops import GetOp, ListNamespacesOp, MatchCondition, Op, PutOp, SearchOp

Namespace = tuple[str, ...]

RESERVED_ROOT = "langgraph"
"""No person's namespace starts with this label: it is kept for the system, also in stores that others share."""


class InvalidNamespaceError(ValueError):
    """A namespace breaks the rules: it is empty, or a label is empty, no text, or holds a period or a NUL byte."""


def as_namespace(namespace: Iterable[str]) -> Namespace:
    """The namespace as a tuple.

    Raises:
        InvalidNamespaceError: If a text was given: its letters would become labels.
    """
    if isinstance(namespace, str):
        raise InvalidNamespaceError(
            f"A namespace is a tuple of labels, but got the text {namespace!r}. Write ({namespace!r},)."
        )
    return tuple(namespace)


def validate_namespace(namespace: Namespace) -> None:
    """Check a namespace that is about to be written to.

    Raises:
        InvalidNamespaceError: If the namespace is empty, holds a bad label, or starts with a reserved one.
    """
    if not namespace:
        raise InvalidNamespaceError("Namespace cannot be empty.")
    validate_labels(namespace)
    if namespace[0] == RESERVED_ROOT:
        raise InvalidNamespaceError(
            f'Root label for namespace cannot be "{RESERVED_ROOT}". Got: {namespace}. Choose another first label.'
        )


def validate_labels(namespace: Namespace) -> None:
    """Check the labels of a namespace, of a prefix or of a match condition.

    Raises:
        InvalidNamespaceError: If a label is empty, not a text, or holds a period or a NUL byte.
    """
    for label in namespace:
        if not isinstance(label, str):
            raise InvalidNamespaceError(
                f"Invalid namespace label '{label}' found in {namespace}. Namespace labels must be strings,"
                f" but got {type(label).__name__}."
            )
        if not label:
            raise InvalidNamespaceError(
                f"Namespace labels cannot be empty strings. Got {label} in {namespace}"
            )
        if "." in label:
            raise InvalidNamespaceError(
                f"Invalid namespace label '{label}' found in {namespace}."
                " Namespace labels cannot contain periods ('.')."
            )
        if "\x00" in label:
            raise InvalidNamespaceError(
                f"Invalid namespace label {label!r} found in {namespace}."
                " Namespace labels cannot contain NUL bytes ('\\x00')."
            )


def validate_op_namespace(op: Op) -> None:
    """Check the labels that an operation carries.

    Raises:
        InvalidNamespaceError: As `validate_labels`.
    """
    if isinstance(op, (GetOp, PutOp)):
        validate_labels(as_namespace(op.namespace))
    elif isinstance(op, SearchOp):
        validate_labels(as_namespace(op.namespace_prefix))
    elif isinstance(op, ListNamespacesOp):
        for condition in op.match_conditions or ():
            validate_labels(as_namespace(condition.path))


def to_text(namespace: Namespace) -> str:
    """The namespace as text.

    >>> to_text(("users", "7"))
    'users.7'
    """
    return ".".join(namespace)


def from_text(text: str) -> Namespace:
    """The namespace that a text stands for.

    >>> from_text("users.7")
    ('users', '7')
    >>> from_text("")
    ()
    """
    return tuple(text.split(".")) if text else ()


def sort_key(text: str) -> str:
    """What to sort the texts of namespaces by, so that they stand as the namespaces would.

    >>> sorted(["a-b", "a.b", "a"], key=sort_key)
    ['a', 'a.b', 'a-b']
    """
    return text.replace(".", "\0")


def matches(namespace: Namespace, conditions: Iterable[MatchCondition]) -> bool:
    """Whether a namespace fulfils all conditions.

    >>> matches(("users", "7", "notes"), [MatchCondition("prefix", ("users", "*")), MatchCondition("suffix", ("notes",))])
    True
    """
    for kind, path in conditions:
        if len(path) > len(namespace):
            return False
        labels = namespace if kind == "prefix" else namespace[len(namespace) - len(path) :]
        if any(wanted not in ("*", label) for wanted, label in zip(path, labels)):
            return False
    return True


def literal_prefix(conditions: Iterable[MatchCondition]) -> Namespace:
    """The longest run of first labels that the conditions fix: a store may look below it only."""
    longest: Namespace = ()
    for kind, path in conditions:
        if kind == "prefix":
            fixed = tuple(path[: path.index("*")] if "*" in path else path)
            longest = max(longest, fixed, key=len)
    return longest


def select(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> list[Namespace]:
    """The namespaces that a listing returns: filtered, cut, without repetition, one page of them.

    Args:
        namespaces: All that may be meant, sorted; no more of them are taken than needed.
        op: The listing.
    """
    return list(islice(_distinct(namespaces, op), op.offset, op.offset + op.limit))


def _distinct(namespaces: Iterable[Namespace], op: ListNamespacesOp) -> Iterator[Namespace]:
    conditions = op.match_conditions or ()
    last: Namespace | None = None
    for namespace in namespaces:
        if not conditions or matches(namespace, conditions):
            cut = namespace[: op.max_depth]
            if cut != last:
                yield cut
                last = cut


def conditions_of(prefix: Any, suffix: Any) -> tuple[MatchCondition, ...]:
    """The match conditions for the `prefix` and `suffix` arguments of `list_namespaces`."""
    conditions = []
    if prefix:
        conditions.append(MatchCondition("prefix", as_namespace(prefix)))
    if suffix:
        conditions.append(MatchCondition("suffix", as_namespace(suffix)))
    return tuple(conditions)
