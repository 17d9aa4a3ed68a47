"""Reserved names are wire format: they never change."""

from __future__ import annotations

from stepgraph.values import names

WIRE = {
    "START": "__start__",
    "END": "__end__",
    "TASKS": "__pregel_tasks",
    "INPUT": "__input__",
    "INTERRUPT": "__interrupt__",
    "RESUME": "__resume__",
    "ERROR": "__error__",
    "ERROR_SOURCE_NODE": "__error_source_node__",
    "NO_WRITES": "__no_writes__",
    "SCHEDULED": "__scheduled__",
    "RETURN": "__return__",
    "PREVIOUS": "__previous__",
    "OVERWRITE": "__overwrite__",
    "PUSH": "__pregel_push",
    "PULL": "__pregel_pull",
    "NS_SEP": "|",
    "NS_END": ":",
    "NULL_TASK_ID": "00000000-0000-0000-0000-000000000000",
    "TAG_HIDDEN": "langsmith:hidden",
    "TAG_NOSTREAM": "nostream",
    "CONF": "configurable",
    "CONFIG_KEY_THREAD_ID": "thread_id",
    "CONFIG_KEY_CHECKPOINT_NS": "checkpoint_ns",
    "CONFIG_KEY_CHECKPOINT_ID": "checkpoint_id",
    "CONFIG_KEY_CHECKPOINT_MAP": "checkpoint_map",
    "CONFIG_KEY_SEND": "__pregel_send",
    "CONFIG_KEY_READ": "__pregel_read",
    "CONFIG_KEY_CALL": "__pregel_call",
    "CONFIG_KEY_CHECKPOINTER": "__pregel_checkpointer",
    "CONFIG_KEY_STREAM": "__pregel_stream",
    "CONFIG_KEY_CACHE": "__pregel_cache",
    "CONFIG_KEY_RESUMING": "__pregel_resuming",
    "CONFIG_KEY_TASK_ID": "__pregel_task_id",
    "CONFIG_KEY_RUNTIME": "__pregel_runtime",
    "CONFIG_KEY_SCRATCHPAD": "__pregel_scratchpad",
    "CONFIG_KEY_DURABILITY": "__pregel_durability",
    "CONFIG_KEY_RESUME_MAP": "__pregel_resume_map",
    "CACHE_NS_WRITES": "__pregel_ns_writes",
}


def test_names_on_the_wire_are_unchanged():
    assert {name: getattr(names, name) for name in WIRE} == WIRE


def test_config_keys_of_the_engine_are_private_or_coordinates():
    for name, value in vars(names).items():
        if name.startswith("CONFIG_KEY_"):
            assert value.startswith("__pregel_") or value in names.CHECKPOINT_COORDINATE_KEYS


def test_separators_are_reserved():
    assert {names.NS_SEP, names.NS_END, names.INTERRUPT, names.CONF} <= names.RESERVED
