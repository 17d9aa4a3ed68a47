"""A run as events: its projections, its output, and that it goes on only while somebody reads."""

from __future__ import annotations

import pytest

from stepgraph.checkpoint.memory import InMemorySaver
from stepgraph.errors import GraphDrained
from stepgraph.runtime import RunControl
from stepgraph.stream import GraphRunStream, StreamChannel
from stepgraph.types import interrupt
from stream.graphs import bad, brief, chain, one, two

GIVEN = {"log": ["in"]}
STATES = [{"log": ["in"]}, {"log": ["in", "one"]}, {"log": ["in", "one", "two"]}]


def run(graph, **options):
    return graph.stream_events(GIVEN, version="v3", **options)


def test_events_are_numbered_and_hold_the_states():
    events = list(run(chain(one, two)))
    assert [event["params"]["data"] for event in events] == STATES
    assert [event["seq"] for event in events] == [1, 2, 3]
    first = events[0]
    assert (first["type"], first["method"]) == ("event", "values")
    assert set(first["params"]) == {"namespace", "timestamp", "data", "interrupts"}
    assert isinstance(first["params"]["timestamp"], int)


def test_a_projection_and_the_output():
    stream = run(chain(one, two))
    assert isinstance(stream, GraphRunStream)
    assert list(stream.values) == STATES
    assert stream.output == STATES[-1]
    assert (stream.interrupted, stream.interrupts) == (False, [])


def test_the_output_alone():
    assert run(chain(one, two)).output == STATES[-1]


def test_projections_that_are_always_there():
    stream = run(chain(one))
    assert list(stream.extensions) == ["values", "messages", "lifecycle", "subgraphs"]
    assert all(isinstance(projection, StreamChannel) for projection in stream.extensions.values())
    with pytest.raises(
        AttributeError, match="registered projections: lifecycle, messages, subgraphs, values"
    ):
        stream.updates  # noqa: B018


def test_nothing_runs_before_it_is_asked_for():
    ran = []

    def note(state):
        ran.append(len(state["log"]))
        return {"log": ["x"]}

    stream = run(chain(("a", note), ("b", note)))
    assert ran == []
    values = iter(stream.values)
    next(values)
    assert ran == []
    next(values)
    assert ran == [1]


def test_a_projection_has_one_reader():
    stream = run(chain(one, two))
    iter(stream.values)
    with pytest.raises(RuntimeError, match="already has a subscriber"):
        iter(stream.values)
    events = iter(stream)
    assert len(list(events)) == 3
    with pytest.raises(RuntimeError, match="already has a subscriber"):
        iter(stream)


def test_what_nobody_reads_is_dropped():
    stream = run(chain(one, two))
    assert stream.output == STATES[-1]
    assert list(stream.values) == []


def test_every_reader_of_a_tee_gets_everything():
    first, second, third = run(chain(one, two)).values.tee(3)
    assert next(first) == STATES[0]
    assert list(second) == STATES
    assert list(first) == STATES[1:]
    assert list(third) == STATES


def test_interleaved_projections_come_in_the_order_of_the_run():
    child = chain(one, two)
    stream = run(chain(("sub", child)))
    found = [
        (name, item if name == "values" else item.path)
        for name, item in stream.interleave("values", "subgraphs")
    ]
    assert [name for name, _ in found] == ["values", "subgraphs", "values"]
    assert list(run(chain(one)).interleave()) == []
    with pytest.raises(KeyError, match="other"):
        list(run(chain(one)).interleave("other"))
    read = run(chain(one))
    iter(read.values)
    with pytest.raises(RuntimeError, match="'values' already has a subscriber"):
        list(read.interleave("values"))


def test_a_failure_reaches_every_reader():
    stream = run(chain(one, bad))
    found = []
    with pytest.raises(ValueError, match="boom"):
        for event in stream:
            found.append(event)
    assert len(found) == 2
    for read in (lambda: stream.output, lambda: stream.interrupted, lambda: list(stream.values)):
        with pytest.raises(ValueError, match="boom"):
            read()
    with pytest.raises(ValueError, match="boom"):
        list(run(chain(bad)).values)
    with pytest.raises(ValueError, match="boom"):
        list(run(chain(bad)).interleave("values"))


def test_a_pause():
    def ask(state):
        return {"log": [interrupt("q")]}

    stream = run(chain(one, ask))
    assert stream.interrupted
    assert [question.value for question in stream.interrupts] == ["q"]
    assert stream.output == STATES[1]


def test_a_drain():
    control = RunControl()

    def ask_to_stop(state):
        control.request_drain("now")
        return {}

    stream = run(
        chain(ask_to_stop, one, checkpointer=InMemorySaver()),
        config={"configurable": {"thread_id": "1"}},
        control=control,
    )
    with pytest.raises(GraphDrained):
        list(stream)


def test_abort_stops_the_run_and_keeps_what_is_done():
    graph = chain(one, two, checkpointer=InMemorySaver())
    thread = {"configurable": {"thread_id": "1"}}
    stream = run(graph, config=thread)
    values = iter(stream.values)
    next(values), next(values)
    stream.abort()
    stream.abort()
    assert list(values) == []
    assert stream.output == STATES[1]
    assert graph.get_state(thread).next == ("two",)


