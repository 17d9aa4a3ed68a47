"""Reserved names: every string with a meaning of its own on the wire, each with what it means.

These strings cross process borders (checkpoints, streams, configs, metadata), so they never change. Code in other rooms
imports them from here and never spells them out.
"""

from __future__ import annotations

from typing import Final

# The two ends of a graph.
START: Final = "__start__"
"""The hidden first node, and the channel that carries the input to it."""
END: Final = "__end__"
"""The target that means: this path is over."""

# Channels that are no fields.
ROOT: Final = "__root__"
"""The channel of a state that is a single value, not a set of fields."""
TASKS: Final = "__pregel_tasks"
"""The channel that holds the pending `Send`s."""
BRANCH_TO: Final = "branch:to:"
"""Prefix of the channel that triggers one node: `branch:to:{node}`."""
JOIN: Final = "join:"
"""Prefix of the channel of a waiting edge: `join:{a}+{b}:{c}`."""
GRAPH_SHAPE: Final = "__graph_shape__"
"""The channel that says which graph stored a checkpoint; our savers keep it out of sight."""

# Names under which writes of a task are stored that are no writes to a channel.
INPUT: Final = "__input__"
"""The input of a run, as the writer of its first writes; in `update_state` the node name for "take this as input"."""
COPY: Final = "__copy__"
"""In `update_state` the node name for "fork the checkpoint as it is"."""
INTERRUPT: Final = "__interrupt__"
"""The pauses of a task, and the key under which a run returns them."""
RESUME: Final = "__resume__"
"""The answers that a task was given to its pauses."""
ERROR: Final = "__error__"
"""The exception a task ended with."""
ERROR_SOURCE_NODE: Final = "__error_source_node__"
"""The node whose failure an error handler is about to handle."""
NO_WRITES: Final = "__no_writes__"
"""A task ended and wrote nothing."""
SCHEDULED: Final = "__scheduled__"
"""A task was scheduled (kept for readers of old data)."""
RETURN: Final = "__return__"
"""The return value of a `@task` call."""
PREVIOUS: Final = "__previous__"
"""What an entrypoint saved for its next run."""
SNAPSHOT_BUMPS: Final = "__snapshot_bumps__"
"""Counts of versions since a channel's last snapshot (kept for readers of old data)."""
OVERWRITE: Final = "__overwrite__"
"""The only key of a dict that means the same as `Overwrite(value)`."""

# How a task came to be, the first part of its path.
PUSH: Final = "__pregel_push"
"""A task made by a `Send` or a `@task` call."""
PULL: Final = "__pregel_pull"
"""A task made because a trigger channel changed."""

# Namespaces: `node:task_id|node:task_id`.
NS_SEP: Final = "|"
"""Stands between the levels of a namespace."""
NS_END: Final = ":"
"""Stands between a node's name and its task's id within one level."""
NULL_TASK_ID: Final = "00000000-0000-0000-0000-000000000000"
"""The task id of writes that belong to no task."""

# Tags and metadata.
TAG_HIDDEN: Final = "langsmith:hidden"
"""Tag of a node or run that tracing and streams leave out."""
TAG_NOSTREAM: Final = "nostream"
"""Tag of a chat model whose tokens are not streamed."""
METADATA_NODE: Final = "langgraph_node"
"""Metadata key: the node a run belongs to."""
METADATA_STEP: Final = "langgraph_step"
"""Metadata key: the superstep."""
METADATA_TRIGGERS: Final = "langgraph_triggers"
"""Metadata key: the channels that triggered the task."""
METADATA_PATH: Final = "langgraph_path"
"""Metadata key: the task's path."""
METADATA_NS: Final = "langgraph_checkpoint_ns"
"""Metadata key: the task's namespace."""

