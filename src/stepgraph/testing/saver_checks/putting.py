"""Checks of `put`, `get_tuple`, `get_next_version` and `get_delta_channel_history`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from stepgraph.testing.saver_checks.trial import Call, Steps, Together, Trial, check, id_of


def put_names_what_it_stored(t: Trial) -> Steps:
    """`put` returns the config that names thread, namespace and checkpoint."""
    call = t.put(t.at("child"), a=1)
    stored = yield call
    wanted = t.at("child", call.args[1]["id"])["configurable"]
    got = {name: stored["configurable"].get(name) for name in wanted}
    t.same(got, wanted, "The config that put returned")


def a_checkpoint_comes_back(t: Trial) -> Steps:
    """`get_tuple` gives a checkpoint with all its parts: form, id, time, values, versions, what nodes have seen."""
    made = t.checkpoint("v1", a=[1, {"x": "y"}], b=None)
    made["v"] = 1
    made["versions_seen"] = {"node": {"a": "v0"}}
    versions = dict(made["channel_versions"])
    config = yield Call("put", (t.at(), made, {"source": "input", "step": -1}, versions))
    got = t.found((yield t.get(config)), "The checkpoint that was put").checkpoint
    for part in ("v", "id", "ts", "channel_values", "channel_versions", "versions_seen"):
        t.same(got[part], made[part], f"checkpoint[{part!r}]")


def metadata_comes_back(t: Trial) -> Steps:
    """`get_tuple` gives the metadata that was put."""
    metadata = {"source": "loop", "step": 3, "parents": {"": "x"}, "who": {"name": "Ann", "tags": ["a"]}}
    config = yield Call("put", (t.at(), t.checkpoint(a=1), metadata, {"a": 1}))
    got = t.found((yield t.get(config)), "The checkpoint that was put").metadata
    t.same({name: got.get(name) for name in metadata}, metadata, "The metadata")


def values_keep_their_types(t: Trial) -> Steps:
    """Values come back equal and of the same type: numbers, texts, bytes, times, and containers of them."""
    values: dict[str, Any] = {
        "whole": 2**70,
        "fraction": 0.1,
        "nothing": None,
        "truth": True,
        "text": "Grüße, 世界 \U0001f600",
        "data": bytes(range(256)),
        "pair": (1, "two"),
        "group": {1, 2, 3},
        "when": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC),
        "nested": {"list": [1, [2, {"deep": (3,)}]]},
    }
    config = yield t.put(t.at(), **values)
    got = yield from t.values(config, "The checkpoint that was put")
    for name, value in values.items():
        t.same(got.get(name), value, f"Channel {name!r}")


def what_was_put_may_change_later(t: Trial) -> Steps:
    """A value that is changed in place after `put`, or after it was read, is stored as it was."""
    shared = {"log": ["first"]}
    config = yield t.put(t.at(), a=shared)
    shared["log"].append("changed after put")
    got = yield from t.values(config, "The checkpoint that was put")
    t.same(got["a"], {"log": ["first"]}, "The value after its object was changed")
    got["a"]["log"].append("changed by a reader")
    again = yield from t.values(config, "The checkpoint that was put")
    t.same(again["a"], {"log": ["first"]}, "The value after a reader changed what it got")


def only_what_is_new_need_be_stored(t: Trial) -> Steps:
    """Channels that `new_versions` does not name have the value that they had in the parent."""
    first = yield t.put(t.at(), "1", kept=["x" * 50] * 20, changed=1)
    second = t.checkpoint(None, kept=["x" * 50] * 20, changed=2)
    second["channel_versions"] = {"kept": "1", "changed": "2"}
    config = yield Call("put", (first, second, {"source": "loop", "step": 1}, {"changed": "2"}))
    t.same(
        (yield from t.values(config, "The second checkpoint")), second["channel_values"], "The second values"
    )
    before = yield from t.values(first, "The first checkpoint")
    t.same(before, {"kept": ["x" * 50] * 20, "changed": 1}, "The first values")


def a_channel_may_lose_its_value(t: Trial) -> Steps:
    """A channel that holds a value in the parent and none in the checkpoint holds none when it is read."""
    first = yield t.put(t.at(), "1", a=1, b=2)
    second = t.checkpoint("1", a=1)
    second["channel_versions"] = {"a": "1", "b": "2"}
    config = yield Call("put", (first, second, {"source": "loop", "step": 1}, {"b": "2"}))
    t.same((yield from t.values(config, "The second checkpoint")), {"a": 1}, "The values")


def parents_are_named(t: Trial) -> Steps:
    """`parent_config` names the checkpoint that `put` was given as parent; the first has none."""
    first = yield t.put(t.at(), a=1)
    second = yield t.put(first, a=2)
    got = t.found((yield t.get(first)), "The first checkpoint")
    t.same(got.parent_config, None, "The parent of the first checkpoint")
    parent = t.found((yield t.get(second)), "The second checkpoint").parent_config
    t.same(parent and id_of(parent), id_of(first), "The parent of the second checkpoint")


def nothing_is_found_where_nothing_is(t: Trial) -> Steps:
    """`get_tuple` gives `None` for a thread, a namespace or a checkpoint that was never stored."""
    t.same((yield t.get(t.at())), None, "An empty thread")
    yield t.put(t.at(), a=1)
    t.same((yield t.get(t.at("child"))), None, "An empty namespace")
    unknown = t.at(checkpoint_id="1f0c2f0e-0000-6000-8000-000000000000")
    t.same((yield t.get(unknown)), None, "An unknown checkpoint")


def the_newest_is_found_without_an_id(t: Trial) -> Steps:
    """Without a `checkpoint_id`, `get_tuple` gives the checkpoint with the greatest id, whenever it was put."""
    late, early = t.put(t.at(), a="late"), t.put(t.at(), a="early")
    late.args[1]["id"], early.args[1]["id"] = early.args[1]["id"], late.args[1]["id"]
    yield late
    yield early
    got = yield from t.values(t.at(), "The newest checkpoint")
    t.same(got, {"a": "late"}, "The newest values")


def an_old_checkpoint_is_found_by_its_id(t: Trial) -> Steps:
    """With a `checkpoint_id`, `get_tuple` gives that checkpoint, however many came after it."""
    configs = []
    for number in range(4):
        configs.append((yield t.put(t.at(), a=number)))
    for number, config in enumerate(configs):
        got = t.found((yield t.get(config)), "A checkpoint by its id")
        t.same(id_of(got.config), id_of(config), "The id of a checkpoint that was asked for")
        t.same(got.checkpoint["channel_values"], {"a": number}, "Its values")


def namespaces_are_apart(t: Trial) -> Steps:
    """Each namespace of a thread has a history of its own."""
    spaces = ("", "child:1", "child:1|grandchild:2")
    for number, namespace in enumerate(spaces):
        yield t.put(t.at(namespace), a=number)
    for number, namespace in enumerate(spaces):
        got = t.found((yield t.get(t.at(namespace))), f"The newest of namespace {namespace!r}")
        t.same(got.checkpoint["channel_values"], {"a": number}, f"The values in namespace {namespace!r}")
        t.same(got.config["configurable"]["checkpoint_ns"], namespace, "The namespace of what was found")


def threads_are_apart(t: Trial) -> Steps:
    """Threads never see each other, whatever characters their ids have."""
    names = [t.other(name) for name in ("a", "a%", "a_", "a' OR '1'='1", 'a"', "a\\", "ä 世界", "A")]
    for name in names:
        yield t.put(t.at(thread_id=name), a=name)
    for name in names:
        got = yield from t.values(t.at(thread_id=name), f"Thread {name!r}")
        t.same(got, {"a": name}, f"The values of thread {name!r}")


def many_may_write_at_once(t: Trial) -> Steps:
    """Many threads or tasks may put, and read, at once, each on a thread of its own."""
    threads = [t.other(str(number)) for number in range(8)]
    for _ in range(4):
        for done in (yield Together([t.put(t.at(thread_id=name), a=name) for name in threads])):
            if isinstance(done, Exception):
                raise done
    for name, got in zip(threads, (yield Together([t.get(t.at(thread_id=n)) for n in threads])), strict=True):
        if isinstance(got, Exception):
            raise got
        t.same(t.found(got, name).checkpoint["channel_values"], {"a": name}, f"The values of {name!r}")
        count = len((yield t.list(t.at(thread_id=name))))
        t.same(count, 4, f"The number of checkpoints of thread {name!r}")


def versions_grow(t: Trial) -> Steps:
    """`get_next_version` gives a greater version of the same type, from `None` on."""
    version = t.saver.get_next_version(None, None)
    for _ in range(20):
        following = t.saver.get_next_version(version, None)
        t.same(type(following), type(version), "The type of a version")
        t.holds(following > version, f"The version after {version!r} is not greater: {following!r}.")
        version = following
    yield from ()


def histories_of_channels_are_followed(t: Trial) -> Steps:
    """`get_delta_channel_history` gives the writes of the ancestors, oldest first, back to the last stored value."""
    first = yield t.put(t.at(), "1", log=["seed"])
    yield Call("put_writes", (first, [("log", ["a"])], "task-1"))
    second = t.checkpoint("2", plain=1)
    second["channel_versions"] = {"log": "1", "plain": "2"}
    middle = yield Call("put", (first, second, {"source": "loop", "step": 1}, {"plain": "2"}))
    yield Call("put_writes", (middle, [("log", ["b"])], "task-2"))
    third = t.checkpoint("3", plain=2)
    third["channel_versions"] = {"log": "1", "plain": "3"}
    last = yield Call("put", (middle, third, {"source": "loop", "step": 2}, {"plain": "3"}))
    history = yield Call("get_delta_channel_history", (), {"config": last, "channels": ["log"]})
    writes = [value for _, _, value in history["log"]["writes"]]
    t.same((writes, history["log"].get("seed")), ([["a"], ["b"]], ["seed"]), "Writes and seed of the channel")


_BASE = (
    put_names_what_it_stored,
    a_checkpoint_comes_back,
    metadata_comes_back,
    values_keep_their_types,
    what_was_put_may_change_later,
    only_what_is_new_need_be_stored,
    a_channel_may_lose_its_value,
    parents_are_named,
    nothing_is_found_where_nothing_is,
    the_newest_is_found_without_an_id,
    an_old_checkpoint_is_found_by_its_id,
    namespaces_are_apart,
    threads_are_apart,
    many_may_write_at_once,
    versions_grow,
)
CHECKS = (
    *(check("base", steps) for steps in _BASE),
    check("channel_history", histories_of_channels_are_followed),
)