def test_abort_before_anything():
    stream = run(chain(one))
    stream.abort()
    assert stream.output is None
    assert list(stream) == []


def test_a_with_block_aborts():
    with run(chain(one, two)) as stream:
        next(iter(stream))
    assert stream.output == STATES[0]


def test_an_interrupted_reader_stops_the_run():
    stopped = []

    def node(state):
        try:
            raise KeyboardInterrupt
        finally:
            stopped.append(True)

    stream = run(chain(node))
    with pytest.raises(KeyboardInterrupt):
        list(stream)
    assert stopped == [True]


@pytest.mark.parametrize("version", ["v1", "v2", "v4"])
def test_other_versions(version):
    with pytest.raises(NotImplementedError, match=version):
        chain(one).stream_events(GIVEN, version=version)


@pytest.mark.parametrize("option", ["stream_mode", "subgraphs"])
def test_options_that_follow_from_the_transformers(option):
    with pytest.raises(TypeError, match=option):
        run(chain(one), **{option: "x"})


def test_options_of_streams():
    stream = run(chain(one, two), interrupt_before=["two"], output_keys="log")
    assert list(stream.values) == [["in"], ["in", "one"]]


# ---- nested graphs


def test_a_nested_graph_has_events_in_its_namespace():
    assert [brief(event) for event in run(chain(("sub", chain(one))))] == [
        ("values", (), {"log": ["in"]}),
        ("values", ("sub",), {"log": ["in"]}),
        ("lifecycle", (), _lifecycle("started")),
        ("values", ("sub",), {"log": ["in", "one"]}),
        ("lifecycle", (), _lifecycle("completed")),
        ("values", (), {"log": ["in", "in", "one"]}),
    ]


class _lifecycle:
    """Equals the data of a lifecycle event of this kind."""

    def __init__(self, event, **more):
        self.expected = {"event": event, **more}

    def __eq__(self, other):
        return self.expected.items() <= other.items()


def test_a_nested_graph_has_a_stream_of_its_own():
    stream = run(chain(("sub", chain(one, two))))
    seen = []
    for nested in stream.subgraphs:
        assert (nested.graph_name, nested.status, nested.error) == ("sub", "started", None)
        assert nested.path == (f"sub:{nested.trigger_call_id}",)
        seen += nested.values
        assert nested.output == STATES[-1]
        assert (nested.status, nested.interrupted) == ("completed", False)
    assert seen == STATES[1:]
    assert stream.output == {"log": ["in", *STATES[-1]["log"]]}


def test_streams_within_streams():
    stream = run(chain(("top", chain(("mid", chain(one))))))
    paths = []
    for top in stream.subgraphs:
        for mid in top.subgraphs:
            paths.append([part.partition(":")[0] for part in mid.path])
            assert mid.output == STATES[1]
    assert paths == [["top", "mid"]]


def test_a_nested_failure():
    stream = run(chain(("sub", chain(one, bad))))
    with pytest.raises(ValueError, match="boom"):
        for nested in stream.subgraphs:
            with pytest.raises(RuntimeError, match="boom"):
                list(nested.values)
            with pytest.raises(RuntimeError, match="boom"):
                nested.output  # noqa: B018
            assert (nested.status, nested.error) == ("failed", "boom")


def test_a_nested_pause():
    def ask(state):
        return {"log": [interrupt("q")]}

    stream = run(chain(("sub", chain(one, ask))))
    (nested,) = [(n, n.output) for n in stream.subgraphs]
    assert nested[0].status == "interrupted"
    assert [question.value for question in nested[0].interrupts] == ["q"]


def test_letting_go_of_a_nested_stream_does_not_stop_the_run():
    stream = run(chain(("sub", chain(one)), two))
    for nested in stream.subgraphs:
        nested.abort()
    assert stream.output == {"log": ["in", "in", "one", "two"]}


@pytest.mark.parametrize(
    ("inner", "status"), [((one, two), "completed"), ((one, bad), "failed")], ids=["completed", "failed"]
)
def test_the_lifecycle_of_a_graph_inside_tells_how_it_ended(inner, status):
    stream = run(chain(("sub", chain(*inner))))
    found = []
    try:
        for payload in stream.lifecycle:
            found.append(payload)
    except ValueError:
        assert status == "failed"
    started, ended = found
    assert started["event"] == "started"
    assert started["graph_name"] == "sub"
    assert ended["event"] == status
    assert ended.get("error") == ("boom" if status == "failed" else None)


def test_the_lifecycle_of_a_drained_graph():
    control = RunControl()

    def ask_to_stop(state):
        control.request_drain("now")
        return {}

    graph = chain(("sub", chain(ask_to_stop, one)), checkpointer=InMemorySaver())
    stream = run(graph, config={"configurable": {"thread_id": "1"}}, control=control)
    found = []
    with pytest.raises(GraphDrained):
        for payload in stream.lifecycle:
            found.append(payload["event"])
    assert found == ["started", "drained"]
