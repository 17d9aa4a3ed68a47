"""Asking a person, and matching what they answer.

Theory of operation. Every call of `interrupt()` in a task has an id made of the task's id and the call's number, so it
is the same when the task runs again. An answer is found in this order: what this task was told before (stored), what
the resuming `Command` says for this id, its bare value. An answer that was taken is stored with the task at once; a
wrong one (`response_schema`) raises and stores nothing. Without an answer the task pauses by raising `GraphInterrupt`,
which no `except Exception` can swallow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.errors import GraphInterrupt, InvalidResumeError, UnknownInterruptError, mark_invalid_resume
from stepgraph.pregel.identity import interrupt_id, is_interrupt_id
from stepgraph.pregel.scope import Answers
from stepgraph.pregel.task import current_task
from stepgraph.values.commands import Interrupt
from stepgraph.values.missing import MISSING
from stepgraph.values.names import NULL_TASK_ID, RESUME

if TYPE_CHECKING:
    from stepgraph.pregel.task import Task


def interrupt(value: Any, *, response_schema: dict[str, Any] | type | None = None) -> Any:
    """Pause the node that runs this, show `value` to a person, and return what they answer.

    The first time, the run stops and returns with the question under `__interrupt__`. When the thread is resumed with
    `Command(resume=answer)`, the node runs again from its top and this call returns the answer. Several calls in one
    node are matched by their order.

    Args:
        value: What to show; anything that the saver can store.
        response_schema: What an answer must look like: a Pydantic model, TypedDict or dataclass (checked, and the
            answer is returned as that type), or a JSON schema (shown only).

    Returns:
        The answer.

    Raises:
        GraphInterrupt: There is no answer yet; do not catch it.
        InvalidResumeError: The answer does not fit `response_schema`; the question can be answered again.
        RuntimeError: Called outside of a graph's run.

    Example:
        >>> from typing import TypedDict
        >>> from stepgraph.checkpoint.memory import InMemorySaver
        >>> from stepgraph.graph import START, StateGraph
        >>> from stepgraph.types import Command, interrupt
        >>> class State(TypedDict, total=False):
        ...     name: str
        >>> def ask(state: State) -> State:
        ...     return {"name": interrupt("Who are you?")}
        >>> graph = StateGraph(State).add_node(ask).add_edge(START, "ask").compile(InMemorySaver())
        >>> config = {"configurable": {"thread_id": "1"}}
        >>> graph.invoke({}, config)["__interrupt__"][0].value
        'Who are you?'
        >>> graph.invoke(Command(resume="Ann"), config)
        {'name': 'Ann'}
    """
    task = current_task()
    if task is None:
        raise RuntimeError(
            "Called interrupt() outside of a graph's run: call it inside a node, or in code a node calls."
        )
    index = task.interrupt_count
    task.interrupt_count = index + 1
    given = task.answers
    if given is not None and index < len(given):
        _mark_asked(task)
        return _checked(task, index, given[index], response_schema)
    answer = _answer_for(task, index)
    if answer is MISSING:
        schema = None if response_schema is None else _json_schema(response_schema)
        pause = GraphInterrupt((Interrupt(value, question_id(task, index), response_schema=schema),))
        task.swallowed = pause
        raise pause
    result = _checked(task, index, answer, response_schema)
    _mark_asked(task)
    answers = task.machine.scope.answers
    if answers is not None and answers.value is answer:
        answers.take_value()
    task.answers = [*(given or ()), answer]
    if task.machine.ledger is not None:
        task.machine.ledger.write(task, [(RESUME, list(task.answers))])
    else:
        _keep_above(task, question_id(task, index), answer)
    return result


def _mark_asked(task: Task | None) -> None:
    """What the task and those above it result in rests on a person's answer: no input alone leads to it again."""
    while task is not None:
        task.asked = True
        task = task.machine.parent


