"""The public face of what changes a config. Definitions live in `stepgraph.compat.internal` and `stepgraph.config`."""

from __future__ import annotations

from stepgraph.compat.internal.config import ensure_config, patch_configurable
from stepgraph.config import get_config, get_store

__all__ = ("ensure_config", "get_config", "get_store", "patch_configurable")
