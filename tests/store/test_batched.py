"""`AsyncBatchedBaseStore`: what is asked at the same time becomes one batch."""

from __future__ import annotations

import asyncio
import gc

import pytest

from stepgraph.store.base import GetOp, InvalidNamespaceError, ListNamespacesOp, PutOp, SearchOp
from stepgraph.store.base.batch import AsyncBatchedBaseStore, merge_repeated
from stepgraph.store.memory import InMemoryStore

NS = ("a",)


class Recorded(AsyncBatchedBaseStore):
    """Keeps the batches it is given and answers from memory."""

    def __init__(self):
        super().__init__()
        self.batches = []
        self.memory = InMemoryStore()
        self.gate = None

    async def abatch(self, ops):
        ops = list(ops)
        self.batches.append(ops)
        if self.gate is not None:
            await self.gate.wait()
        return await self.memory.abatch(ops)


def test_calls_of_one_moment_are_one_batch_without_repetitions():
    async def main():
        store = Recorded()
        results = await asyncio.gather(
            store.aget(NS, "1"),
            store.aget(NS, "1"),
            store.aput(NS, "1", {"v": 1}),
            store.aput(NS, "1", {"v": 2}),
            store.asearch(NS, filter={"v": 1}),
            store.asearch(NS, filter={"v": 1}),
            store.asearch(NS, filter={"v": True}),
            store.alist_namespaces(),
            store.adelete(NS, "2"),
        )
        assert store.batches == [
            [
                GetOp(NS, "1"),
                PutOp(NS, "1", {"v": 2}),
                SearchOp(NS, {"v": 1}),
                SearchOp(NS, {"v": True}),
                ListNamespacesOp(()),
                PutOp(NS, "2", None),
            ]
        ]
        assert results == [None, None, None, None, [], [], [], [], None]
        assert (await store.aget(NS, "1")).value == {"v": 2}

    asyncio.run(main())


def test_results_go_to_those_who_asked():
    async def main():
        store = Recorded()
        await asyncio.gather(*(store.aput(NS, str(n), {"n": n}) for n in range(20)))
        items = await asyncio.gather(*(store.aget(NS, str(n)) for n in range(20)))
        assert [item.value["n"] for item in items] == list(range(20))
        assert len(store.batches) == 2

    asyncio.run(main())


def test_those_who_ask_the_same_share_nothing():
    async def main():
        store = Recorded()
        await store.aput(NS, "k", {"list": []})
        one, two = await asyncio.gather(store.aget(NS, "k"), store.aget(NS, "k"))
        assert len(store.batches) == 2
        one.value["list"].append(1)
        assert two.value == {"list": []}
        (one,), (two,) = await asyncio.gather(store.asearch(NS), store.asearch(NS))
        one.value["list"].append(1)
        assert two.value == {"list": []}

    asyncio.run(main())


def test_a_later_read_sees_an_earlier_write():
    async def main():
        store = Recorded()
        store.gate = asyncio.Event()
        write = asyncio.create_task(store.aput(NS, "k", {"v": 1}))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        read = asyncio.create_task(store.aget(NS, "k"))
        await asyncio.sleep(0)
        assert store.batches == [[PutOp(NS, "k", {"v": 1})]]
        store.gate.set()
        await write
        assert (await read).value == {"v": 1}

    asyncio.run(main())


def test_a_bad_operation_fails_its_own_caller_only():
    async def main():
        store = Recorded()
        results = await asyncio.gather(
            store.aput(NS, "k", {"v": 1}),
            store.asearch(NS, filter={"v": {"$bad": 1}}),
            store.aput(NS, "j", {"v": 2}),
            return_exceptions=True,
        )
        assert results[0] is results[2] is None
        assert isinstance(results[1], ValueError)
        assert {item.key for item in await store.asearch(NS)} == {"k", "j"}

    asyncio.run(main())


