"""`saver_conformance`: does a saver do what the engine and people count on? One line a behaviour.

Each check gets a saver of its own from the function that makes them, and runs once for each half of the protocol that the
saver has. Rules: what is checked lives in `saver_checks`; here is who calls, and the report.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager
from inspect import isawaitable
from traceback import extract_tb
from typing import Any, Literal, NamedTuple

from stepgraph.checkpoint.base import BaseCheckpointSaver
from stepgraph.errors import ThreadBusyError
from stepgraph.testing.capabilities import ALL, HALVES, Half, capabilities, halves_of
from stepgraph.testing.saver_checks import CHECKS
from stepgraph.testing.saver_checks.heads import another_head_is_refused
from stepgraph.testing.saver_checks.trial import Call, Check, Steps, Together, Trial

__all__ = ("CheckResult", "ConformanceReport", "asaver_conformance", "saver_conformance")


class CheckResult(NamedTuple):
    """What became of one check.

    Attributes:
        name: The check.
        half: `"sync"` or `"async"`: which methods it called.
        outcome: `"passed"`, `"failed"`, or `"skipped"` where the saver lacks what it is about.
        requirement: What a saver must do.
        detail: What went wrong, or what is lacking; empty where it passed.
        error: The exception of a check that failed.
    """

    name: str
    half: Half
    outcome: Literal["passed", "failed", "skipped"]
    requirement: str
    detail: str = ""
    error: BaseException | None = None

    def __str__(self) -> str:
        line = f"{self.outcome:7} {self.half:5} {self.name}"
        return f"{line}: {self.detail}" if self.detail else line


class ConformanceReport(NamedTuple):
    """The results of all checks; its text has one line for each.

    Attributes:
        saver: The name of the saver's class.
        results: The results, in order.
    """

    saver: str
    results: tuple[CheckResult, ...]

    @property
    def failed(self) -> tuple[CheckResult, ...]:
        """The checks that failed."""
        return tuple(result for result in self.results if result.outcome == "failed")

    @property
    def ok(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    def assert_ok(self) -> None:
        """Fail if a check failed.

        Raises:
            AssertionError: Each check that failed, what it requires and what happened.
        """
        if self.ok:
            return
        parts = [f"{self.saver} fails {len(self.failed)} of {len(self.results)} checks of a saver:"]
        parts += [f"- {one.name} ({one.half}): {one.requirement}\n  {one.detail}" for one in self.failed]
        raise AssertionError("\n".join(parts)) from self.failed[0].error

    def __str__(self) -> str:
        counts = dict.fromkeys(("passed", "failed", "skipped"), 0)
        for result in self.results:
            counts[result.outcome] += 1
        summary = ", ".join(f"{count} {what}" for what, count in counts.items())
        return "\n".join((f"{self.saver}: {summary}", *map(str, self.results)))


def saver_conformance(
    make_saver: Callable[[], Any],
    *,
    require: Collection[str] = (),
    skip: Collection[str] = (),
    only: Collection[str] = (),
) -> ConformanceReport:
    """Check a saver against everything that is expected of one.

    Args:
        make_saver: Answers a saver, an awaitable of one, or a context manager (async or not) that gives one. It is called
            once a check; the savers may share their data.
        require: Capabilities that must be there, so that their checks fail where they would be skipped: names such as
            `"prune"`, `"put_step"`, `"expected_head"`, or `"sync"` and `"async"` for a whole half.
        skip: Names of checks to leave out.
        only: Names of checks; left out, all.

    Returns:
        The report. It raises nothing; call its `assert_ok()`.

    Raises:
        ValueError: A name in `require`, `skip` or `only` does not exist.

    Example:
        >>> from stepgraph.checkpoint.memory import InMemorySaver
        >>> saver_conformance(InMemorySaver).ok
        True
    """

    def work() -> ConformanceReport:
        return asyncio.run(asaver_conformance(make_saver, require=require, skip=skip, only=only))

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work()
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


async def asaver_conformance(
    make_saver: Callable[[], Any],
    *,
    require: Collection[str] = (),
    skip: Collection[str] = (),
    only: Collection[str] = (),
) -> ConformanceReport:
    """Async twin of `saver_conformance`, for savers that belong to the running event loop."""
    _refuse_unknown(require, (*ALL, *HALVES), "capability")
    _refuse_unknown((*skip, *only), [one.name for one in CHECKS], "check")
    async with _opened(make_saver) as saver:
        name, halves = type(saver).__name__, halves_of(saver)
        offered = {half: set(capabilities(saver, half)) for half in halves}
    chosen = [one for one in CHECKS if one.name not in skip and (not only or one.name in only)]
    results: list[CheckResult] = []
    for half in HALVES:
        if half not in halves:
            results += [_without_half(one, half, half in require or not halves) for one in chosen]
            continue
        if "expected_head" not in offered[half] and await _compares_heads(make_saver, half):
            offered[half].add("expected_head")
        for one in chosen:
            if one.needs in offered[half]:
                results.append(await _result(one, half, make_saver))
            else:
                results.append(_lacking(one, half, f"the saver has no {one.needs}", one.needs in require))
    return ConformanceReport(name, tuple(results))


def _refuse_unknown(names: Collection[str], known: Collection[str], kind: str) -> None:
    for name in names:
        if name not in known:
            raise ValueError(f"There is no {kind} {name!r}. There are: {', '.join(known)}.")


def _without_half(one: Check, half: Half, required: bool) -> CheckResult:
    prefix = "" if half == "sync" else "a"
    return _lacking(
        one,
        half,
        f"the saver does not define {prefix}put, {prefix}put_writes, {prefix}get_tuple and {prefix}list",
        required,
    )


def _lacking(one: Check, half: Half, detail: str, required: bool) -> CheckResult:
    return CheckResult(one.name, half, "failed" if required else "skipped", one.requirement, detail)


async def _compares_heads(make_saver: Callable[[], Any], half: Half) -> bool:
    """Whether a saver of somebody else refuses a put that expects another head."""
    async with _opened(make_saver) as saver:
        try:
            await _perform(another_head_is_refused(Trial(saver)), saver, half)
        except AssertionError:
            return False
        except ThreadBusyError:
            return True
        except Exception:
            return False
    return True


async def _result(one: Check, half: Half, make_saver: Callable[[], Any]) -> CheckResult:
    try:
        async with _opened(make_saver) as saver:
            await _perform(one.steps(Trial(saver)), saver, half)
    except AssertionError as error:
        return CheckResult(one.name, half, "failed", one.requirement, str(error), error)
    except Exception as error:
        place = extract_tb(error.__traceback__)[-1]
        detail = f"{type(error).__name__}: {error} ({place.filename}:{place.lineno})"
        return CheckResult(one.name, half, "failed", one.requirement, detail, error)
    return CheckResult(one.name, half, "passed", one.requirement)


# ---- who calls


@asynccontextmanager
async def _opened(make_saver: Callable[[], Any]) -> AsyncIterator[Any]:
    made = make_saver()
    if isawaitable(made) and not isinstance(made, BaseCheckpointSaver):
        made = await made
    if isinstance(made, AbstractAsyncContextManager) and not _is_saver(made):
        async with made as saver:
            yield saver
    elif isinstance(made, AbstractContextManager) and not _is_saver(made):
        with made as saver:
            yield saver
    else:
        yield made


def _is_saver(made: Any) -> bool:
    return hasattr(made, "get_tuple") or hasattr(made, "aget_tuple")


async def _perform(steps: Steps, saver: Any, half: Half) -> None:
    """Run a check: synchronous methods in a thread, as the engine may call them from any."""
    if half == "sync":
        await asyncio.to_thread(_run, steps, saver)
    else:
        await _arun(steps, saver)


def _run(steps: Steps, saver: Any) -> None:
    """Run a check with a saver's synchronous methods."""

    def call(wanted: Call) -> Any:
        answer = getattr(saver, wanted.method)(*wanted.args, **wanted.options)
        return list(answer) if wanted.method == "list" else answer

    def tried(wanted: Call) -> Any:
        try:
            return call(wanted)
        except Exception as error:
            return error

    def together(calls: Sequence[Call]) -> Any:
        with ThreadPoolExecutor(len(calls)) as pool:
            return list(pool.map(tried, calls))

    _drive(steps, lambda wanted: together(wanted.calls) if isinstance(wanted, Together) else call(wanted))


def _drive(steps: Steps, answer: Callable[[Any], Any]) -> None:
    try:
        wanted = next(steps)
        while True:
            try:
                reply = answer(wanted)
            except Exception as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(reply)
    except StopIteration:
        return


async def _arun(steps: Generator[Any, Any, None], saver: Any) -> None:
    """Run a check with a saver's asynchronous methods."""

    async def call(wanted: Call) -> Any:
        if wanted.method == "list":
            return [found async for found in saver.alist(*wanted.args, **wanted.options)]
        return await getattr(saver, "a" + wanted.method)(*wanted.args, **wanted.options)

    async def answer(wanted: Any) -> Any:
        if isinstance(wanted, Together):
            return await asyncio.gather(*map(call, wanted.calls), return_exceptions=True)
        return await call(wanted)

    try:
        wanted = next(steps)
        while True:
            try:
                reply = await answer(wanted)
            except Exception as error:
                wanted = steps.throw(error)
            else:
                wanted = steps.send(reply)
    except StopIteration:
        return
