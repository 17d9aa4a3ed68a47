"""The part of a compiled graph's face that gives runs as events: `stream_events` and `astream_events`.

Version 3 is ours, see `stream/run_stream.py`. Versions 1 and 2 are LangChain's: it makes them of the callbacks of a run, so
they need LangChain, and come from the base that the bridge gives to a graph.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stepgraph.pregel.opening import MODES

if TYPE_CHECKING:
    from stepgraph.stream._mux import StreamMux

Config = Mapping[str, Any]
Factories = Sequence[Callable[[tuple[str, ...]], Any]]


class Eventful:
    """`stream_events` and `astream_events`, on top of `stream` and `astream`."""

    stream_transformers: Any

    def stream(self, input: Any, config: Config | None = None, **kwargs: Any) -> Iterator[Any]:
        """Run and yield what happens; see `Pregel`."""
        raise NotImplementedError

    def astream(self, input: Any, config: Config | None = None, **kwargs: Any) -> AsyncIterator[Any]:
        """Run and yield what happens; see `Pregel`."""
        raise NotImplementedError

    def stream_events(
        self,
        input: Any,
        config: Config | None = None,
        *,
        version: str = "v2",
        transformers: Factories | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the graph as events and projections of them; it goes on while they are read.

        Args:
            input: See `invoke`.
            config: See `invoke`.
            version: `"v3"`; the others exist asynchronously only.
            transformers: Classes of `StreamTransformer`, or functions from a scope to one, beside those of `compile`.
            kwargs: See `stream`; modes and subgraphs follow from the transformers.

        Returns:
            A `GraphRunStream`.

        Raises:
            NotImplementedError: Another version.
            TypeError: `stream_mode` or `subgraphs` is given, or a transformer in place of its class.
            RuntimeError: A transformer needs an asynchronous run.
        """
        if version != "v3":
            raise NotImplementedError(
                f"stream_events(version={version!r}) is not supported. Use astream_events() for v1/v2, or "
                "stream_events(version='v3')."
            )
        from stepgraph.stream.run_stream import GraphRunStream

        mux, modes = self._mux(transformers, False, kwargs)
        return GraphRunStream(self._parts(input, config, modes, kwargs), mux)

    def _parts(self, input: Any, config: Config | None, modes: list[str], kwargs: Any) -> Iterator[Any]:
        return self.stream(
            input, config, stream_mode=modes, subgraphs=True, version="v2", message_events=True, **kwargs
        )

    def astream_events(
        self,
        input: Any,
        config: Config | None = None,
        *,
        version: str = "v2",
        transformers: Factories | None = None,
        **kwargs: Any,
    ) -> Any:
        """The same asynchronously, and LangChain's events of a run.

        Args:
            input: See `invoke`.
            config: See `invoke`.
            version: `"v3"`: to be awaited, answers an `AsyncGraphRunStream`. `"v1"`, `"v2"`: an async iterator of LangChain's
                events.
            transformers: See `stream_events`; for version 3.
            kwargs: See `stream`; for version 1 and 2 also LangChain's filters (`include_names`, `exclude_tags`, ...).

        Raises:
            ImportError: Version 1 or 2 without LangChain.
        """
        if version == "v3":
            return self._arun_stream(input, config, transformers, kwargs)
        events = getattr(super(), "astream_events", None)
        if events is None:
            raise ImportError(
                f'astream_events(version={version!r}) needs LangChain: pip install "stepgraph[langchain]", and import '
                "langchain_core.runnables. astream_events(version='v3') works without it."
            )
        return events(input, config, version=version, **kwargs)

    async def _arun_stream(
        self, input: Any, config: Config | None, transformers: Factories | None, kwargs: Any
    ) -> Any:
        from stepgraph.stream.run_stream import AsyncGraphRunStream

        mux, modes = self._mux(transformers, True, kwargs)
        parts = self.astream(
            input, config, stream_mode=modes, subgraphs=True, version="v2", message_events=True, **kwargs
        )
        return AsyncGraphRunStream(parts, mux)

    def _mux(
        self, transformers: Factories | None, is_async: bool, kwargs: dict[str, Any]
    ) -> tuple[StreamMux, list[str]]:
        """The mux of a run, and the modes that its transformers need."""
        from stepgraph.stream._mux import StreamMux
        from stepgraph.stream._types import StreamTransformer
        from stepgraph.stream.transformers import BUILTIN

        for name in ("stream_mode", "subgraphs"):
            if name in kwargs:
                raise TypeError(
                    f"stream_events(version='v3') / astream_events(version='v3') do not accept {name}: the modes are those that "
                    "the transformers need, and nested graphs are always there. Pass transformers=[...] for further modes."
                )
        factories = [*BUILTIN, *(self.stream_transformers or ()), *(transformers or ())]
        for factory in factories:
            if isinstance(factory, StreamTransformer):
                raise TypeError(
                    "stream_events(version='v3') transformers must be scope-aware callables, got pre-built instance "
                    f"{type(factory).__name__}. Pass the transformer class or a factory like `lambda scope: "
                    "MyTransformer(scope, ...)`."
                )
        mux = StreamMux(is_async=is_async, factories=factories)
        wanted = {mode for t in mux._transformers for mode in t.required_stream_modes}
        return mux, [mode for mode in MODES if mode in wanted]
