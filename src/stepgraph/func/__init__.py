"""The functional API: workflows as plain functions, with `@entrypoint` and `@task`."""

from __future__ import annotations

from stepgraph.func.entrypoints import entrypoint
from stepgraph.func.tasks import TaskFunction as _TaskFunction  # noqa: F401 (programs name it in annotations)
from stepgraph.func.tasks import task

__all__ = ("entrypoint", "task")
