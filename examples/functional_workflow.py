"""A workflow as a plain function: `@entrypoint` and `@task`.

A parcel is priced by several carriers at once, a person picks an offer, and the booking is made. The run pauses for the
person in the middle; when it goes on, the function runs again from its top, but the quotes that were fetched are answered
from what was stored, and nothing is fetched twice. The thread remembers the carriers it used.
"""

from __future__ import annotations

from typing import Any

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.func import entrypoint, task
from stepgraph.types import Command, RetryPolicy, interrupt

PRICES = {"Anchor": 12, "Bolt": 9, "Crane": 15}


class Shipping:
    """The workflow, and a list of what it did to the outside world."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.failures = {"Bolt": 1}

        @task(retry_policy=RetryPolicy(initial_interval=0.01, retry_on=ConnectionError))
        def quote(carrier: str, kilos: int) -> int:
            """Ask a carrier for a price; a lost connection is tried again."""
            if self.failures.get(carrier):
                self.failures[carrier] -= 1
                raise ConnectionError(f"{carrier} did not answer")
            self.done.append(f"quote {carrier}")
            return PRICES[carrier] * kilos

        @task
        async def book(carrier: str) -> str:
            """Book; an async task may be called from a plain function."""
            self.done.append(f"book {carrier}")
            return f"{carrier}-001"

        @entrypoint(checkpointer=InMemorySaver())
        def ship(kilos: int, *, previous: list[str] | None = None) -> Any:
            calls = {carrier: quote(carrier, kilos) for carrier in PRICES}
            offers = {carrier: call.result() for carrier, call in calls.items()}
            chosen = interrupt({"offers": offers, "used before": previous or []})
            ticket = book(chosen).result()
            return entrypoint.final(
                value={"ticket": ticket, "price": offers[chosen]}, save=[*(previous or []), chosen]
            )

        self.workflow = ship


def main() -> dict[str, Any]:
    shipping = Shipping()
    thread: Any = {"configurable": {"thread_id": "parcel-7"}}
    asked = shipping.workflow.invoke(2, thread)["__interrupt__"][0].value
    first = shipping.workflow.invoke(Command(resume="Bolt"), thread)
    again = shipping.workflow.invoke(3, thread)["__interrupt__"][0].value
    return {
        "asked": asked,
        "first": first,
        "done by then": sorted(shipping.done[:4]),
        "asked again": again["used before"],
    }


if __name__ == "__main__":
    for name, value in main().items():
        print(f"{name}: {value}")
