"""The imports that programs for `langgraph-prebuilt` and older versions make, public and private."""

import warnings

warnings.simplefilter("ignore")

from langgraph._internal._config import ensure_config, merge_configs, patch_configurable
from langgraph._internal._constants import CONF, CONFIG_KEY_RUNTIME, INTERRUPT, NS_SEP
from langgraph._internal._runnable import RunnableCallable, RunnableLike
from langgraph._internal._typing import MISSING, DeprecatedKwargs
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.memory import InMemorySaver, MemorySaver
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer, _msgpack_ext_hook_to_json
from langgraph.checkpoint.serde.types import ERROR, SCHEDULED, TASKS, _DeltaSnapshot
from langgraph.constants import CONF as CONF_2
from langgraph.constants import END, START, TAG_HIDDEN, Interrupt, Send
from langgraph.errors import GraphInterrupt, GraphRecursionError, InvalidUpdateError, NodeInterrupt
from langgraph.graph import add_messages
from langgraph.graph.message import AnyMessage, MessageGraph
from langgraph.graph.state import CompiledStateGraph
from langgraph.graph.ui import push_ui_message, ui_message_reducer
from langgraph.managed.is_last_step import RemainingSteps
from langgraph.prebuilt import (
    InjectedState,
    InjectedStore,
    ToolNode,
    ToolRuntime,
    ValidationNode,
    create_react_agent,
    tools_condition,
)
from langgraph.prebuilt.chat_agent_executor import AgentState, StateSchemaType, _should_bind_tools
from langgraph.prebuilt.interrupt import ActionRequest, HumanInterrupt, HumanInterruptConfig, HumanResponse
from langgraph.prebuilt.tool_node import msg_content_output
from langgraph.pregel import Pregel
from langgraph.pregel.remote import RemoteGraph
from langgraph.runtime import Runtime
from langgraph.stream._mux import StreamMux, TransformerFactory
from langgraph.stream._types import ProtocolEvent, StreamTransformer
from langgraph.stream.transformers import _TasksLifecycleBase
from langgraph.types import Command, StreamWriter
from langgraph.utils.config import get_config, get_store
from langgraph.utils.runnable import RunnableCallable as Callable2

print(CONF == CONF_2, CONFIG_KEY_RUNTIME, INTERRUPT, NS_SEP, ERROR, SCHEDULED, TASKS, TAG_HIDDEN, START, END)
print(RunnableCallable is Callable2, InMemorySaver is MemorySaver, issubclass(CompiledStateGraph, Pregel))
print(issubclass(NodeInterrupt, GraphInterrupt))
print(
    patch_configurable({"tags": ["x"]}, {"thread_id": "1"}), merge_configs({"tags": ["a"]}, {"tags": ["b"]})
)
print(sorted(ensure_config({"configurable": {"a": 1}})), uuid6().version)
print(HumanInterrupt(action_request=ActionRequest(action="a", args={}), config=None, description=None))
print(sorted(HumanInterruptConfig.__annotations__), sorted(HumanResponse.__annotations__))
print(sorted(AgentState.__annotations__), DeprecatedKwargs.__annotations__)
print(RunnableCallable(lambda x: x + 1).invoke(1), isinstance(Send("a", 1), Send), Command(goto="x").goto)