# Keys of a config.
CONF: Final = "configurable"
"""The key of a config that holds all the keys below."""
CONFIG_KEY_THREAD_ID: Final = "thread_id"
"""Which thread."""
CONFIG_KEY_CHECKPOINT_NS: Final = "checkpoint_ns"
"""Which level of the thread; the root is the empty string."""
CONFIG_KEY_CHECKPOINT_ID: Final = "checkpoint_id"
"""Which checkpoint; without it, the newest."""
CONFIG_KEY_CHECKPOINT_MAP: Final = "checkpoint_map"
"""Namespace to checkpoint id, for every level above."""
CONFIG_KEY_SEND: Final = "__pregel_send"
"""Function that takes a task's writes."""
CONFIG_KEY_READ: Final = "__pregel_read"
"""Function that reads the state, with or without the task's own writes."""
CONFIG_KEY_CALL: Final = "__pregel_call"
"""Function that starts a `@task`."""
CONFIG_KEY_CHECKPOINTER: Final = "__pregel_checkpointer"
"""The saver that a child inherits."""
CONFIG_KEY_STREAM: Final = "__pregel_stream"
"""Where a child sends its events."""
CONFIG_KEY_STREAM_MESSAGES_V2: Final = "__pregel_stream_messages_v2"
"""Whether messages are streamed in their second form."""
CONFIG_KEY_CACHE: Final = "__pregel_cache"
"""The cache that a child inherits."""
CONFIG_KEY_RESUMING: Final = "__pregel_resuming"
"""Whether the run goes on from a checkpoint."""
CONFIG_KEY_TASK_ID: Final = "__pregel_task_id"
"""The id of the task at work."""
CONFIG_KEY_RUNNER_SUBMIT: Final = "__pregel_runner_submit"
"""Function that runs work beside the task."""
CONFIG_KEY_DURABILITY: Final = "__pregel_durability"
"""The durability that a child inherits."""
CONFIG_KEY_RUNTIME: Final = "__pregel_runtime"
"""The `Runtime` of the task."""
CONFIG_KEY_RESUME_MAP: Final = "__pregel_resume_map"
"""Interrupt id to answer."""
CONFIG_KEY_SCRATCHPAD: Final = "__pregel_scratchpad"
"""Counters of the task: calls, pauses, children."""
CONFIG_KEY_NODE_FINISHED: Final = "__pregel_node_finished"
"""Function to call when a node ends."""
CONFIG_KEY_NODE_ERROR: Final = "__pregel_node_error"
"""The `NodeError` that an error handler is called for."""
CONFIG_KEY_READ_STATE: Final = "__pregel_read_state"
"""Function that reads the whole state of the level."""
CONFIG_KEY_REPLAY_STATE: Final = "__pregel_replay_state"
"""From where children load while an old checkpoint is replayed."""
CONFIG_KEY_STRICT_RESUME: Final = "__pregel_strict_resume"
"""Whether answers to unknown pauses are errors."""
CONFIG_KEY_TIMED_ATTEMPT_OBSERVER: Final = "__pregel_timed_attempt_observer"
"""Function that is told of progress while a timeout runs."""
CONFIG_KEY_EXPECTED_HEAD: Final = "__pregel_expected_head"
"""The checkpoint id that a writer expects as the head of its thread and namespace."""
METADATA_KEY_TRACE: Final = "__traceparent"
"""Key of a checkpoint's metadata: the trace and span of the run that stored it, where runs are traced; shown to nobody."""
CACHE_NS_WRITES: Final = "__pregel_ns_writes"
"""First part of the cache namespace of node results."""

CHECKPOINT_COORDINATE_KEYS: Final = (
    CONFIG_KEY_THREAD_ID,
    CONFIG_KEY_CHECKPOINT_NS,
    CONFIG_KEY_CHECKPOINT_ID,
    CONFIG_KEY_CHECKPOINT_MAP,
)
"""The keys of a config that say where in storage a run is."""

RESERVED: Final = frozenset(
    {
        TAG_HIDDEN,
        INPUT,
        INTERRUPT,
        RESUME,
        ERROR,
        ERROR_SOURCE_NODE,
        NO_WRITES,
        SNAPSHOT_BUMPS,
        CONFIG_KEY_SEND,
        CONFIG_KEY_READ,
        CONFIG_KEY_CHECKPOINTER,
        CONFIG_KEY_STREAM,
        CONFIG_KEY_STREAM_MESSAGES_V2,
        CONFIG_KEY_RESUMING,
        CONFIG_KEY_TASK_ID,
        CONFIG_KEY_CHECKPOINT_MAP,
        CONFIG_KEY_CHECKPOINT_ID,
        CONFIG_KEY_CHECKPOINT_NS,
        CONFIG_KEY_RESUME_MAP,
        CONFIG_KEY_REPLAY_STATE,
        CONFIG_KEY_STRICT_RESUME,
        CONFIG_KEY_TIMED_ATTEMPT_OBSERVER,
        PUSH,
        PULL,
        NS_SEP,
        NS_END,
        CONF,
    }
)
"""Names that no node and no field may have."""
