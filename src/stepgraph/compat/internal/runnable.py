"""`langgraph._internal._runnable`: a runnable made of a function and its asynchronous twin, of which packages make their nodes.

Needs LangChain. It differs from LangChain's `RunnableLambda` in three things: both forms may be given and have one name, tracing can be left
out, and the function is given what a node is given (`config`, `runtime`, `store`, `writer`, `previous`) if it asks for it.
"""

# ruff: noqa: E402

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from stepgraph.prebuilt.langchain_parts import require_langchain

require_langchain("RunnableCallable")

from langchain_core.runnables.base import Runnable
from langchain_core.runnables.config import RunnableConfig, ensure_config, run_in_executor, set_config_context

from stepgraph.schema.callables import injected_arguments, injected_parameters
from stepgraph.values.names import CONF, CONFIG_KEY_RUNTIME

__all__ = ("RunnableCallable", "RunnableLike")

RunnableLike = Runnable[Any, Any] | Callable[..., Any] | Mapping[str, Any]
"""What can be made a runnable: one, a function, or a dict of these."""


class RunnableCallable(Runnable[Any, Any]):
    """A runnable of a function, its asynchronous twin, or both.

    Args:
        func: The function; None if there is only the asynchronous one.
        afunc: Its asynchronous twin; without one `ainvoke` runs `func` on a thread.
        name: The name in traces; by default the function's own, unless it is a lambda.
        tags: Tags of its run in traces.
        trace: Whether it is a run of its own in traces.
        recurse: Whether a runnable that the function returns is invoked with the same input.
        explode_args: The input is a pair of positional and keyword arguments.
        kwargs: Further keyword arguments for every call.

    Raises:
        ValueError: Neither function is given.
    """

    def __init__(
        self,
        func: Callable[..., Any] | None,
        afunc: Callable[..., Awaitable[Any]] | None = None,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        trace: bool = True,
        recurse: bool = True,
        explode_args: bool = False,
        **kwargs: Any,
    ) -> None:
        function: Any = func if func is not None else afunc
        if function is None:
            raise ValueError("RunnableCallable needs a function: give func, afunc, or both.")
        own = getattr(function, "__name__", None)
        self.name = name or (None if own == "<lambda>" else own)
        self.func = func
        self.afunc = afunc
        self.tags = None if tags is None else list(tags)
        self.trace = trace
        self.recurse = recurse
        self.explode_args = explode_args
        self.kwargs = kwargs
        self._wanted = _wanted(function, explode_args, kwargs)

    def __repr__(self) -> str:
        return (
            f"{self.get_name()}(tags={self.tags}, recurse={self.recurse}, explode_args={self.explode_args})"
        )

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Call the function.

        Raises:
            TypeError: There is only an asynchronous one.
            ValueError: It asks for something that only a running graph can give.
        """
        if self.func is None:
            raise TypeError(
                f'No synchronous function provided to "{self.get_name()}". Give it one, or call it with ainvoke.'
            )
        if self.trace:
            return self._call_with_config(self._traced, input, self._tagged(config), **kwargs)
        whole = ensure_config(config)
        with set_config_context(whole) as context:
            return context.run(self._call, input, whole, kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Await the asynchronous function, or call the other one on a thread."""
        if self.afunc is None:
            return await run_in_executor(config, self.invoke, input, config, **kwargs)
        if self.trace:
            return await self._acall_with_config(self._atraced, input, self._tagged(config), **kwargs)
        whole = ensure_config(config)
        with set_config_context(whole):
            return await self._acall(input, whole, kwargs)

    def _tagged(self, config: RunnableConfig | None) -> RunnableConfig:
        whole = ensure_config(config)
        if self.tags:
            whole["tags"] = [*(whole.get("tags") or ()), *self.tags]
        return whole

    def _traced(self, input: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        return self._call(input, config, kwargs)

    async def _atraced(self, input: Any, config: RunnableConfig, **kwargs: Any) -> Any:
        return await self._acall(input, config, kwargs)

    def _call(self, input: Any, config: RunnableConfig, given: Mapping[str, Any]) -> Any:
        assert self.func is not None
        args, kwargs = self._arguments(input, config, given)
        result = self.func(*args, **kwargs)
        if self.recurse and isinstance(result, Runnable):
            return result.invoke(input, config)
        return result

    async def _acall(self, input: Any, config: RunnableConfig, given: Mapping[str, Any]) -> Any:
        assert self.afunc is not None
        args, kwargs = self._arguments(input, config, given)
        result = await self.afunc(*args, **kwargs)
        if self.recurse and isinstance(result, Runnable):
            return await result.ainvoke(input, config)
        return result

    def _arguments(
        self, input: Any, config: RunnableConfig, given: Mapping[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args: tuple[Any, ...] = (input,)
        kwargs = {**self.kwargs, **given}
        if self.explode_args:
            args, named = input
            kwargs = {**self.kwargs, **named, **given}
        for name, kind in self._wanted.items():
            if name not in kwargs:
                value = self._injected(kind, name, config)
                if value is not _NOTHING:
                    kwargs[name] = value
        return args, kwargs

    def _injected(self, kind: str, name: str, config: RunnableConfig) -> Any:
        if kind == "config":
            return config
        runtime = (config.get(CONF) or {}).get(CONFIG_KEY_RUNTIME)
        if runtime is None:
            if name in self._optional():
                return _NOTHING
            raise ValueError(
                f"{self.get_name()} asks for {name!r}, which only a running graph can give; call it from a node, or with "
                "that node's config."
            )
        return runtime if kind == "runtime" else getattr(runtime, _FIELDS[kind])

    def _optional(self) -> set[str]:
        from inspect import Parameter, signature

        function: Any = self.func if self.func is not None else self.afunc
        found = signature(function).parameters.values()
        return {parameter.name for parameter in found if parameter.default is not Parameter.empty}


_NOTHING = object()
_FIELDS = {"store": "store", "writer": "stream_writer", "previous": "previous"}


def _wanted(function: Any, explode_args: bool, bound: Mapping[str, Any]) -> dict[str, str]:
    """What the function asks for, by parameter."""
    if explode_args:
        found: dict[str, Any] = {name: kind for name, (kind, _) in injected_arguments(function).items()}
    else:
        found = dict(injected_parameters(function))
    return {
        name: kind
        for name, kind in found.items()
        if name not in bound and kind in ("config", "runtime", *_FIELDS)
    }
