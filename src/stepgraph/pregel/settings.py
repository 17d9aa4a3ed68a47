"""Settings of a compiled graph that its plan follows: set on the graph later, they make the plan anew.

Rules of this file: it knows no graph's parts; how a plan is made is the graph's own matter (`make_plan`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from stepgraph.values.migrations import Migration


class PlanSettings(NamedTuple):
    """What a graph says beside its declaration.

    Attributes:
        cache: Where results of nodes with a cache policy are kept.
        retry_policy: For nodes that have none of their own.
        cache_policy: The same.
        step_timeout: Seconds that a node may take which has no limit of its own.
        output_channels: What a run returns; None for what the declaration says.
        stream_channels: What streams show; None for what the declaration says.
        unknown_target: What happens where a node or branch names no node: `error` or `warn`.
        executor: Runs the functions of nodes that name none.
        migrations: What became of nodes and fields since threads were stored.
    """

    cache: Any = None
    retry_policy: Any = ()
    cache_policy: Any = None
    step_timeout: float | None = None
    output_channels: Any = None
    stream_channels: Any = None
    unknown_target: str = "error"
    executor: Any = None
    migrations: tuple[Migration, ...] = ()


class Planned:
    """An attribute that the plan follows.

    Args:
        default: Its value where it was never set.
    """

    def __init__(self, default: Any = None) -> None:
        self.default = default
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, graph: Any, owner: type | None = None) -> Any:
        return self.default if graph is None else graph.__dict__.get(self.name, self.default)

    def __set__(self, graph: Any, value: Any) -> None:
        graph.__dict__[self.name] = value
        if "plan" in graph.__dict__:
            graph.plan = graph.make_plan()


def planned_names(graph_type: type) -> frozenset[str]:
    """The names of the attributes that the plan of such a graph follows."""
    return frozenset(
        name for kind in graph_type.__mro__ for name, value in vars(kind).items() if type(value) is Planned
    )
