"""Schema classes turned into field specs: which channel, which default."""

import functools
import operator
from dataclasses import dataclass, field
from typing import Annotated, Any, Generic, NamedTuple, NotRequired, Optional, TypedDict, TypeVar

import pytest

from stepgraph.channels.any_value import AnyValue
from stepgraph.channels.binop import BinaryOperatorAggregate
from stepgraph.channels.delta import DeltaChannel
from stepgraph.channels.ephemeral_value import EphemeralValue
from stepgraph.channels.last_value import LastValue
from stepgraph.channels.topic import Topic
from stepgraph.managed.is_last_step import IsLastStep, RemainingSteps, RemainingStepsManager
from stepgraph.schema.fields import ROOT, folds_writes, parse_schema
from stepgraph.values.missing import MISSING

T = TypeVar("T")


def channel_of(annotation: Any) -> Any:
    """The channel of a field with this annotation."""

    class State(TypedDict):
        x: annotation  # type: ignore[valid-type]

    return parse_schema(State).fields["x"].channel


def join(left: list[Any], right: list[Any]) -> list[Any]:
    return left + right


class Reducers:
    def method(self, left: Any, right: Any) -> Any:
        return left or right

    @staticmethod
    def static(left: Any, right: Any) -> Any:
        return left or right

    def __call__(self, left: Any, right: Any) -> Any:
        return left or right


def three(first: Any, second: Any, third: Any = None) -> Any:
    return second


def with_key(left: Any, right: Any, *, key: str = "id") -> Any:
    return right


class TestWhichChannel:
    def test_a_plain_field_is_a_last_value_of_its_type(self) -> None:
        channel = channel_of(int)
        assert type(channel) is LastValue
        assert channel.typ is int
        assert channel.key == "x"

    def test_a_reducer_as_last_metadata_aggregates(self) -> None:
        channel = channel_of(Annotated[list[int], "note", operator.add])
        assert type(channel) is BinaryOperatorAggregate
        assert channel.operator is operator.add
        assert channel.typ == list[int]

    def test_a_reducer_that_is_not_last_does_not_count(self) -> None:
        assert type(channel_of(Annotated[list, operator.add, "note"])) is LastValue

    @pytest.mark.parametrize(
        "metadata", [(Topic(str),), (Topic(str), "note"), ("note", Topic(str)), (Topic(str), LastValue(int))]
    )
    def test_a_channel_counts_anywhere_and_the_first_one_wins(self, metadata: tuple[Any, ...]) -> None:
        channel = channel_of(Annotated[(list, *metadata)])
        assert type(channel) is Topic
        assert channel.typ is str

    def test_a_channel_class_takes_the_type_of_the_field(self) -> None:
        channel = channel_of(Annotated[str, EphemeralValue, "note"])
        assert type(channel) is EphemeralValue
        assert channel.typ is str

    def test_a_channel_goes_before_a_reducer(self) -> None:
        assert type(channel_of(Annotated[list, AnyValue, operator.add])) is AnyValue

    def test_a_channel_object_is_copied_and_not_changed(self) -> None:
        mine = Topic(str, True)
        channel = channel_of(Annotated[list, mine])
        assert channel is not mine
        assert mine.key == ""
        assert channel.accumulate is True

    def test_a_delta_channel_takes_the_type_of_the_field(self) -> None:
        channel = channel_of(Annotated[dict, DeltaChannel(join, snapshot_frequency=7)])
        assert channel.typ is dict
        assert channel.reducer is join
        assert channel.snapshot_frequency == 7

    def test_a_managed_value_as_last_metadata(self) -> None:
        class State(TypedDict):
            x: int
            left: RemainingSteps
            last: NotRequired[IsLastStep]

        spec = parse_schema(State)
        assert list(spec.channels) == ["x"]
        assert spec.managed["left"] is RemainingStepsManager
        assert spec.fields["last"].is_managed
        assert not spec.fields["x"].is_managed

    def test_a_managed_value_that_is_not_last_does_not_count(self) -> None:
        assert type(channel_of(Annotated[int, RemainingStepsManager, "note"])) is LastValue

    def test_a_reducer_inside_optional_does_not_count(self) -> None:
        assert type(channel_of(Optional[Annotated[list, operator.add]])) is LastValue

    def test_wrappers_do_not_hide_a_reducer(self) -> None:
        assert channel_of(NotRequired[Annotated[list, operator.add]]).operator is operator.add
        assert channel_of(Annotated[NotRequired[list], operator.add]).typ is list


class TestReducers:
    @pytest.mark.parametrize(
        "reducer",
        [
            max,
            set.union,
            operator.add,
            operator.or_,
            join,
            three,
            with_key,
            lambda *values: values[-1],
            lambda left, *rest: left,
            Reducers().method,
            Reducers.static,
            Reducers(),
            functools.partial(three, third=1),
            functools.partial(lambda limit, left, right: left, 3),
        ],
    )
    def test_anything_that_takes_two_positional_arguments_serves(self, reducer: Any) -> None:
        assert channel_of(Annotated[Any, reducer]).operator is reducer

    @pytest.mark.parametrize(
        ("reducer", "shown"),
        [
            (lambda one: one, r"\(one\)"),
            (lambda a, b, c: a, r"\(a, b, c\)"),
            (lambda: None, r"\(\)"),
            (functools.partial(join, []), r"\(right\)"),
        ],
    )
    def test_another_arity_is_an_error_that_names_the_field_and_its_parameters(
        self, reducer: Any, shown: str
    ) -> None:
        with pytest.raises(ValueError, match=rf"Invalid reducer signature.*Got {shown}.*'x' of State"):
            channel_of(Annotated[list, reducer])

    def test_a_required_keyword_makes_a_reducer_unusable(self) -> None:
        def keyed(left: Any, right: Any, *, key: str) -> Any:
            return left

        with pytest.raises(ValueError, match="keyed"):
            channel_of(Annotated[list, keyed])

    def test_the_spec_names_the_reducer(self) -> None:
        class State(TypedDict):
            a: Annotated[list, join]
            b: list
            c: Annotated[list, Topic(str)]

        fields = parse_schema(State).fields
        assert [fields[name].reducer for name in "abc"] == [join, None, None]

    def test_folds_writes_tells_plain_fields_from_others(self) -> None:
        assert folds_writes(Annotated[list, operator.add])
        assert folds_writes(Annotated[list, Topic(str), "note"])
        assert not folds_writes(Annotated[list, "note"])
        assert not folds_writes(list)


