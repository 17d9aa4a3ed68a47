"""`langgraph._internal._config`: the dict form of a run's settings, as packages in the field ask for it and change it.

Rules of this file: every function answers a dict of its own; what it is given is never changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stepgraph.pregel import bridges
from stepgraph.pregel.config import merge_configs as united
from stepgraph.pregel.config import root_metadata
from stepgraph.pregel.opening import DEFAULT_LIMIT
from stepgraph.pregel.task import current_task

__all__ = ("ensure_config", "merge_configs", "patch_config", "patch_configurable")

Config = Mapping[str, Any]


def ensure_config(*configs: Config | None) -> dict[str, Any]:
    """A whole config: defaults, over them the config of the code around the call, over that what is given.

    Args:
        configs: Configs, later ones winning; a key of a later one replaces that of an earlier one as a whole.

    Example:
        >>> config = ensure_config({"configurable": {"thread_id": "a"}})
        >>> config["tags"], config["metadata"]
        ([], {'thread_id': 'a'})
    """
    whole: dict[str, Any] = {
        "tags": [],
        "metadata": {},
        "callbacks": None,
        "recursion_limit": DEFAULT_LIMIT,
        "configurable": {},
    }
    for config in (_around(), *configs):
        for key, value in (config or {}).items():
            if value is not None:
                whole[key] = value.copy() if type(value) in (dict, list) else value
    whole["metadata"] = root_metadata(whole)
    return whole


def _around() -> Config | None:
    bridge = bridges.active
    if bridge is not None:
        ambient: Config | None = bridge.variable.get()
        if ambient:
            return dict(ambient.items())
    task = current_task()
    return None if task is None else task.config


def merge_configs(*configs: Config | None) -> dict[str, Any]:
    """One config from several, later ones winning; tags are joined, metadata and `configurable` united."""
    merged = united(*configs)
    merged.setdefault("configurable", {})
    return merged


def patch_configurable(config: Config | None, patch: Mapping[str, Any]) -> dict[str, Any]:
    """The config with these entries of `configurable`, over those that it has.

    Example:
        >>> patch_configurable({"tags": ["x"]}, {"thread_id": "a"})
        {'tags': ['x'], 'configurable': {'thread_id': 'a'}}
    """
    known = dict(config or {})
    return {**known, "configurable": {**(known.get("configurable") or {}), **patch}}


def patch_config(
    config: Config | None,
    *,
    callbacks: Any = None,
    recursion_limit: int | None = None,
    max_concurrency: int | None = None,
    run_name: str | None = None,
    configurable: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The config with what is given, over what it has.

    Args:
        config: The config.
        callbacks: Handlers or a manager; a run's name and id go with the ones that are replaced.
        recursion_limit: How many supersteps the run may take, plus one.
        max_concurrency: How many tasks may run at once.
        run_name: The run's name in traces.
        configurable: Entries for `configurable`.
    """
    patched = dict(config or {})
    if callbacks is not None:
        patched["callbacks"] = callbacks
        patched.pop("run_name", None)
        patched.pop("run_id", None)
    given = {"recursion_limit": recursion_limit, "max_concurrency": max_concurrency, "run_name": run_name}
    patched.update({key: value for key, value in given.items() if value is not None})
    return patched if configurable is None else patch_configurable(patched, configurable)
