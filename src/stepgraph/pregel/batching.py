"""The part of a compiled graph's face that runs several inputs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Config = Mapping[str, Any]


class Batching:
    """`batch` and `abatch`, on top of `invoke` and `ainvoke`."""

    def invoke(self, input: Any, config: Config | None = None, **kwargs: Any) -> Any:
        """Run one input; see `Pregel`."""
        raise NotImplementedError

    async def ainvoke(self, input: Any, config: Config | None = None, **kwargs: Any) -> Any:
        """Run one input; see `Pregel`."""
        raise NotImplementedError

    def batch(self, inputs: Sequence[Any], config: Any = None, **kwargs: Any) -> list[Any]:
        """Run several inputs, side by side, and answer their outputs in order.

        Args:
            inputs: The inputs.
            config: One config for all, or a list with one for each.
            kwargs: See `invoke`; `return_exceptions=True` answers errors in place of outputs.
        """
        from concurrent.futures import ThreadPoolExecutor
        from contextvars import copy_context

        if not inputs:
            return []
        keep = kwargs.pop("return_exceptions", False)
        configs = config if isinstance(config, list) else [config] * len(inputs)
        most = next((c["max_concurrency"] for c in configs if c and c.get("max_concurrency")), None)

        def one(input: Any, own: Config | None) -> Any:
            try:
                return self.invoke(input, own, **kwargs)
            except Exception as error:
                if keep:
                    return error
                raise

        with ThreadPoolExecutor(most or min(32, len(inputs))) as pool:
            waiting = [pool.submit(copy_context().run, one, i, c) for i, c in zip(inputs, configs)]
            return [future.result() for future in waiting]

    async def abatch(self, inputs: Sequence[Any], config: Any = None, **kwargs: Any) -> list[Any]:
        """The same as `batch`, awaited."""
        import asyncio

        if not inputs:
            return []
        keep = kwargs.pop("return_exceptions", False)
        configs = config if isinstance(config, list) else [config] * len(inputs)
        most = next((c["max_concurrency"] for c in configs if c and c.get("max_concurrency")), len(inputs))
        gate = asyncio.Semaphore(most)

        async def one(input: Any, own: Config | None) -> Any:
            async with gate:
                return await self.ainvoke(input, own, **kwargs)

        waiting = [asyncio.ensure_future(one(i, c)) for i, c in zip(inputs, configs)]
        try:
            return list(await asyncio.gather(*waiting, return_exceptions=keep))
        except BaseException:
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)
            raise