class TestKinds:
    def test_typed_dict(self) -> None:
        class State(TypedDict):
            x: int

        spec = parse_schema(State)
        assert spec.kind == "typeddict"
        assert spec.schema is State

    def test_inherited_typed_dicts_come_before_their_heirs_fields(self) -> None:
        class Base(TypedDict):
            x: Annotated[list, operator.add]

        class Heir(Base, total=False):
            y: int

        spec = parse_schema(Heir)
        assert list(spec.fields) == ["x", "y"]
        assert spec.fields["x"].required
        assert not spec.fields["y"].required

    def test_annotated_class(self) -> None:
        class State:
            x: int
            y: str = "a"

        spec = parse_schema(State)
        assert spec.kind == "class"
        assert spec.fields["x"].default is MISSING
        assert spec.fields["y"].default == "a"

    def test_a_slot_is_no_default(self) -> None:
        class State:
            __slots__ = ("x",)
            x: int

        assert not parse_schema(State).fields["x"].has_default

    def test_named_tuple(self) -> None:
        class Pair(NamedTuple):
            x: int
            y: int = 4

        spec = parse_schema(Pair)
        assert spec.kind == "class"
        assert not spec.fields["x"].has_default
        assert spec.fields["y"].make_default() == 4

    @pytest.mark.parametrize("schema", [list, dict, int, list[int], Optional[int], Any])
    def test_a_bare_type_is_a_state_of_one_value(self, schema: Any) -> None:
        spec = parse_schema(schema)
        assert spec.kind == "root"
        assert list(spec.fields) == [ROOT]
        assert type(spec.channels[ROOT]) is LastValue

    def test_a_bare_type_with_a_reducer(self) -> None:
        channel = parse_schema(Annotated[list, operator.add]).channels[ROOT]
        assert isinstance(channel, BinaryOperatorAggregate)

    def test_generic_dataclass_with_arguments(self) -> None:
        @dataclass
        class Box(Generic[T]):
            items: Annotated[list[T], operator.add] = field(default_factory=list)

        spec = parse_schema(Box[int])
        assert spec.kind == "dataclass"
        assert spec.fields["items"].type == list[int]

    def test_the_same_class_gives_the_same_spec(self) -> None:
        class State(TypedDict):
            x: int

        assert parse_schema(State) is parse_schema(State)

    def test_unhashable_metadata_is_no_obstacle(self) -> None:
        assert parse_schema(Annotated[list, {"a": []}]).kind == "root"


class TestDefaults:
    def test_a_typed_dict_declares_none(self) -> None:
        class State(TypedDict):
            x: Annotated[list, operator.add]

        assert not parse_schema(State).fields["x"].has_default

    def test_dataclass_values_and_factories(self) -> None:
        @dataclass
        class State:
            x: int
            y: Annotated[int, operator.add] = 5
            z: Annotated[list, operator.add] = field(default_factory=lambda: ["base"])

        fields = parse_schema(State).fields
        assert not fields["x"].has_default
        assert fields["x"].required
        assert fields["y"].make_default() == 5
        assert not fields["z"].required
        assert fields["z"].make_default() == ["base"]

    def test_a_reducer_starts_from_the_declared_default(self) -> None:
        @dataclass
        class State:
            tags: Annotated[list, operator.add] = field(default_factory=lambda: ["base"])

        channel: Any = parse_schema(State).fields["tags"].channel
        channel = channel.from_checkpoint(MISSING)
        channel.update([["x"]])
        assert channel.get() == ["base", "x"]

    def test_each_default_is_an_object_of_its_own(self) -> None:
        class State:
            tags: list = []

        spec = parse_schema(State).fields["tags"]
        first = spec.make_default()
        first.append(1)
        assert spec.make_default() == []
        assert State.tags == []


def test_reading_fields_imports_no_heavy_library() -> None:
    import subprocess
    import sys

    program = (
        "import sys; import stepgraph.schema.fields, stepgraph.schema.objects, stepgraph.schema.callables\n"
        "import stepgraph.schema.merge, stepgraph.schema.validate\n"
        "from typing import TypedDict, Annotated\nimport operator\n"
        "class S(TypedDict):\n    x: Annotated[list, operator.add]\n"
        "stepgraph.schema.fields.parse_schema(S)\n"
        "heavy = {'pydantic', 'asyncio', 'inspect', 'dataclasses', 'sqlite3', 'logging', 'langchain_core', 'numpy'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    path = {"PYTHONPATH": ":".join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=path, check=False
    )
    assert done.returncode == 0, done.stderr
