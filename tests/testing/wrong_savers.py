"""For each check of the conformance kit a saver that breaks just that: proof that the check can fail."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from copy import deepcopy
from itertools import count
from typing import Any

from stepgraph.checkpoint.base import CheckpointTuple
from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import ThreadBusyError
from stepgraph.values.names import CONFIG_KEY_EXPECTED_HEAD

__all__ = ("WRONG",)

Base = InMemorySaver
WRONG: dict[str, type[InMemorySaver]] = {}
"""Check to a saver that must fail it."""


def breaks(name: str) -> Callable[[type[InMemorySaver]], type[InMemorySaver]]:
    """Class decorator: the saver that breaks a behaviour."""

    def note(cls: type[InMemorySaver]) -> type[InMemorySaver]:
        WRONG[name] = cls
        return cls

    return note


def changed(found: CheckpointTuple | None, **values: Any) -> CheckpointTuple | None:
    """What was found, with channel values changed by functions of them."""
    if found is None:
        return None
    parts = dict(found.checkpoint)
    for name, change in values.items():
        parts[name] = change(parts[name])
    return found._replace(checkpoint=parts)  # type: ignore[arg-type]


# ---- put and get_tuple


@breaks("put_names_what_it_stored")
class AnswersWhatItWasGiven(Base):
    def put(self, config: Any, *args: Any) -> Any:
        super().put(config, *args)
        return config


@breaks("a_checkpoint_comes_back")
class ForgetsWhatNodesHaveSeen(Base):
    def get_tuple(self, config: Any) -> Any:
        return changed(super().get_tuple(config), versions_seen=lambda seen: {})


@breaks("metadata_comes_back")
class KeepsFlatMetadata(Base):
    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        flat = {name: value for name, value in metadata.items() if not isinstance(value, dict)}
        return super().put(config, checkpoint, flat, versions)


@breaks("values_keep_their_types")
class MakesListsOfPairs(Base):
    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        values = {k: list(v) if type(v) is tuple else v for k, v in checkpoint["channel_values"].items()}
        return super().put(config, {**checkpoint, "channel_values": values}, metadata, versions)


@breaks("what_was_put_may_change_later")
class KeepsTheObjects(Base):
    def __init__(self) -> None:
        super().__init__()
        self.kept: dict[str, Any] = {}

    def put(self, config: Any, checkpoint: Any, *args: Any) -> Any:
        self.kept[checkpoint["id"]] = checkpoint["channel_values"]
        return super().put(config, checkpoint, *args)

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        return found and changed(found, channel_values=lambda _: self.kept[found.checkpoint["id"]])


@breaks("only_what_is_new_need_be_stored")
class StoresOnlyWhatIsNew(Base):
    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        values = {k: v for k, v in checkpoint["channel_values"].items() if k in versions}
        return super().put(config, {**checkpoint, "channel_values": values}, metadata, versions)


@breaks("a_channel_may_lose_its_value")
class NeverForgetsAValue(Base):
    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        before = super().get_tuple(config)
        old = before.checkpoint["channel_values"] if before else {}
        values = {**old, **checkpoint["channel_values"]}
        return super().put(config, {**checkpoint, "channel_values": values}, metadata, versions)


@breaks("parents_are_named")
class KnowsNoParents(Base):
    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        return found and found._replace(parent_config=None)


@breaks("nothing_is_found_where_nothing_is")
class FindsTheNewestForAnyId(Base):
    def get_tuple(self, config: Any) -> Any:
        where = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
        return super().get_tuple(config) or super().get_tuple({"configurable": where})


@breaks("the_newest_is_found_without_an_id")
class FindsWhatWasPutLast(Base):
    last: Any = None

    def put(self, config: Any, *args: Any) -> Any:
        self.last = super().put(config, *args)
        return self.last

    def get_tuple(self, config: Any) -> Any:
        return super().get_tuple(config if "checkpoint_id" in config["configurable"] else self.last or config)


@breaks("an_old_checkpoint_is_found_by_its_id")
class FindsOnlyTheNewest(Base):
    def get_tuple(self, config: Any) -> Any:
        where = {k: v for k, v in config["configurable"].items() if k != "checkpoint_id"}
        return super().get_tuple({"configurable": where})


def without_namespace(config: Any) -> Any:
    return config and {"configurable": {**config["configurable"], "checkpoint_ns": ""}}


@breaks("namespaces_are_apart")
class KnowsNoNamespaces(Base):
    def put(self, config: Any, *args: Any) -> Any:
        return super().put(without_namespace(config), *args)

    def get_tuple(self, config: Any) -> Any:
        return super().get_tuple(without_namespace(config))


@breaks("threads_are_apart")
class TakesCapitalsForSmallLetters(Base):
    def get_tuple(self, config: Any) -> Any:
        return super().get_tuple(self.small(config))

    def put(self, config: Any, *args: Any) -> Any:
        return super().put(self.small(config), *args)

    def small(self, config: Any) -> Any:
        where = config["configurable"]
        return {"configurable": {**where, "thread_id": where["thread_id"].lower()}}


@breaks("many_may_write_at_once")
class IsForOneAtATime(Base):
    """Forgets one of two that put at once."""

    def __init__(self) -> None:
        super().__init__()
        self.meeting = threading.Barrier(2)

    def put(self, config: Any, *args: Any) -> Any:
        first = self.meeting.wait(20) == 0
        return super().put(config, *args) if first else config

    async def aput(self, config: Any, *args: Any) -> Any:
        return await asyncio.to_thread(self.put, config, *args)


@breaks("versions_grow")
class CountsInCircles(Base):
    def get_next_version(self, current: Any, channel: None) -> Any:
        return 1 if current is None else (current + 1) % 10


@breaks("histories_of_channels_are_followed")
class TellsHistoriesBackwards(Base):
    def get_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        found = deepcopy(dict(super().get_delta_channel_history(config=config, channels=channels)))
        for history in found.values():
            history["writes"].reverse()
        return found

    async def aget_delta_channel_history(self, *, config: Any, channels: Any) -> Any:
        return self.get_delta_channel_history(config=config, channels=channels)


# ---- put_writes


@breaks("writes_come_back")
class KeepsOneWriteAChannel(Base):
    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        super().put_writes(config, list(dict(writes).items()), task_id, task_path)


@breaks("writes_of_all_tasks_come_back")
class KeepsTenTasks(Base):
    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        return found and found._replace(pending_writes=found.pending_writes[:10])


@breaks("a_task_is_stored_once")
class StoresATaskAgain(Base):
    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        found = super().get_tuple(config)
        known = found.pending_writes if found and found.pending_writes else []
        again = [(None, None)] * len(known)
        super().put_writes(config, [*again, *writes], task_id, task_path)

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        return found and found._replace(pending_writes=[w for w in found.pending_writes if w[1] is not None])


@breaks("answers_replace_answers")
class KeepsTheFirstAnswer(Base):
    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        found = super().get_tuple(config)
        known = {(t, c) for t, c, _ in found.pending_writes or ()} if found else set()
        super().put_writes(config, [w for w in writes if (task_id, w[0]) not in known], task_id, task_path)


@breaks("special_and_ordinary_writes_stand_side_by_side")
class KeepsTheFirstOfATask(Base):
    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        found = super().get_tuple(config)
        if found is None or all(write[0] != task_id for write in found.pending_writes or ()):
            super().put_writes(config, writes, task_id, task_path)


@breaks("writes_belong_to_their_checkpoint")
class CarriesWritesOn(Base):
    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        if found is None or found.parent_config is None:
            return found
        before = super().get_tuple(found.parent_config)
        return found._replace(pending_writes=[*before.pending_writes, *found.pending_writes])  # type: ignore


class ListsBy(Base):
    """Lists what `pick` leaves of the whole list."""

    def list(self, config: Any, **options: Any) -> Iterator[Any]:
        yield from self.pick(config, options)

    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        raise NotImplementedError

    def whole(self, config: Any, **options: Any) -> list[Any]:
        return [*super().list(config, **options)]


@breaks("writes_are_shown_in_lists")
class ListsWithoutWrites(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        return [found._replace(pending_writes=[]) for found in self.whole(config, **options)]


# ---- list


@breaks("a_list_is_newest_first")
class ListsOldestFirst(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        return reversed(self.whole(config, **options))


@breaks("a_list_ends_at_its_limit")
class ListsOneMore(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        limit = options.pop("limit", None)
        return self.whole(config, **options, limit=limit and limit + 1)


@breaks("a_list_may_begin_before_a_checkpoint")
class ListsTheOneToBeginBefore(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        before = options.pop("before", None)
        limit = options.pop("limit", None)
        found = self.whole(config, **options)
        if before:
            last = before["configurable"]["checkpoint_id"]
            found = [one for one in found if one.checkpoint["id"] <= last]
        return found[:limit]


@breaks("a_list_may_name_one_checkpoint")
class ListsNeverOne(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        where = {k: v for k, v in (config or {}).get("configurable", {}).items() if k != "checkpoint_id"}
        return self.whole({"configurable": where}, **options)


@breaks("a_list_shows_one_namespace_or_all")
class ListsTheRootOnly(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        where = (config or {}).get("configurable", {})
        return self.whole({"configurable": {"checkpoint_ns": "", **where}}, **options)


@breaks("a_list_shows_one_thread")
class ListsByTheBeginningOfIds(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        where = dict((config or {}).get("configurable", {}))
        thread = where.pop("thread_id", "")
        found = self.whole({"configurable": where}, **options)
        return [one for one in found if one.config["configurable"]["thread_id"].startswith(thread)]


@breaks("a_list_without_a_config_shows_all_threads")
class ListsOnlyAThread(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        return self.whole(config, **options) if config else []


@breaks("a_filter_looks_at_metadata")
class FiltersByAnyKey(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        filter, limit = options.pop("filter", None), options.pop("limit", None)
        found = self.whole(config, **options)
        if filter:
            found = [one for one in found if any(one.metadata.get(k) == v for k, v in filter.items())]
        return found[:limit]


@breaks("a_filter_is_never_code")
class BelievesItsFilters(ListsBy):
    def pick(self, config: Any, options: dict[str, Any]) -> Any:
        filter = options.pop("filter", None) or {}
        if any("OR" in str(value) for value in filter.values()):
            filter = {}
        return self.whole(config, filter=filter, **options)


# ---- keeping house


@breaks("a_deleted_thread_is_gone_at_every_level")
class DeletesTheRootOnly(Base):
    def delete_thread(self, thread_id: str) -> None:
        self.prune([thread_id], strategy="delete", namespaces=[""])


@breaks("a_deleted_thread_may_begin_again")
class LeavesWritesBehind(Base):
    """The writes of a deleted thread are there again when a checkpoint of the same id is."""

    def __init__(self) -> None:
        super().__init__()
        self.left: dict[str, Any] = {}

    def put_writes(self, config: Any, writes: Any, task_id: str, task_path: str = "") -> None:
        self.left[config["configurable"]["checkpoint_id"]] = [(task_id, *write) for write in writes]
        super().put_writes(config, writes, task_id, task_path)

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        return found and found._replace(pending_writes=self.left.get(found.checkpoint["id"], []))


@breaks("a_copy_has_everything")
class CopiesTheNewest(Base):
    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        super().copy_thread(source_thread_id, target_thread_id)
        self.prune([target_thread_id])


@breaks("a_copy_is_a_thread_of_its_own")
class CopiesByName(Base):
    def __init__(self) -> None:
        super().__init__()
        self.names: dict[str, str] = {}

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        self.names[target_thread_id] = source_thread_id

    def real(self, config: Any) -> Any:
        where = config["configurable"]
        thread = where["thread_id"]
        return {"configurable": {**where, "thread_id": self.names.get(thread, thread)}}

    def put(self, config: Any, *args: Any) -> Any:
        return super().put(self.real(config), *args)

    def get_tuple(self, config: Any) -> Any:
        return super().get_tuple(self.real(config))


@breaks("pruning_keeps_the_newest_of_each_level")
class PrunesAllButTheRoot(Base):
    def prune(self, thread_ids: Any, **options: Any) -> None:
        super().prune(thread_ids, **options)
        children = [ns for _, ns in self._histories if ns]
        if children:
            super().prune(thread_ids, strategy="delete", namespaces=children)


@breaks("pruning_may_keep_nothing")
class AlwaysKeepsTheNewest(Base):
    def prune(self, thread_ids: Any, *, strategy: str = "keep_latest", **options: Any) -> None:
        super().prune(thread_ids, **options)


@breaks("work_goes_on_after_pruning")
class RefersToWhatIsPruned(Base):
    """After pruning the values that a new checkpoint does not change are gone."""

    pruned = False

    def prune(self, thread_ids: Any, **options: Any) -> None:
        super().prune(thread_ids, **options)
        self.pruned = True

    def put(self, config: Any, checkpoint: Any, metadata: Any, versions: Any) -> Any:
        if self.pruned:
            values = {k: v for k, v in checkpoint["channel_values"].items() if k in versions}
            checkpoint = {**checkpoint, "channel_values": values}
        return super().put(config, checkpoint, metadata, versions)


@breaks("pruning_by_age_keeps_what_is_younger")
class IgnoresAge(Base):
    def prune(self, thread_ids: Any, *, older_than: Any = None, **options: Any) -> None:
        super().prune(thread_ids, **options)


@breaks("pruning_may_name_levels")
class IgnoresLevels(Base):
    def prune(self, thread_ids: Any, *, namespaces: Any = None, **options: Any) -> None:
        super().prune(thread_ids, **options)


@breaks("runs_are_deleted")
class DeletesOneOfARun(Base):
    def delete_for_runs(self, run_ids: Any) -> None:
        for history in list(self._histories.values()):
            doomed = [row[0] for row in history.rows.values() if row[2] in run_ids]
            for key in [key for key, own in self._histories.items() if own is history]:
                with history.lock:
                    self._drop(key, history, set(doomed[:1]))


@breaks("what_other_runs_made_stays_whole")
class DropsWithoutLooking(Base):
    """Values that a deleted checkpoint stored are gone from the ones that refer to it."""

    def __init__(self) -> None:
        super().__init__()
        self.gone = 0

    def delete_for_runs(self, run_ids: Any) -> None:
        super().delete_for_runs(run_ids)
        self.gone += 1

    def get_tuple(self, config: Any) -> Any:
        found = super().get_tuple(config)
        if not self.gone or found is None:
            return found
        return changed(found, channel_values=lambda values: {k: v[self.gone :] for k, v in values.items()})


# ---- heads


class WithoutHeads(Base):
    """Compares no heads by itself."""

    def put(self, config: Any, *args: Any) -> Any:
        where = {k: v for k, v in config["configurable"].items() if k != CONFIG_KEY_EXPECTED_HEAD}
        return super().put({"configurable": where}, *args)


@breaks("the_expected_head_is_accepted")
class TakesNoneForAnything(Base):
    def put(self, config: Any, *args: Any) -> Any:
        where = dict(config["configurable"])
        if where.get(CONFIG_KEY_EXPECTED_HEAD):
            where[CONFIG_KEY_EXPECTED_HEAD] = "another"
        return super().put({"configurable": where}, *args)


@breaks("another_head_is_refused")
class ComparesNoHeads(WithoutHeads):
    pass


@breaks("each_level_has_a_head_of_its_own")
class HasOneHeadAThread(Base):
    def put(self, config: Any, *args: Any) -> Any:
        where = config["configurable"]
        thread = {"configurable": {"thread_id": where["thread_id"]}}
        newest = next(iter(self.list(thread, limit=1)), None)
        head = where.get(CONFIG_KEY_EXPECTED_HEAD)
        if CONFIG_KEY_EXPECTED_HEAD in where and newest and newest.checkpoint["id"] != head:
            config = {"configurable": {**where, CONFIG_KEY_EXPECTED_HEAD: "another"}}
        return super().put(config, *args)


@breaks("of_many_at_once_one_wins")
class ComparesBeforehand(WithoutHeads):
    """Compares, and stores when somebody else has compared too."""

    def __init__(self) -> None:
        super().__init__()
        self.compared = count()
        self.met = threading.Event()

    def put(self, config: Any, *args: Any) -> Any:
        where = config["configurable"]
        newest = super().get_tuple({"configurable": {"thread_id": where["thread_id"]}})
        head = newest.checkpoint["id"] if newest else None
        if where.get(CONFIG_KEY_EXPECTED_HEAD, head) != head:
            raise ThreadBusyError(where["thread_id"], where["checkpoint_ns"])
        if head is not None:
            if next(self.compared):
                self.met.set()
            self.met.wait(20)
        return super().put(config, *args)

    async def aput(self, config: Any, *args: Any) -> Any:
        return await asyncio.to_thread(self.put, config, *args)


# ---- steps


class StepsBy(Base):
    """Changes what a step is before it is stored, whichever way it comes."""

    def put_step(self, config: Any, changes: Any, metadata: Any, *, durable: bool = True) -> None:
        super().put_step(config, self.bent(changes), metadata, durable=durable)

    def encode_step(self, config: Any, changes: Any, metadata: Any) -> Any:
        return super().encode_step(config, self.bent(changes), metadata)

    def bent(self, changes: Any) -> Any:
        return changes


@breaks("a_step_is_a_difference")
class ForgetsWhatDidNotChange(StepsBy):
    def bent(self, changes: Any) -> Any:
        changes.parent_id = None
        return changes


@breaks("a_step_may_clear_a_channel")
class ClearsNothing(StepsBy):
    def bent(self, changes: Any) -> Any:
        changes.versions = {k: v for k, v in changes.versions.items() if k in changes.values}
        return changes


@breaks("a_step_brings_the_writes_of_its_tasks")
class DropsTheWritesOfTasks(StepsBy):
    def bent(self, changes: Any) -> Any:
        changes.writes = ()
        return changes


@breaks("returned_objects_may_have_changed_in_place")
class TrustsIdentity(StepsBy):
    def bent(self, changes: Any) -> Any:
        changes.returned = set()
        return changes


@breaks("both_ways_of_storing_mix")
class KnowsPutStepsApart(StepsBy):
    """A `put` that goes on from what `put_step` stored begins a history of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.stepped: set[str] = set()

    def bent(self, changes: Any) -> Any:
        self.stepped.add(changes.id)
        return changes

    def put(self, config: Any, checkpoint: Any, *args: Any) -> Any:
        if config["configurable"].get("checkpoint_id") in self.stepped:
            self.delete_thread(config["configurable"]["thread_id"])
        return super().put(config, checkpoint, *args)


@breaks("what_is_encoded_cannot_change")
class EncodesLater(Base):
    """Keeps the changes and encodes them when they are stored."""

    def encode_step(self, config: Any, changes: Any, metadata: Any) -> Any:
        return config, changes, metadata

    def store(self, batch: Any, *, durable: bool) -> None:
        super().store([super(EncodesLater, self).encode_step(*item) for item in batch], durable=durable)


@breaks("a_batch_is_stored_in_order")
class StoresTheNewestOfABatch(Base):
    def store(self, batch: Any, *, durable: bool) -> None:
        super().store(batch[-1:] if len(batch) > 2 else batch, durable=durable)


@breaks("a_batch_is_stored_as_a_whole_or_not_at_all")
class StoresOneByOne(Base):
    def store(self, batch: Any, *, durable: bool) -> None:
        for item in batch:
            super().store([item], durable=durable)