def _keep_above(task: Task, id: str, answer: Any) -> None:
    """A graph that stores nothing starts afresh when it is resumed: its answers are kept by the nearest level that does."""
    above = task.machine.parent
    while above is not None and above.machine.ledger is None:
        above = above.machine.parent
    if above is not None:
        kept = task.machine.scope.kept_answers
        kept[id] = answer
        above.machine.ledger.write_as(NULL_TASK_ID, "", [(RESUME, dict(kept))])  # type: ignore[union-attr]


def _answer_for(task: Task, index: int) -> Any:
    scope = task.machine.scope
    answers = scope.answers
    if answers is None and not scope.kept_answers:
        return MISSING
    id = question_id(task, index)
    if answers is not None and id in answers.by_id:
        return answers.by_id[id]
    if id in scope.kept_answers:
        return scope.kept_answers[id]
    return MISSING if answers is None else answers.value


def question_id(task: Task, index: int) -> str:
    """The id of the `index`-th question of a task: the one under which it was asked before, if that was given elsewhere."""
    known = task.asked_as
    return known[1] if known is not None and known[0] == index else interrupt_id(task.id, index)


def _json_schema(response_schema: Any) -> Any:
    if isinstance(response_schema, dict):
        return response_schema
    from stepgraph.schema.json_schema import answer_json_schema

    return answer_json_schema(response_schema)


def _checked(task: Task, index: int, answer: Any, response_schema: Any) -> Any:
    if response_schema is None or isinstance(response_schema, dict):
        return answer
    from stepgraph.schema.json_schema import check_answer

    try:
        return check_answer(response_schema, answer)
    except ValueError as error:
        if hasattr(error, "errors"):  # Pydantic's own, which programs catch
            mark_invalid_resume(error)
            raise
        refusal = InvalidResumeError(
            f"The answer {answer!r} to question {question_id(task, index)} of node {task.node.name!r} does not fit its "
            f"response_schema {getattr(response_schema, '__name__', response_schema)!r}: {error}. Nothing was saved: resume "
            "again with a fitting answer.",
            interrupt_id=question_id(task, index),
            node=task.node.name,
            value=answer,
        )
        raise refusal from error


def is_resume_map(value: Any) -> bool:
    """Whether a resume value maps interrupt ids to answers: a dict that is not empty and whose keys all look like ids."""
    return isinstance(value, dict) and bool(value) and all(is_interrupt_id(key) for key in value)


def match_answers(
    value: Any, pending: Sequence[str], answered_before: Sequence[str] | None
) -> Answers | None:
    """Match a resume value with the questions that wait; raises before anything is written.

    Args:
        value: What `Command(resume=...)` carries.
        pending: Ids of the questions that wait at the checkpoint.
        answered_before: Ids that were asked earlier in the thread; None if they were not looked up yet.

    Returns:
        The answers, or None if `answered_before` must be looked up first.

    Raises:
        UnknownInterruptError: An id that was never asked, or one bare value where several questions wait.
    """
    if not is_resume_map(value):
        if len(pending) > 1:
            raise UnknownInterruptError(
                f"Command(resume=...) carries one value, but {len(pending)} questions wait. When there are multiple pending "
                f"interrupts, say which one each answer is for: Command(resume={{id: answer}}), ids: {', '.join(pending)}.",
                reason="ambiguous",
                pending_ids=pending,
            )
        return Answers({pending[0]: value}) if pending else Answers({}, value)
    by_id: Mapping[str, Any] = value
    unknown = [key for key in by_id if key not in pending]
    if unknown:
        if answered_before is None:
            return None
        never = [key for key in unknown if key not in answered_before]
        if never:
            raise UnknownInterruptError(
                f"Command(resume=...) answers {', '.join(never)}, which no question of this thread has as its id. Pending are: "
                f"{', '.join(pending) or 'none'}. Use the ids in the result's __interrupt__ or in get_state(config).interrupts.",
                reason="not_pending",
                interrupt_ids=never,
                pending_ids=pending,
            )
        import warnings

        warnings.warn(
            f"Command(resume=...) answers {', '.join(unknown)}, which was answered before in this thread: ignored.",
            RuntimeWarning,
            stacklevel=2,
        )
    return Answers({key: answer for key, answer in by_id.items() if key in pending})
