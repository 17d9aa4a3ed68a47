"""Warning categories.

The deprecation categories have the model's names, so that filters written for it keep working. Warnings of our own derive
from `StepgraphWarning`; one filter silences all of them.
"""

from __future__ import annotations

__all__ = (
    "GraphChangedWarning",
    "GraphCheckWarning",
    "HalfFilledJoinWarning",
    "LangGraphDeprecatedSinceV05",
    "LangGraphDeprecatedSinceV10",
    "LangGraphDeprecatedSinceV11",
    "LangGraphDeprecationWarning",
    "LostEditWarning",
    "StepgraphWarning",
    "UncollectedFailureWarning",
    "UnknownStateKeyWarning",
)


class LangGraphDeprecationWarning(DeprecationWarning):
    """Something is deprecated: since when, and when it will go.

    Args:
        message: What is deprecated and what to use instead.
        args: More arguments for the exception.
        since: The version that deprecated it.
        expected_removal: The version that is expected to remove it; by default the next major one.
    """

    message: str
    since: tuple[int, int]
    expected_removal: tuple[int, int]

    def __init__(
        self,
        message: str,
        *args: object,
        since: tuple[int, int],
        expected_removal: tuple[int, int] | None = None,
    ) -> None:
        super().__init__(message, *args)
        self.message = message.rstrip(".")
        self.since = since
        self.expected_removal = expected_removal or (since[0] + 1, 0)

    def __str__(self) -> str:
        return (
            f"{self.message}. Deprecated in LangGraph V{self.since[0]}.{self.since[1]}"
            f" to be removed in V{self.expected_removal[0]}.{self.expected_removal[1]}."
        )


class LangGraphDeprecatedSinceV05(LangGraphDeprecationWarning):
    """Deprecated since 0.5."""

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args, since=(0, 5), expected_removal=(2, 0))


class LangGraphDeprecatedSinceV10(LangGraphDeprecationWarning):
    """Deprecated since 1.0."""

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args, since=(1, 0), expected_removal=(2, 0))


class LangGraphDeprecatedSinceV11(LangGraphDeprecationWarning):
    """Deprecated since 1.1."""

    def __init__(self, message: str, *args: object) -> None:
        super().__init__(message, *args, since=(1, 1), expected_removal=(3, 0))


class StepgraphWarning(UserWarning):
    """Base of what the runtime warns about: something in a program is likely not what was meant."""


class GraphChangedWarning(StepgraphWarning):
    """A thread was stored by a graph that had a field which is gone now: its value stays stored, and is not seen."""


class GraphCheckWarning(StepgraphWarning):
    """A graph was compiled with `check=`, and the check found something that is likely not what was meant."""


class UnknownStateKeyWarning(StepgraphWarning):
    """A node, an input or an update named a key that no schema of the graph knows, so the value is lost."""


class LostEditWarning(StepgraphWarning):
    """A node changed a container of its input in place and did not return it, so the change is lost."""


class HalfFilledJoinWarning(StepgraphWarning):
    """A run ended while a waiting edge still waited for some of its sources."""


class UncollectedFailureWarning(StepgraphWarning):
    """A `@task` call failed, and the code that called it never looked at its future."""
