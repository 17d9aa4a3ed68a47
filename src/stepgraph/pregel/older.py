"""Imported checkpoints of a form in which nodes told their followers by channels of their own that they had run.

Such a channel stays in the checkpoints that follow; what a node has seen since, it has seen under today's name.

Rules: pure; looked at only where a checkpoint says that it is of such a form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from stepgraph.checkpoint.base import Checkpoint
    from stepgraph.pregel.plan import NodePlan, Plan

FORM: Final = 4
"""The first form that has today's channels."""


def with_targets(plan: Plan, checkpoint: Checkpoint) -> Checkpoint:
    """The checkpoint with the triggers of the nodes that follow those which have run."""
    values = dict(checkpoint["channel_values"])
    versions = dict(checkpoint["channel_versions"])
    for name, node in plan.nodes.items():
        if values.get(name) != name or name in plan.fieldset:
            continue
        del values[name]
        version: Any = versions.pop(name, None)
        for target in node.targets:
            known = checkpoint["versions_seen"].get(target.name, {})
            seen = [known[channel] for channel in (name, target.trigger) if channel in known]
            if version is not None and all(version > earlier for earlier in seen):
                values[target.trigger] = None
                versions[target.trigger] = max(version, versions.get(target.trigger, version))
    return {**checkpoint, "channel_values": values, "channel_versions": versions}


def older_triggers(plan: Plan, node: NodePlan) -> list[str]:
    """The channels that made a node run in such a form: one from the start, and those of the nodes before it."""
    return [f"start:{node.name}", *(name for name, before in plan.nodes.items() if node in before.targets)]
