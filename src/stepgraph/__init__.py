"""stepgraph: durable, stateful graphs of steps.

Rooms, in the order in which they may import each other:

    values, errors, constants    the values and names a person holds
    schema, channels, managed    annotations to field specs; one channel a file
    checkpoint                   the saver's protocol, the serializer, storing what is new; memory, SQLite, Postgres
    pregel                       running: plan, machine, ledger, restore, interrupts; drivers; programs; the face Pregel
    stream                       what a run tells while it runs, and the forms it is told in
    graph                        declaring: StateGraph, its rules, and lowering to a plan
    store, cache, func, prebuilt memory across threads; results of nodes; @entrypoint and @task; agents and tools
    draw, check                  insight: pictures; mistakes found before a run
    testing, observe             helpers for tests; traces in OpenTelemetry
    langchain, compat            bridges, imported only when the other side is there
    cli                          the command line

`types`, `config`, `runtime`, `constants`, `migrations`, `utils` and the like are public faces: nothing inside imports them.
How names are imported when they are first asked for: `lazy`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from stepgraph.lazy import names_from
from stepgraph.version import __version__

if TYPE_CHECKING:
    from stepgraph.graph import END, START, MessagesState, StateGraph, add_messages
    from stepgraph.types import Command, Interrupt, Overwrite, RetryPolicy, Send, interrupt

__all__ = (
    "END",
    "START",
    "Command",
    "Interrupt",
    "MessagesState",
    "Overwrite",
    "RetryPolicy",
    "Send",
    "StateGraph",
    "__version__",
    "add_messages",
    "interrupt",
)

_HOMES = {
    "END": "stepgraph.values.names",
    "START": "stepgraph.values.names",
    "StateGraph": "stepgraph.graph.state",
    "MessagesState": "stepgraph.graph.message",
    "add_messages": "stepgraph.graph.message",
    "Command": "stepgraph.values.commands",
    "Interrupt": "stepgraph.values.commands",
    "Overwrite": "stepgraph.values.commands",
    "Send": "stepgraph.values.commands",
    "RetryPolicy": "stepgraph.values.policies",
    "interrupt": "stepgraph.pregel.interrupts",
}

__getattr__ = names_from(globals(), _HOMES)
