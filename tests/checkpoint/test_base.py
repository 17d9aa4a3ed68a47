"""The protocol, and the functions on checkpoints."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from stepgraph.channels.last_value import LastValue
from stepgraph.checkpoint.base import (
    EXCLUDED_METADATA_KEYS,
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    Checkpoint,
    CheckpointTuple,
    copy_checkpoint,
    create_checkpoint,
    empty_checkpoint,
    get_checkpoint_id,
    get_checkpoint_metadata,
    get_serializable_checkpoint_metadata,
)
from stepgraph.checkpoint.memory import InMemorySaver


def a_checkpoint(**values: Any) -> Checkpoint:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = values
    checkpoint["channel_versions"] = dict.fromkeys(values, 1)
    checkpoint["versions_seen"] = {"n": {"a": 1}}
    return checkpoint


class OneCheckpoint(BaseCheckpointSaver[int]):
    """The least that a saver of somebody else's can be."""

    def __init__(self, found: CheckpointTuple | None) -> None:
        super().__init__()
        self.found = found

    def get_tuple(self, config: Mapping[str, Any]) -> CheckpointTuple | None:
        return self.found

    def list(self, config: Mapping[str, Any] | None, **options: Any) -> Iterator[CheckpointTuple]:
        yield from [self.found] * 50 if self.found else []


def test_an_empty_checkpoint_holds_nothing() -> None:
    checkpoint = empty_checkpoint()
    assert checkpoint["v"] == 2
    assert checkpoint["channel_values"] == checkpoint["channel_versions"] == checkpoint["versions_seen"] == {}
    assert empty_checkpoint()["id"] > checkpoint["id"]


def test_a_copied_checkpoint_can_be_changed() -> None:
    original = a_checkpoint(a=1)
    copied = copy_checkpoint(original)
    copied["channel_values"]["b"] = 2
    copied["channel_versions"]["b"] = 2
    copied["versions_seen"]["n"]["a"] = 2
    assert original == a_checkpoint(a=1) | {"id": original["id"], "ts": original["ts"]}


def test_a_following_checkpoint_takes_values_from_channels() -> None:
    full, empty, other = LastValue(int, "a"), LastValue(int, "b"), LastValue(int, "c")
    full.update([5])
    other.update([6])
    made = create_checkpoint(a_checkpoint(a=1, b=2), {"a": full, "b": empty, "c": other}, 3)
    assert made["channel_values"] == {"a": 5}
    assert made["channel_versions"] == {"a": 1, "b": 1}


def test_a_following_checkpoint_without_channels_keeps_values() -> None:
    before = a_checkpoint(a=1)
    made = create_checkpoint(before, None, 3, id="mine")
    assert (made["id"], made["channel_values"]) == ("mine", {"a": 1})
    assert made["versions_seen"]["n"] is not before["versions_seen"]["n"]


def test_the_id_in_a_config() -> None:
    assert get_checkpoint_id({"configurable": {"thread_id": "1"}}) is None
    assert get_checkpoint_id({"configurable": {"checkpoint_id": "x"}}) == "x"


def test_metadata_gets_what_the_config_says_of_the_run() -> None:
    config = {
        "metadata": {
            "user": "ann",
            "tags": ["a", {"b": 1}],
            "object": object(),
            "step": 99,
            "__own": 1,
            "none": None,
        },
        "configurable": {"thread_id": "1", "checkpoint_ns": "x", "tenant": 7, "list": [1], "__private": 2},
    }
    assert get_checkpoint_metadata(config, {"source": "loop", "step": 1}) == {
        "source": "loop",
        "step": 1,
        "user": "ann",
        "tags": ["a", {"b": 1}],
        "tenant": 7,
    }


def test_where_a_run_is_never_goes_into_metadata() -> None:
    config = {"metadata": dict.fromkeys(EXCLUDED_METADATA_KEYS, "x"), "configurable": {}}
    assert get_checkpoint_metadata(config, {}) == {}


def test_serializable_metadata_has_no_writes() -> None:
    metadata: Any = {"step": 1, "writes": {"n": object()}}
    assert get_serializable_checkpoint_metadata({"configurable": {}}, metadata) == {"step": 1}


def test_special_writes_have_places_of_their_own() -> None:
    assert WRITES_IDX_MAP == {"__error__": -1, "__scheduled__": -2, "__interrupt__": -3, "__resume__": -4}


def test_versions_only_grow() -> None:
    saver = InMemorySaver()
    assert BaseCheckpointSaver.get_next_version(saver, None, None) == 1  # type: ignore[type-var]
    assert BaseCheckpointSaver.get_next_version(saver, 3, None) == 4  # type: ignore[type-var]
    assert (
        saver.get_next_version("00000000000000000000000000000002.0.5", None)
        > "00000000000000000000000000000002.0.5"
    )


@pytest.mark.parametrize(
    "method", ["put", "put_writes", "delete_thread", "copy_thread", "prune", "delete_for_runs"]
)
def test_a_method_that_a_saver_lacks_says_so(method: str) -> None:
    saver = OneCheckpoint(None)
    arguments = {"put": 4, "put_writes": 3, "copy_thread": 2}.get(method, 1)
    with pytest.raises(NotImplementedError, match=f"OneCheckpoint does not define {method}"):
        getattr(saver, method)(*[None] * arguments)
    with pytest.raises(NotImplementedError, match=f"OneCheckpoint does not define a{method}"):
        asyncio.run(getattr(saver, "a" + method)(*[None] * arguments))


def test_async_methods_of_a_sync_saver_work_in_threads() -> None:
    found = CheckpointTuple({"configurable": {}}, a_checkpoint(a=1), {})
    saver = OneCheckpoint(found)

    async def use() -> tuple[Any, Any, int]:
        config = {"configurable": {"thread_id": "1"}}
        listed = [t async for t in saver.alist(config)]
        return await saver.aget_tuple(config), await saver.aget(config), len(listed)

    assert asyncio.run(use()) == (found, found.checkpoint, 50)


def test_history_of_a_channel_goes_back_to_its_last_value() -> None:
    saver = InMemorySaver()
    config: dict[str, Any] = {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    for i in range(3):
        checkpoint = a_checkpoint(kept=i) if i == 1 else a_checkpoint()
        config = saver.put(config, checkpoint, {"step": i}, {})
        saver.put_writes(config, [("kept", i * 10), ("delta", i)], f"task-{i}")
    head = saver.put(config, a_checkpoint(), {"step": 3}, {})
    expected = {
        "kept": {"writes": [("task-1", "kept", 10), ("task-2", "kept", 20)], "seed": 1},
        "delta": {"writes": [("task-0", "delta", 0), ("task-1", "delta", 1), ("task-2", "delta", 2)]},
        "unknown": {"writes": []},
    }
    channels = ["kept", "delta", "unknown"]
    assert saver.get_delta_channel_history(config=head, channels=channels) == expected
    assert asyncio.run(saver.aget_delta_channel_history(config=head, channels=channels)) == expected
