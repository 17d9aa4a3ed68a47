"""Stopping what runs below a level, because it failed or was cancelled: threads are told, coroutines are cancelled.

Rules of this file: nothing waits here; whoever stops a level waits for its tasks afterwards.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from stepgraph.pregel.machine import Machine


def request_stop(machine: Machine) -> None:
    """Start nothing more below this level, and cancel coroutines that its synchronous nodes wait for."""
    machine.stop_requested = True
    calls = sys.modules.get("stepgraph.pregel.drivers.calls")
    if calls is not None:
        calls.drop_calls(machine)
    host = machine.scope.root.loop_host
    if host is not None:
        host.cancel_stopped()