def test_an_operation_that_cannot_be_compared_fails_its_own_caller_only():
    class Odd:
        def __repr__(self):
            raise RuntimeError("no text")

    async def main():
        store = Recorded()
        store.memory.put(NS, "k", {"v": 1})
        calls = (store.asearch(NS, filter={"v": Odd()}), store.aget(NS, "k"), store.aget(["a"], "k"))
        results = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 20)
        assert [result if isinstance(result, list) else result.value for result in results] == [
            [],
            {"v": 1},
            {"v": 1},
        ]
        deep = []
        for _ in range(10_000):
            deep = [deep]
        calls = (store.asearch(NS, filter={"v": deep}), store.aget(NS, "k"))
        results = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 20)
        assert isinstance(results[0], ValueError)
        assert results[1].value == {"v": 1}

    asyncio.run(main())


def test_a_store_that_returns_too_little_leaves_nobody_waiting():
    class Short(Recorded):
        async def abatch(self, ops):
            return (await super().abatch(ops))[:1]

    async def main():
        store = Short()
        calls = (store.aget(NS, "1"), store.aget(NS, "2"))
        results = await asyncio.wait_for(asyncio.gather(*calls, return_exceptions=True), 20)
        assert ["2 operations and returned 1 results" in str(result) for result in results] == [True, True]

    asyncio.run(main())


def test_a_bad_namespace_is_refused_at_once():
    async def main():
        store = Recorded()
        with pytest.raises(InvalidNamespaceError):
            await store.aput(("",), "k", {})
        assert store.batches == []

    asyncio.run(main())


def test_a_caller_that_is_cancelled_disturbs_no_other():
    async def main():
        store = Recorded()
        store.gate = asyncio.Event()
        tasks = [asyncio.create_task(store.aput(NS, str(n), {})) for n in range(3)]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        tasks[1].cancel()
        store.gate.set()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        assert results[0] is results[2] is None
        assert isinstance(results[1], asyncio.CancelledError)

    asyncio.run(main())


def test_no_task_is_left_when_nothing_is_asked():
    async def main():
        store = Recorded()
        await store.aput(NS, "k", {})
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_a_sync_call_in_the_loop_is_refused():
    async def main():
        store = Recorded()
        with pytest.raises(asyncio.InvalidStateError, match=r"Recorded\.get.*await store\.aget"):
            store.get(NS, "k")
        with pytest.raises(asyncio.InvalidStateError, match=r"Recorded\.batch"):
            store.batch([])

    asyncio.run(main())


def test_a_sync_call_in_another_thread_works():
    async def main():
        store = Recorded()
        await asyncio.to_thread(store.put, NS, "k", {"v": 1})
        item = await asyncio.to_thread(store.get, NS, "k")
        assert item.value == {"v": 1}
        assert await asyncio.to_thread(store.list_namespaces) == [NS]
        assert (await asyncio.to_thread(store.batch, [GetOp(NS, "k")]))[0].key == "k"
        await asyncio.to_thread(store.delete, NS, "k")
        assert await asyncio.to_thread(store.search, NS) == []

    asyncio.run(main())


def test_a_sync_call_without_a_loop_says_what_to_do():
    store = Recorded()
    with pytest.raises(RuntimeError, match="inside a running event loop"):
        store.get(NS, "k")
    gc.collect()


def test_a_call_from_another_loop_is_carried_to_the_stores_loop():
    async def main():
        store = Recorded()
        await asyncio.to_thread(asyncio.run, store.aput(NS, "k", {"v": 1}))
        assert (await store.aget(NS, "k")).value == {"v": 1}

    asyncio.run(main())


def test_a_store_outlives_a_loop():
    store = Recorded()
    asyncio.run(store.aput(NS, "k", {"v": 1}))
    assert asyncio.run(store.aget(NS, "k")).value == {"v": 1}


def test_merging_keeps_the_position_of_every_result():
    ops = [
        PutOp(NS, "a", {"v": 1}),
        GetOp(NS, "a"),
        PutOp(NS, "b", {}),
        PutOp(NS, "a", None),
        GetOp(NS, "a", False),
    ]
    unique, slots = merge_repeated(ops)
    assert unique == [PutOp(NS, "a", None), GetOp(NS, "a"), PutOp(NS, "b", {}), GetOp(NS, "a", False)]
    assert slots == [0, 1, 2, 0, 3]
