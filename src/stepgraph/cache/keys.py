"""Namespaces and keys of cached values: their types, and their form as text.

Rules of this file: pure functions of text. Different namespaces have different texts, and no text starts another's.
"""

from __future__ import annotations

from hashlib import blake2b

Namespace = tuple[str, ...]
"""Where a value belongs, such as a node of a graph."""

FullKey = tuple[Namespace, str]
"""Namespace and key of a value."""

EMPTY_LABEL = "%"


def full_key(namespace: Namespace, key: str | bytes) -> FullKey:
    """The full key for what a key function returned, which may be long or bytes.

    >>> full_key(("graph", "node"), b"some bytes")
    (('graph', 'node'), '4d343ad91e2ecbfd6e0e1b9a779b3090')
    """
    content = b"b" + key if isinstance(key, bytes) else b"s" + key.encode("utf-8", "surrogatepass")
    return namespace, blake2b(content, digest_size=16).hexdigest()


def namespace_text(namespace: Namespace) -> str:
    """The namespace as text: labels with `/` between them.

    >>> namespace_text(("graph", "a/b"))
    'graph/a%2Fb'
    """
    return "/".join(_label_text(label) for label in namespace)


def _label_text(label: str) -> str:
    if not label:
        return EMPTY_LABEL
    return label.replace("%", "%25").replace("/", "%2F").replace(":", "%3A")
