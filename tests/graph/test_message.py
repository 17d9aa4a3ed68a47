"""`add_messages` on plain role/content dicts, without LangChain."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Annotated
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typing_extensions import TypedDict

from stepgraph.channels.binop import BinaryOperatorAggregate
from stepgraph.graph.message import REMOVE_ALL_MESSAGES, MessagesState, add_messages
from stepgraph.graph.message_forms import new_message_id
from stepgraph.schema.fields import parse_schema
from stepgraph.schema.merge import merge_field

pytestmark = pytest.mark.usefixtures("without_langchain")


def user(text, key=None):
    message = {"role": "user", "content": text}
    return message if key is None else {**message, "id": key}


def remove(key):
    return {"role": "remove", "id": key}


def test_importing_it_loads_nothing_of_langchain():
    code = (
        "import sys, stepgraph.graph.message\n"
        "print(sorted(name for name in sys.modules if name.split('.')[0] in ('langchain_core', 'pydantic', 'uuid')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_message_with_another_id_is_appended():
    assert add_messages([user("a", "1")], [user("b", "2")]) == [user("a", "1"), user("b", "2")]


def test_a_message_with_a_known_id_takes_the_place_of_the_old_one():
    merged = add_messages([user("a", "1"), user("b", "2")], [user("c", "1")])
    assert merged == [user("c", "1"), user("b", "2")]


def test_the_last_of_two_messages_with_one_id_counts():
    assert add_messages([], [user("a", "1"), user("b", "1")]) == [user("b", "1")]


def test_a_message_without_an_id_is_given_one_on_a_copy():
    given_message = user("a")
    (kept,) = add_messages([], [given_message])
    assert UUID(kept["id"]).version == 4
    assert given_message == user("a")


def test_the_same_message_without_an_id_can_be_said_twice():
    said = user("again")
    first, second = add_messages(add_messages([], said), said)
    assert first["content"] == second["content"] == "again"
    assert first["id"] != second["id"]


def test_messages_on_the_left_are_given_ids_too():
    (kept,) = add_messages([user("a")], [])
    assert kept["id"]


def test_neither_given_list_is_changed():
    left, right = [user("a", "1")], [user("b", "1"), user("c", "2")]
    add_messages(left, right)
    assert left == [user("a", "1")]
    assert right == [user("b", "1"), user("c", "2")]


def test_a_new_list_is_returned_even_when_nothing_is_added():
    left = [user("a", "1")]
    merged = add_messages(left, [])
    assert merged == left
    assert merged is not left


def test_a_text_is_a_message_of_the_user():
    (kept,) = add_messages([], "hello")
    assert (kept["role"], kept["content"]) == ("user", "hello")


def test_a_pair_is_role_and_content():
    (kept,) = add_messages([], [("assistant", "hello")])
    assert (kept["role"], kept["content"]) == ("assistant", "hello")


def test_a_single_message_stands_for_a_list_of_it():
    assert add_messages(user("a", "1"), user("b", "2")) == [user("a", "1"), user("b", "2")]


def test_what_a_provider_wants_beside_role_and_content_is_kept():
    call = {"role": "assistant", "content": None, "tool_calls": [{"id": "c", "type": "function"}], "id": "1"}
    item = {"type": "function_call_output", "call_id": "c", "output": "42", "id": "2"}
    assert add_messages([call], [item]) == [call, item]


def test_a_removal_takes_the_message_away():
    assert add_messages([user("a", "1"), user("b", "2")], [remove("1")]) == [user("b", "2")]


def test_a_message_added_and_removed_in_one_write_is_gone():
    assert add_messages([], [user("a", "1"), remove("1")]) == []


def test_a_message_removed_and_written_again_in_one_write_keeps_its_place():
    merged = add_messages([user("a", "1"), user("b", "2")], [remove("1"), user("c", "1")])
    assert merged == [user("c", "1"), user("b", "2")]


def test_removing_an_unknown_message_is_an_error_that_names_it():
    with pytest.raises(ValueError, match=r"doesn't exist \('7'\)"):
        add_messages([user("a", "1")], [remove("7")])


def test_removing_all_leaves_what_comes_after():
    merged = add_messages([user("a", "1")], [user("b", "2"), remove(REMOVE_ALL_MESSAGES), user("c", "3")])
    assert merged == [user("c", "3")]


def test_removing_all_forgives_unknown_removals_before_and_after_it():
    merged = add_messages(
        [user("a", "1")], [remove("8"), remove(REMOVE_ALL_MESSAGES), user("c", "3"), remove("1")]
    )
    assert merged == [user("c", "3")]


def test_messages_after_removing_all_still_replace_each_other():
    merged = add_messages([], [remove(REMOVE_ALL_MESSAGES), user("a", "1"), user("b", "1")])
    assert merged == [user("b", "1")]


@pytest.mark.parametrize(("left", "right", "received"), [(None, [], "right"), ([], None, "left")])
def test_one_side_alone_is_an_error(left, right, received):
    with pytest.raises(ValueError, match=f"Only received: '{received}'"):
        add_messages(left, right)


@pytest.mark.parametrize("value", [3, {"content": "no role"}, ("user", "a", "b"), object()])
def test_what_is_no_message_is_refused_with_what_it_was(value):
    with pytest.raises(TypeError, match="Not a message"):
        add_messages([], [value])


def test_an_object_of_a_provider_is_refused_with_the_way_out():
    class Completion:
        def model_dump(self):
            return {}

    with pytest.raises(TypeError, match="model_dump"):
        add_messages([], [Completion()])


def test_an_unknown_format_is_refused_at_once():
    with pytest.raises(ValueError, match="Unrecognized format='x'"):
        add_messages(format="x")
    with pytest.raises(ValueError, match="Unrecognized format='x'"):
        add_messages([], [], format="x")


def test_a_format_makes_a_reducer_and_the_same_one_each_time():
    reducer = add_messages(format="plain")
    assert reducer is add_messages(format="plain")
    assert reducer([user("a", "1")], [user("b", "1")]) == [user("b", "1")]


def test_a_reducer_with_a_format_survives_pickling():
    reducer = pickle.loads(pickle.dumps(add_messages(format="plain")))
    assert reducer([user("a", "1")], [user("b", "2")]) == [user("a", "1"), user("b", "2")]


def test_two_schemas_with_one_format_agree():
    class One(TypedDict):
        messages: Annotated[list, add_messages(format="plain")]

    class Two(TypedDict):
        messages: Annotated[list, add_messages(format="plain")]

    one, two = (parse_schema(schema).fields["messages"] for schema in (One, Two))
    assert merge_field(one, two).reducer is add_messages(format="plain")


def test_the_messages_state_folds_with_add_messages():
    channel = parse_schema(MessagesState).channels["messages"]
    assert isinstance(channel, BinaryOperatorAggregate)
    channel.update([[user("a", "1")], user("b", "2"), [remove("1")]])
    assert channel.get() == [user("b", "2")]


def test_ids_are_uuids_of_version_four():
    made = UUID(new_message_id())
    assert (made.version, made.variant) == (4, UUID("00000000-0000-4000-8000-000000000000").variant)


# The index that `fold` keeps between supersteps.

KEYS = st.sampled_from("abcde")
ENTRIES = st.one_of(
    st.builds(user, st.sampled_from("xyz"), KEYS),
    st.builds(remove, st.one_of(KEYS, st.just(REMOVE_ALL_MESSAGES))),
)
WRITES = st.lists(ENTRIES, max_size=4)


def one_by_one(base, writes):
    for write in writes:
        base = add_messages(base, write)
    return base


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except ValueError as error:
        return str(error)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(WRITES, min_size=1, max_size=3), max_size=6))
def test_folding_with_an_index_equals_merging_write_by_write(steps):
    memo, kept = {}, []
    for writes in steps:
        expected = outcome(one_by_one, kept, writes)
        assert outcome(add_messages.fold, kept, writes, memo) == expected
        if isinstance(expected, list):
            kept = add_messages.fold(kept, writes, memo)
            assert kept == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.tuples(WRITES, WRITES), max_size=6))
def test_looking_ahead_for_each_task_does_not_disturb_the_commit(steps):
    memo, kept = {}, []
    for first, second in steps:
        for write in (first, second):
            assert outcome(add_messages.fold, kept, [write], memo) == outcome(add_messages, kept, write)
        expected = outcome(one_by_one, kept, [first, second])
        result = outcome(add_messages.fold, kept, [first, second], memo)
        assert result == expected
        if isinstance(result, list):
            kept = result


def test_an_append_looks_at_no_message_of_the_history():
    looks = 0

    class Watched:
        """A message that counts how often it is asked for its id."""

        def __init__(self, key):
            self.key = key

        @property
        def id(self):
            nonlocal looks
            looks += 1
            return self.key

    memo = {}
    kept = add_messages.fold([], [[user("start", "s")]], memo)
    index = memo["index"]
    for number in range(50):
        watched = Watched(str(number))
        index.positions[watched.key] = len(index.items)
        index.items.append(watched)
    index.sizes = (len(index.items), 0)
    add_messages.fold(kept, [[user("new", "n")]], memo)
    assert looks == 0


def test_a_message_whose_id_was_changed_in_place_is_found_when_it_is_written_again():
    memo = {}
    kept = add_messages.fold([], [[user("a", "1"), user("b", "2")]], memo)
    kept[1]["id"] = "other"
    assert add_messages.fold(kept, [[kept[1]]], memo) == [user("a", "1"), user("b", "other")]


def test_a_place_whose_message_got_another_id_is_not_overwritten():
    memo = {}
    kept = add_messages.fold([], [[user("a", "1")]], memo)
    kept[0]["id"] = "other"
    assert add_messages.fold(kept, [[user("b", "1")]], memo) == [user("a", "other"), user("b", "1")]


def test_a_failed_fold_leaves_no_index_behind():
    memo = {}
    kept = add_messages.fold([], [[user("a", "1")]], memo)
    with pytest.raises(ValueError):
        add_messages.fold(kept, [[user("b", "2")], [remove("9")]], memo)
    assert add_messages.fold(kept, [[user("c", "2")]], memo) == [user("a", "1"), user("c", "2")]
