"""Reads the JSON that old versions of LangGraph's serializer wrote.

Objects are envelopes `{"lc": 1 or 2, "type": "constructor", "id": [module..., class], "args": ..., "kwargs": ...}`. They
are restored by the same tables and rules as the old msgpack (`legacy.py`); an envelope that may not be restored stays
the dict that it is.
"""

from __future__ import annotations

import json
from typing import Any

from stepgraph.checkpoint.serde.legacy import construct
from stepgraph.checkpoint.serde.policy import Policy


def load_json(policy: Policy, data: bytes | str) -> Any:
    """The value of a JSON text with envelopes.

    Raises:
        ValueError: It is no JSON.
    """

    def revive(found: dict[str, Any]) -> Any:
        return _revive(policy, found)

    return json.loads(data, object_hook=revive)


def _revive(policy: Policy, found: dict[str, Any]) -> Any:
    if found.get("lc") not in (1, 2) or found.get("type") != "constructor":
        return found
    path = found.get("id")
    if not isinstance(path, list) or len(path) < 2 or not all(isinstance(part, str) for part in path):
        return found
    args, fields = found.get("args") or [], found.get("kwargs") or {}
    if not isinstance(args, list) or not isinstance(fields, dict):
        return found
    methods = found.get("method")
    for method in methods if isinstance(methods, list) else [methods]:
        if method in (None, "construct"):
            break
    else:
        method = methods[0] if isinstance(methods, list) and methods else methods
    return construct(policy, ".".join(path[:-1]), path[-1], args, fields, method, found)
