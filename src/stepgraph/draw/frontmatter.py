"""The head of a Mermaid text: its configuration as YAML.

Writes only; covers what a configuration holds (dicts, lists, texts, numbers, booleans, null), keys in order.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

PLAIN_SCALAR = re.compile(r"[A-Za-z_][\w./-]*( [\w./-]+)*")
MISREAD_SCALARS = {"true", "false", "null", "yes", "no", "on", "off"}


def frontmatter_text(config: Mapping[str, Any] | None, curve: str) -> str:
    """The configuration between ``---`` lines; ``config.flowchart.curve`` says how lines are bent."""
    top = dict(config or {})
    inner = dict(top.get("config") or {})
    inner["flowchart"] = {**(inner.get("flowchart") or {}), "curve": curve}
    top["config"] = inner
    return "\n".join(["---", *_mapping(top, ""), "---"])


def _mapping(values: Mapping[str, Any], indent: str) -> Iterator[str]:
    for key in sorted(values, key=str):
        yield from _entry(f"{indent}{_scalar(str(key))}:", values[key], indent, indent + "  ")


def _entry(head: str, value: Any, list_indent: str, mapping_indent: str) -> Iterator[str]:
    if isinstance(value, Mapping) and value:
        yield head
        yield from _mapping(value, mapping_indent)
    elif isinstance(value, (list, tuple)) and value:
        yield head
        for part in value:
            nested = isinstance(part, (Mapping, list, tuple))
            yield f"{list_indent}- {json.dumps(part) if nested else _scalar(part)}"
    else:
        yield f"{head} {_scalar(value)}"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        if PLAIN_SCALAR.fullmatch(value) and value.lower() not in MISREAD_SCALARS:
            return value
        if value.isprintable():
            return "'" + value.replace("'", "''") + "'"
    return json.dumps(value)
