"""Testing graphs that are made of graphs: a stand-in for a child, and a check that a child keeps what its parents count on.

Rules: nothing here needs a test framework; what is wrong is raised as `AssertionError`, all of it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stepgraph.graph.state import StateGraph
from stepgraph.schema.annotations import bare_type
from stepgraph.schema.check import check_value
from stepgraph.schema.fields import parse_schema
from stepgraph.values.names import START

if TYPE_CHECKING:
    from stepgraph.graph.compiled import CompiledStateGraph

__all__ = ("Stub", "check_contract", "stub_subgraph")


class Stub(NamedTuple):
    """A stand-in for a graph.

    Attributes:
        graph: The stand-in; use it where the graph would be.
        inputs: What it was given, call by call.
    """

    graph: CompiledStateGraph[Any, Any, Any, Any]
    inputs: list[Any]


def stub_subgraph(child: CompiledStateGraph[Any, Any, Any, Any], output: Any) -> Stub:
    """A graph with the schemas of another one that does nothing but answer.

    Args:
        child: The graph that it stands for. It is not run.
        output: What it answers: an update of the child's state, as a node returns one; an exception, to raise it; or a
            function of the state that returns one or the other.

    Returns:
        The stand-in, and the list of what it is given.

    Example:
        >>> from typing import TypedDict
        >>> class State(TypedDict, total=False):
        ...     question: str
        ...     answer: str
        >>> child = StateGraph(State).add_node("think", lambda state: {}).add_edge(START, "think").compile()
        >>> stub = stub_subgraph(child, {"answer": "42"})
        >>> parent = StateGraph(State).add_node("child", stub.graph).add_edge(START, "child").compile()
        >>> parent.invoke({"question": "?"}), stub.inputs
        ({'question': '?', 'answer': '42'}, [{'question': '?'}])
    """
    declared = child.builder
    inputs: list[Any] = []

    def stub(state: Any) -> Any:
        inputs.append(dict(state) if isinstance(state, Mapping) else state)
        answer = output(state) if callable(output) and not isinstance(output, type) else output
        if isinstance(answer, BaseException):
            raise answer
        return answer

    builder: StateGraph[Any, Any, Any, Any] = StateGraph(
        declared.state_schema,
        declared.context_schema,
        input_schema=declared.input_schema,
        output_schema=declared.output_schema,
    )
    builder.add_node("stub", stub, input_schema=declared.input_schema)
    builder.add_edge(START, "stub")
    checkpointer = child.checkpointer if isinstance(child.checkpointer, bool) else None
    return Stub(builder.compile(checkpointer, name=child.name), inputs)


def check_contract(
    child: CompiledStateGraph[Any, Any, Any, Any],
    *,
    takes: Mapping[str, Any],
    gives: Mapping[str, Any],
    examples: Iterable[Any] = (),
    run: Callable[[Any], Any] | None = None,
) -> None:
    """Check that a graph takes and gives what others count on.

    Args:
        child: The graph.
        takes: Field to type: what its callers pass.
        gives: Field to type: what its callers use of its output.
        examples: Inputs. The graph is run on each, and its output is held against `gives`.
        run: How to run it; by default `child.invoke`.

    Raises:
        AssertionError: Every difference, each with the field and what to do.

    Example:
        >>> from typing import TypedDict
        >>> class State(TypedDict, total=False):
        ...     question: str
        ...     answer: str
        >>> child = StateGraph(State).add_node("think", lambda state: {"answer": "42"}).add_edge(START, "think").compile()
        >>> check_contract(child, takes={"question": str}, gives={"answer": str}, examples=[{"question": "?"}])
    """
    faults = [
        *_missing("takes", takes, child.builder.input_schema),
        *_missing("gives", gives, child.builder.output_schema),
    ]
    for example in examples:
        output = (run or child.invoke)(example)
        faults += [f"with the input {example!r}, {fault}" for fault in _unlike(output, gives)]
    if faults:
        name = f"Graph {child.name!r}"
        raise AssertionError(
            "\n".join([f"{name} does not keep its contract:", *(f"- {one}" for one in faults)])
        )


def _missing(verb: str, contract: Mapping[str, Any], schema: Any) -> list[str]:
    """Where a schema differs from what it is to have."""
    fields = parse_schema(schema).fields
    where = f"its {'input' if verb == 'takes' else 'output'} schema {getattr(schema, '__name__', schema)!s}"
    faults = []
    for name, hint in contract.items():
        if name not in fields:
            known = ", ".join(map(repr, fields)) or "none"
            faults.append(f"it {verb} no field {name!r}: {where} has {known}")
        elif hint is not Any and bare_type(fields[name].annotation) != bare_type(hint):
            found = bare_type(fields[name].annotation)
            faults.append(
                f"it {verb} {name!r} as {_shown(found)}, not as {_shown(bare_type(hint))}: see {where}"
            )
    return faults


def _unlike(output: Any, gives: Mapping[str, Any]) -> list[str]:
    """Where an output differs from what it is to be."""
    faults = []
    for name, hint in gives.items():
        value = output.get(name, _NOTHING) if isinstance(output, Mapping) else getattr(output, name, _NOTHING)
        if value is _NOTHING:
            faults.append(f"its output has no {name!r}")
            continue
        try:
            fits = type(check_value(hint, value)) is type(value)
        except ValueError:
            fits = False
        if not fits:
            faults.append(f"its output has {name!r} as {value!r}, which is no {_shown(bare_type(hint))}")
    return faults


_NOTHING = object()


def _shown(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and not getattr(hint, "__args__", None) else str(hint)
