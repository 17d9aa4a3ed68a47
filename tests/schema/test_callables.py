"""What callables ask for: state schema, injected values, targets, names, arity."""

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, Optional, Protocol, TypedDict, TypeVar

import pytest

from stepgraph.schema.callables import (
    command_targets,
    describe_parameters,
    injected_parameters,
    input_schema_of,
    literal_targets,
    name_of,
    positional_arity,
    return_hint_of,
    state_parameter_of,
)
from stepgraph.schema.signatures import signature_of
from stepgraph.values.commands import Command, Send

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig

    from stepgraph.errors import NodeError
    from stepgraph.store.base import BaseStore
    from stepgraph.types import StreamWriter
    from stepgraph.values.runtime import Runtime

T = TypeVar("T")


class Public(TypedDict, total=False):
    a: int


class Private(TypedDict, total=False):
    secret: str


@dataclass
class Holder(Generic[T]):
    item: T


class Has(Protocol):
    a: int


def plain(state: Private) -> Public: ...
async def asynchronous(state: Private) -> Public: ...
def quoted(state: "Private") -> Public: ...
def third(tag: str, state: Private) -> Public: ...
def config_first(config: Public, state: Private) -> Public: ...
def passed_on(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def with_own_signature(function: Any) -> Any:
    @functools.wraps(function)
    def wrapper(s):  # type: ignore[no-untyped-def]
        return function(s)

    return wrapper


class Nodes:
    def method(self, state: Private) -> Public: ...

    @classmethod
    def class_method(cls, state: Private) -> Public: ...

    @staticmethod
    def static_method(state: Private) -> Public: ...

    @passed_on
    def decorated(self, state: Private) -> Public: ...

    def __call__(self, state: Private) -> Public: ...


class AsyncNode:
    async def __call__(self, state: Private) -> Public: ...


class Decorator:
    def __init__(self, function: Any) -> None:
        functools.update_wrapper(self, function)
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


class TestInputSchema:
    @pytest.mark.parametrize(
        "action",
        [
            plain,
            asynchronous,
            quoted,
            Nodes().method,
            Nodes.class_method,
            Nodes.static_method,
            Nodes().decorated,
            Nodes(),
            AsyncNode(),
            Decorator(plain),
            passed_on(plain),
            passed_on(passed_on(plain)),
            with_own_signature(plain),
            passed_on(with_own_signature(plain)),
            functools.lru_cache(plain),
            functools.partial(third, "tag"),
            functools.partial(third, tag="tag"),
            functools.partial(functools.partial(third, "tag")),
            functools.partial(Nodes().method),
            passed_on(functools.partial(third, "tag")),
        ],
    )
    def test_the_first_unbound_parameter_tells(self, action: Any) -> None:
        assert input_schema_of(action) is Private

    def test_a_parameter_is_the_state_by_position_whatever_its_name(self) -> None:
        assert input_schema_of(config_first) is Public

    def test_a_generic_schema_keeps_its_arguments(self) -> None:
        def node(state: Holder[int]) -> None: ...

        assert input_schema_of(node) == Holder[int]

    @pytest.mark.parametrize(
        "annotation", [Any, dict, dict[str, int], Optional[Private], int, str, Has, list[Private]]
    )
    def test_annotations_that_are_no_schema_mean_the_state(self, annotation: Any) -> None:
        def node(state: Any) -> None: ...

        node.__annotations__["state"] = annotation
        assert input_schema_of(node) is None

    @pytest.mark.parametrize(
        "action", [lambda state: None, lambda: None, len, max, print, functools.partial(plain, {})]
    )
    def test_without_an_annotation_there_is_none(self, action: Any) -> None:
        assert input_schema_of(action) is None

    def test_variable_arguments_tell_nothing(self) -> None:
        def node(*states: Private) -> None: ...

        assert input_schema_of(node) is None

    def test_an_unknown_name_tells_nothing(self) -> None:
        def node(state: "NotDefinedAnywhere") -> None: ...  # type: ignore[name-defined]  # noqa: F821

        assert input_schema_of(node) is None

    def test_graphs_and_runnables_are_not_asked(self) -> None:
        class Graph:
            def invoke(self, state: Private) -> None: ...

            def __call__(self, state: Private) -> None: ...

        assert input_schema_of(Graph()) is None

    def test_a_schema_local_to_the_running_function_is_found(self) -> None:
        class Local(TypedDict):
            x: int

        def node(state: "Local") -> None: ...

        assert input_schema_of(node) is Local


class TestStateParameter:
    def test_a_partial_that_binds_by_keyword_leaves_a_later_parameter(self) -> None:
        parameter = state_parameter_of(functools.partial(third, tag="t"))
        assert parameter is not None
        assert parameter.name == "state"

    def test_nothing_takes_no_state(self) -> None:
        assert state_parameter_of(lambda: None) is None

    def test_variable_arguments_take_it(self) -> None:
        parameter = state_parameter_of(lambda *args: None)
        assert parameter is not None
        assert parameter.name == "args"


class TestInjection:
    def test_by_name(self) -> None:
        def node(state, config, *, runtime, writer, store, previous): ...  # type: ignore[no-untyped-def]

        assert injected_parameters(node) == {
            name: name for name in ("config", "runtime", "writer", "store", "previous")
        }

    def test_by_annotation_under_another_name_even_if_it_cannot_be_imported(self) -> None:
        def node(
            state: Public,
            c: "RunnableConfig",
            r: "Runtime[Public]",
            w: "StreamWriter",
            s: "BaseStore | None" = None,
            o: "Optional[RunnableConfig]" = None,
        ) -> None: ...

        assert injected_parameters(node) == {
            "c": "config",
            "r": "runtime",
            "w": "writer",
            "s": "store",
            "o": "config",
        }

    def test_by_annotation_that_is_evaluated(self) -> None:
        from stepgraph.values.runtime import Runtime

        def node(
            state: Public, r: Runtime[Public], w: Callable[[Any], None], o: Runtime | None = None
        ) -> None: ...

        assert injected_parameters(node) == {"r": "runtime", "w": "writer", "o": "runtime"}

    def test_the_error_of_an_error_handler(self) -> None:
        from stepgraph.errors import NodeError

        def evaluated(state: Public, failure: NodeError) -> None: ...
        def written(state: Public, failure: "NodeError") -> None: ...

        assert injected_parameters(evaluated) == injected_parameters(written) == {"failure": "error"}

    def test_never_the_state_parameter(self) -> None:
        def node(store, config): ...  # type: ignore[no-untyped-def]

        assert injected_parameters(node) == {"config": "config"}

    def test_never_what_a_partial_binds(self) -> None:
        def node(state, config, store): ...  # type: ignore[no-untyped-def]

        assert injected_parameters(functools.partial(node, config={})) == {"store": "store"}

    def test_never_variable_arguments(self) -> None:
        def node(state, *config, **store): ...  # type: ignore[no-untyped-def]

        assert injected_parameters(node) == {}

    def test_a_name_with_another_type_and_a_default_is_the_persons_own(self) -> None:
        def node(state: Public, config: int = 5, store: str = "shop", writer: str = "me") -> None: ...

        assert injected_parameters(node) == {}

    def test_a_name_with_another_type_that_nobody_else_can_fill_is_injected(self) -> None:
        def node(state: Public, runtime: int) -> None: ...

        assert injected_parameters(node) == {"runtime": "runtime"}

    def test_loose_types_beside_a_default_are_injected(self) -> None:
        def node(
            state: Public,
            config: Optional[dict] = None,
            writer: Optional[Callable[..., Any]] = None,
            store: Any = None,
            previous: Optional[int] = None,
        ) -> None: ...

        assert list(injected_parameters(node)) == ["config", "writer", "store", "previous"]

    def test_a_container_of_a_known_type_is_no_request(self) -> None:
        def node(state: Public, configs: "list[RunnableConfig] | None" = None) -> None: ...

        assert injected_parameters(node) == {}

    def test_through_methods_objects_and_decorators(self) -> None:
        class Node:
            def method(self, state, config): ...  # type: ignore[no-untyped-def]

            @passed_on
            def decorated(self, state, *, store): ...  # type: ignore[no-untyped-def]

            def __call__(self, state, runtime): ...  # type: ignore[no-untyped-def]

        assert injected_parameters(Node().method) == {"config": "config"}
        assert injected_parameters(Node().decorated) == {"store": "store"}
        assert injected_parameters(Node()) == {"runtime": "runtime"}

    def test_a_decorator_of_its_own_signature_hides_what_is_inside(self) -> None:
        def node(state, config): ...  # type: ignore[no-untyped-def]

        assert injected_parameters(with_own_signature(node)) == {}

    def test_builtins_ask_for_nothing(self) -> None:
        assert injected_parameters(max) == {}


class TestTargets:
    @pytest.mark.parametrize(
        ("hint", "expected"),
        [
            (Literal["a", "b"], ("a", "b")),
            (Literal["a"] | Literal["b"], ("a", "b")),
            (list[Literal["a", "b"]], ("a", "b")),
            (Sequence[Literal["a"]], ("a",)),
            (tuple[Literal["a"], ...], ("a",)),
            (Literal["a"] | Send, ("a",)),
            (Optional[Literal["a"]], ("a",)),
            (Literal["a"] | list[Literal["b"]], ("a", "b")),
        ],
    )
    def test_literal_targets(self, hint: Any, expected: tuple[str, ...]) -> None:
        assert literal_targets(hint) == expected

    @pytest.mark.parametrize(
        "hint", [None, str, Any, list, list[str], Literal["a"] | str, Send, list[Send], dict[str, int]]
    )
    def test_hints_that_do_not_list_all_names_give_none(self, hint: Any) -> None:
        assert literal_targets(hint) is None

    @pytest.mark.parametrize(
        ("hint", "expected"),
        [
            (Command[Literal["a", "b"]], ("a", "b")),
            (Command[Literal["a"]] | Command[Literal["b"]], ("a", "b")),
            (Command[Literal["a"]] | dict, ("a",)),
            (Optional[Command[Literal["a"]]], ("a",)),
            (list[Command[Literal["a"]]], ("a",)),
            (Command[str], ()),
            (Command, ()),
            (Literal["a"], ()),
            (dict, ()),
            (None, ()),
        ],
    )
    def test_command_targets(self, hint: Any, expected: tuple[str, ...]) -> None:
        assert command_targets(hint) == expected

    def test_the_return_hint_of_functions_methods_and_objects(self) -> None:
        class Path:
            def method(self, state: Public) -> 'Literal["a"]': ...  # type: ignore[empty-body]

            async def __call__(self, state: Public) -> Literal["b"]: ...  # type: ignore[empty-body]

        assert return_hint_of(Path().method) == Literal["a"]
        assert return_hint_of(Path()) == Literal["b"]
        assert return_hint_of(functools.partial(plain)) is Public
        assert return_hint_of(lambda state: "a") is None
        assert return_hint_of(len) is None


class TestNames:
    def test_functions_methods_objects_partials(self) -> None:
        assert name_of(plain) == "plain"
        assert name_of(Nodes().method) == "method"
        assert name_of(Nodes()) == "Nodes"
        assert name_of(functools.partial(third, "a")) == "third"
        assert name_of(functools.partial(functools.partial(third, "a"))) == "third"
        assert name_of(lambda state: state) == "<lambda>"
        assert name_of(passed_on(plain)) == "plain"

    def test_a_graph_tells_its_own(self) -> None:
        class Graph:
            name = "agent"

            def get_name(self) -> str:
                return "The agent"

        class Named:
            name = "agent"

        assert name_of(Graph()) == "The agent"
        assert name_of(Named()) == "agent"


class TestArity:
    @pytest.mark.parametrize(
        ("action", "expected"),
        [
            (lambda: None, (0, 0)),
            (lambda a, b: None, (2, 2)),
            (lambda a, b=1, /, *, c=2: None, (1, 2)),
            (lambda a, *rest: None, (1, None)),
            (lambda **names: None, (0, 0)),
            (lambda a, *, b: None, (1, 0)),
            (functools.partial(lambda a, b, c: None, 1), (2, 2)),
            (functools.partial(lambda a, b, c: None, c=1), (2, 2)),
            (operator.add, (2, 2)),
            (Nodes().method, (1, 1)),
            (Holder, (1, 1)),
            (max, None),
        ],
    )
    def test_least_and_most(self, action: Any, expected: Any) -> None:
        assert positional_arity(action) == expected

    @pytest.mark.parametrize(
        "builtin",
        [
            operator.add,
            operator.or_,
            operator.itemgetter,
            len,
            list.__add__,
            [].append,
            dict.update,
            "".join,
            sorted,
        ],
    )
    def test_builtins_tell_what_inspect_tells(self, builtin: Any) -> None:
        from inspect import signature

        try:
            expected = list(signature(builtin).parameters)
        except ValueError:
            assert signature_of(builtin) is None
        else:
            found = signature_of(builtin)
            assert found is not None
            assert [parameter.name for parameter in found.parameters] == expected

    def test_parameters_as_a_person_writes_them(self) -> None:
        def function(a, /, b=1, *rest, c, d=2, **names): ...  # type: ignore[no-untyped-def]

        assert describe_parameters(function) == "a, b=..., *rest, c, d=..., **names"
        assert describe_parameters(max) == "..."
