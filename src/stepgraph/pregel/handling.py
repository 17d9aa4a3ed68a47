"""Handing a node's failure to its error handler, within the superstep in which it failed.

Theory of operation. After the last attempt the failure is stored as pending writes of the failed task: the exception and
a mark that a handler takes over. Then the handler runs as a task of its own, with an id made of the failed task's, so a
resume finds it again: a crash between failure and handling resumes with the handler and the stored failure, and neither
the node nor its `retry_on` is asked again. What the handler writes takes the failed task's place in the commit; the failed
node's own edges do not fire.

    stored of the failed task   stored of the handler   a resume
    --------------------------  ----------------------  ------------------------------------------
    exception                   -                       runs the node again (it has no handler)
    exception, mark             -, or an exception      runs the handler
    exception, mark             a question              runs the handler once it is answered
    exception, mark             writes                  runs neither

Rules of this file: pure bookkeeping; running the handler is the drivers' part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from stepgraph.errors import NodeError
from stepgraph.pregel.identity import child_namespace
from stepgraph.pregel.policies import may_be_handled
from stepgraph.pregel.recorded import recognise_handler
from stepgraph.pregel.task import Task
from stepgraph.values.names import ERROR, ERROR_SOURCE_NODE, PUSH

Pending = Mapping[str, Sequence[tuple[str, Any]]]

HANDLER_PREFIX = "__error_handler__"
"""The hidden node that handles failures of node `x` is called `__error_handler__x`."""
DEFAULT_HANDLER = "__default_error_handler__"
"""The hidden node that handles failures of all nodes without a handler of their own."""
_PATH_MARK = "node_error_handler"


class HandlerTask(Task):
    """The execution of an error handler for one failed task; `failed` is that task.

    It reads the state as the failed task did; the handler of a `Send` gets what was sent.
    """

    def __init__(self, failed: Task, error: BaseException) -> None:
        policy = failed.node.policy
        assert policy is not None
        node = policy.error_handler
        assert node is not None
        assert policy.handler_reads is not None
        machine = failed.machine
        super().__init__(
            machine, node, failed.input if failed.index >= 0 else machine.read(policy.handler_reads)
        )
        self.failed = failed
        if failed.former is not None and node.name.startswith(HANDLER_PREFIX):
            self.former = HANDLER_PREFIX + failed.former
        self.call_path = (*failed.path, _PATH_MARK, False)
        self.triggers_override = (PUSH,)
        self.handled = NodeError(failed.node.name, error)

    @property
    def namespace(self) -> str:
        """A graph that a handler runs lives below the failed task."""
        return child_namespace(self.failed.namespace, self.former or self.node.name, self.id)


def has_handler(task: Task, error: BaseException) -> bool:
    """Whether this failure goes to an error handler."""
    policy = task.node.policy
    return policy is not None and policy.error_handler is not None and may_be_handled(error)


def begin_handling(task: Task, error: Exception) -> HandlerTask:
    """The failure of a task is final: store it, show it, and answer the handler's task."""
    task.machine.failed(task, error, handled=True)
    task.reset()
    task.saved = True
    task.error = None
    task.handler = handler = HandlerTask(task, error)
    return handler


def finish_handling(task: Task) -> None:
    """The handler succeeded: store what it wrote, and let it count as the failed task's writes."""
    handler = task.handler
    assert handler is not None
    machine = task.machine
    if machine.ledger is not None and not handler.saved:
        handler.saved = True
        machine.ledger.write(handler, handler.pairs())
    adopt(task, handler)


def adopt(task: Task, handler: Task) -> None:
    """What a handler wrote takes the place of the failed task's writes."""
    task.updates, task.targets, task.sends = handler.updates, handler.targets, handler.sends
    task.folded = None
    task.saved = True


def stored_handling(task: Task, pending: Pending) -> HandlerTask | None:
    """The handler's task of a failure that was stored before the run ended; None where the node itself runs again."""
    policy = task.node.policy
    if policy is None or policy.error_handler is None:
        return None
    stored = dict(pending.get(task.id, ()))
    if ERROR not in stored or ERROR_SOURCE_NODE not in stored:
        return None
    error = stored[ERROR]
    if not isinstance(error, BaseException):
        error = RuntimeError(f"{error}")
    handler = HandlerTask(task, error)
    recognise_handler(handler, task, pending)
    return handler


__all__ = (
    "DEFAULT_HANDLER",
    "HANDLER_PREFIX",
    "HandlerTask",
    "adopt",
    "begin_handling",
    "finish_handling",
    "has_handler",
    "stored_handling",
)
