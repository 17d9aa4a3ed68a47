"""How a resumed run finds the trace of the run that paused: each checkpoint says which span stored it.

What is stored is the W3C form, `00-<trace id>-<span id>-<flags>`, in the checkpoint's metadata under a key that no view of
a thread shows. It is read without trust: anything that is no such text is as good as none.

Rules of this file: text to link and back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from opentelemetry.trace import Link, SpanContext, TraceFlags

from stepgraph.values.names import METADATA_KEY_TRACE

_FORM = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")


def text_of(context: SpanContext) -> str | None:
    """A span as text; None if it is not one that anybody could find."""
    if not context.is_valid:
        return None
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{int(context.trace_flags):02x}"


def link_to(metadata: Mapping[str, Any] | None) -> Link | None:
    """A link to the run that stored a checkpoint with this metadata, if that run was traced."""
    stored = (metadata or {}).get(METADATA_KEY_TRACE)
    found = _FORM.fullmatch(stored) if isinstance(stored, str) else None
    if found is None:
        return None
    trace_id, span_id, flags = (int(part, 16) for part in found.groups())
    context = SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(flags))
    return Link(context, {"stepgraph.link": "resumes"}) if context.is_valid else None
