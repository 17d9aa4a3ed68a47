"""Checks of `list`."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from stepgraph.testing.saver_checks.trial import Call, Steps, Trial, check, id_of


def _five(t: Trial, **where: Any) -> Generator[Any, Any, list[dict[str, Any]]]:
    configs: list[dict[str, Any]] = []
    config = t.at(**where)
    for step in range(5):
        config = yield t.put(config, str(step), step=step, a=step)
        configs.append(config)
    return configs


def _ids(found: list[Any]) -> list[str]:
    return [id_of(item.config) for item in found]


def a_list_is_newest_first(t: Trial) -> Steps:
    """`list` gives the checkpoints of a thread, newest first, each as `get_tuple` would."""
    configs = yield from _five(t)
    found = yield t.list(t.at())
    t.same(_ids(found), [id_of(config) for config in reversed(configs)], "The ids")
    for item in found:
        single = t.found((yield t.get(item.config)), "A listed checkpoint by its id")
        t.same(item.checkpoint, single.checkpoint, "A listed checkpoint")
        t.same(
            item.parent_config and id_of(item.parent_config),
            single.parent_config and id_of(single.parent_config),
            "Its parent",
        )


def a_list_ends_at_its_limit(t: Trial) -> Steps:
    """`limit=n` gives the n newest, or all if there are fewer."""
    configs = yield from _five(t)
    newest_first = [id_of(config) for config in reversed(configs)]
    for limit in (1, 3, 5, 9):
        t.same(_ids((yield t.list(t.at(), limit=limit))), newest_first[:limit], f"The ids with limit={limit}")


def a_list_may_begin_before_a_checkpoint(t: Trial) -> Steps:
    """`before=` gives only checkpoints that are older than the one it names."""
    configs = yield from _five(t)
    older = [id_of(config) for config in reversed(configs[:2])]
    t.same(_ids((yield t.list(t.at(), before=configs[2]))), older, "The ids before the third")
    t.same(_ids((yield t.list(t.at(), before=configs[2], limit=1))), older[:1], "With limit=1 besides")


def a_list_may_name_one_checkpoint(t: Trial) -> Steps:
    """A config with a `checkpoint_id` lists that checkpoint alone."""
    configs = yield from _five(t)
    t.same(_ids((yield t.list(configs[3]))), [id_of(configs[3])], "The ids")


def a_list_shows_one_namespace_or_all(t: Trial) -> Steps:
    """A config with a `checkpoint_ns` lists that namespace; one without lists all levels of the thread."""
    root = yield t.put(t.at(), a=1)
    child = yield t.put(t.at("child"), a=2)
    t.same(_ids((yield t.list(t.at()))), [id_of(root)], "The ids in namespace ''")
    t.same(_ids((yield t.list(t.at("child")))), [id_of(child)], "The ids in namespace 'child'")
    everywhere = yield t.list({"configurable": {"thread_id": t.thread}})
    t.same(sorted(_ids(everywhere)), sorted([id_of(root), id_of(child)]), "The ids without a namespace")


def a_list_shows_one_thread(t: Trial) -> Steps:
    """A config with a `thread_id` lists that thread alone; an unknown one gives nothing."""
    configs = yield from _five(t)
    yield t.put(t.at(thread_id=t.other()), a=1)
    t.same(len((yield t.list(t.at()))), len(configs), "The number of checkpoints of the thread")
    t.same((yield t.list(t.at(thread_id=t.other("unknown")))), [], "An unknown thread")


def a_list_without_a_config_shows_all_threads(t: Trial) -> Steps:
    """`list(None)` gives the checkpoints of all threads."""
    configs = []
    for name in ("x", "y"):
        configs.append((yield t.put(t.at(thread_id=t.other(name)), a=name)))
    everything = {id_of(item.config) for item in (yield t.list(None))}
    missing = [id_of(config) for config in configs if id_of(config) not in everything]
    t.same(missing, [], "Checkpoints that list(None) left out")


def a_filter_looks_at_metadata(t: Trial) -> Steps:
    """`filter=` gives the checkpoints whose metadata has all these keys with these values, `limit=` counted after it."""
    for step in range(4):
        source = "input" if step % 2 == 0 else "loop"
        metadata = {"source": source, "step": step, "writer": {"name": "Ann"}}
        yield Call("put", (t.at(), t.checkpoint(a=step), metadata, {"a": 1}))
    for filter, options, wanted in (
        ({"source": "input"}, {}, [2, 0]),
        ({"source": "loop", "step": 3}, {}, [3]),
        ({"source": "loop", "step": 2}, {}, []),
        ({"step": 1}, {}, [1]),
        ({"writer": {"name": "Ann"}}, {}, [3, 2, 1, 0]),
        ({"writer": {"name": "Bob"}}, {}, []),
        ({"unknown": 1}, {}, []),
        ({"source": "input"}, {"limit": 1}, [2]),
        ({}, {}, [3, 2, 1, 0]),
    ):
        found = yield t.list(t.at(), filter=filter, **options)
        t.same(
            [item.metadata["step"] for item in found],
            wanted,
            f"The steps with filter={filter!r}, {options!r}",
        )


def a_filter_is_never_code(t: Trial) -> Steps:
    """Keys and values of a filter are compared as they are, whatever characters they have."""
    config = yield t.put(t.at(), a=1)
    for text in ("' OR '1'='1", "x' OR 1=1 --", '"; DROP TABLE checkpoints; --', "%", "$.step"):
        t.same((yield t.list(t.at(), filter={"source": text})), [], f"A filter with the value {text!r}")
        t.same((yield t.list(t.at(), filter={text: "loop"})), [], f"A filter with the key {text!r}")
    t.same(_ids((yield t.list(t.at()))), [id_of(config)], "What is stored afterwards")


CHECKS = tuple(
    check("base", steps)
    for steps in (
        a_list_is_newest_first,
        a_list_ends_at_its_limit,
        a_list_may_begin_before_a_checkpoint,
        a_list_may_name_one_checkpoint,
        a_list_shows_one_namespace_or_all,
        a_list_shows_one_thread,
        a_list_without_a_config_shows_all_threads,
        a_filter_looks_at_metadata,
        a_filter_is_never_code,
    )
)
