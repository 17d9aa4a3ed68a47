"""Private names of LangGraph's that packages in the field import: each is there."""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import pytest

from stepgraph.compat.names import ANSWERED, INSIDE_FILES
from stepgraph.prebuilt.tool_node import ToolNode
from stepgraph.values import names

PLAIN = {
    "_internal._config": "ensure_config merge_configs patch_config patch_configurable",
    "_internal._constants": "CONF CONFIG_KEY_READ CONFIG_KEY_RUNTIME CONFIG_KEY_SEND INTERRUPT NS_END NS_SEP NULL_TASK_ID"
    " OVERWRITE PREVIOUS PULL PUSH RESERVED RESUME RETURN TASKS _CHECKPOINT_COORDINATE_KEYS _TAG_HIDDEN",
    "_internal._typing": "EMPTY_SEQ MISSING DeprecatedKwargs",
    "checkpoint.base.id": "uuid6",
    "checkpoint.serde.jsonplus": "_msgpack_ext_hook_to_json",
    "checkpoint.serde.types": "_DeltaSnapshot",
    "constants": "CONF Interrupt Send TASKS",
    "pregel.remote": "RemoteException RemoteGraph",
    "stream._mux": "StreamMux TransformerFactory",
    "stream._types": "ProtocolEvent StreamTransformer",
    "stream.transformers": "_TasksLifecycleBase",
    "utils.config": "ensure_config get_config get_store patch_configurable",
}
WITH_LANGCHAIN = {
    "_internal._runnable": "RunnableCallable RunnableLike",
    "prebuilt.chat_agent_executor": "StateSchemaType _should_bind_tools",
    "utils.runnable": "RunnableCallable RunnableLike",
}


def module_of(path: str) -> Any:
    name = f"langgraph.{path}"
    inside = dict(INSIDE_FILES.values())
    return import_module(ANSWERED.get(name) or inside[name])


def lacking(wanted: dict[str, str]) -> list[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            f"{path}.{name}"
            for path, listed in wanted.items()
            for name in listed.split()
            if not hasattr(module_of(path), name)
        ]


def test_names_that_need_nothing() -> None:
    assert lacking(PLAIN) == []


def test_names_that_need_langchain() -> None:
    pytest.importorskip("langchain_core", reason="LangChain is not installed")
    assert lacking(WITH_LANGCHAIN) == []


def test_without_langchain_its_runnable_says_how_to_install_it() -> None:
    if not _lacks_langchain():
        pytest.skip("LangChain is installed")
    with pytest.raises(ImportError, match=r"stepgraph\[langchain\]"):
        module_of("_internal._runnable")


def _lacks_langchain() -> bool:
    try:
        import_module("langchain_core")
    except ImportError:
        return True
    return False


def test_names_on_the_wire_are_the_engines_own() -> None:
    constants = module_of("_internal._constants")
    different = [
        name for name in constants.__all__ if getattr(constants, name) != getattr(names, name.lstrip("_"))
    ]
    assert different == []


def test_a_node_of_tools_tells_how_it_was_made() -> None:
    node = ToolNode([], messages_key="other", handle_tool_errors="oops", name="n", tags=["t"])
    assert (node._messages_key, node._handle_tool_errors, node.name, node.tags) == (
        "other",
        "oops",
        "n",
        ["t"],
    )
