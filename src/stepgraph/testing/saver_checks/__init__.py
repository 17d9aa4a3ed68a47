"""What a saver must do, one small function a behaviour; its docstring is the requirement.

A check is a generator that yields calls of the saver's methods (see `trial`), so each is written once and run against the
synchronous and the asynchronous half. Rules: a check uses threads of its own and looks at nothing else, so it may run on
a database that holds other threads; it finds one kind of fault.
"""

from __future__ import annotations

from stepgraph.testing.saver_checks import heads, house, listing, putting, steps, writes
from stepgraph.testing.saver_checks.trial import Check

__all__ = ("CHECKS",)

CHECKS: tuple[Check, ...] = (
    *putting.CHECKS,
    *writes.CHECKS,
    *listing.CHECKS,
    *house.CHECKS,
    *heads.CHECKS,
    *steps.CHECKS,
)
"""All of them, in the order of the report."""
