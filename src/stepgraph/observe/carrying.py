"""A node's function on its way to another process, with the span that its own spans belong under.

Rules of this file: a worker process imports it, so it needs OpenTelemetry's API and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opentelemetry import context, propagate


class Carried:
    """Calls a function within the trace that its node belongs to; can be pickled if the function can."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self.function = function
        self.carrier: dict[str, str] = {}
        propagate.inject(self.carrier)

    def __call__(self, input: Any) -> Any:
        token = context.attach(propagate.extract(self.carrier))
        try:
            return self.function(input)
        finally:
            context.detach(token)

    def __repr__(self) -> str:
        return repr(self.function)
