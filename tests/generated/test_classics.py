"""Every law, without chance, for the hand-made programs: all drivers, all checkpoints, all places of a cut."""

from __future__ import annotations

from dataclasses import replace

import pytest

from .checks import assert_children_first, assert_same, delays, finished, setting
from .classics import CLASSICS
from .programs import Program, asks, levels
from .savers import slow_saver
from .test_crash import cut_after, go_on, total_saves
from .test_replay import replayed
from .trace import outcome, stored

every_classic = pytest.mark.parametrize("program", CLASSICS.values(), ids=CLASSICS)
keeps_state = {
    name for name, one in CLASSICS.items() if any(level.checkpointer is True for level in levels(one.root))
}


@every_classic
def test_every_driver_gives_the_same(program: Program) -> None:
    first = finished(program)
    assert first.turns[-1].error is None
    assert_children_first(first)
    assert_same(first, finished(program, driver="astream", colour="async"))
    assert_same(first, finished(program, driver="astream", colour="mixed"))
    assert_same(first, finished(program, colour="mixed"))
    assert_same(first, finished(program, delay=delays(7)))
    assert_same(finished(program, driver="invoke"), finished(program, driver="ainvoke", colour="async"))


@every_classic
@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
def test_every_durability_gives_the_same_result(durability: str, program: Program) -> None:
    assert outcome(finished(program)) == outcome(finished(program, durability=durability))


@every_classic
def test_a_slow_saver_changes_nothing(program: Program) -> None:
    slow = finished(program, saver=slow_saver(setting()), durability="async")
    assert_same(finished(program), slow)


@every_classic
@pytest.mark.parametrize("kind", ["plain", "direct"])
@pytest.mark.parametrize("durability", ["sync", "async"])
def test_a_cut_after_any_save_changes_nothing(durability: str, kind: str, program: Program) -> None:
    expected = outcome(finished(program))
    for saves in range(total_saves(program, durability, kind) + 1):
        run, budget = cut_after(program, saves, durability, kind)
        done = set(budget.finished)
        again = go_on(program, run)
        assert outcome(again) == expected, f"cut after {saves} saves"
        for name, path in again.setting.log.entered:
            above, _, own = path.rpartition("|")
            assert (above, own.partition(":")[2]) not in done, f"{name} ran again after {saves} saves"


@pytest.mark.parametrize("kind", ["plain", "direct"])
@pytest.mark.parametrize("name", sorted(set(CLASSICS) - keeps_state))
def test_with_exit_a_cut_after_any_save_changes_nothing(name: str, kind: str) -> None:
    program = CLASSICS[name]
    expected = outcome(finished(program))
    for saves in range(total_saves(program, "exit", kind) + 1):
        run, _ = cut_after(program, saves, "exit", kind)
        assert outcome(go_on(program, run)) == expected, f"cut after {saves} saves"


@every_classic
def test_replay_from_every_checkpoint_of_the_root_ends_in_the_same_state(program: Program) -> None:
    run = finished(program)
    expected = outcome(run)
    for snapshot in list(run.graph.get_state_history(run.config)):
        again = replayed(program, snapshot.config, run)
        assert outcome(again) == expected, f"from step {snapshot.metadata['step']}"


@pytest.mark.parametrize("name", sorted(name for name, one in CLASSICS.items() if not asks(one)))
def test_replay_from_every_inner_checkpoint_ends_in_the_same_state(name: str) -> None:
    program = CLASSICS[name]
    run = finished(program)
    expected = outcome(run)
    for saved in [one for one in stored(run) if one.config["configurable"]["checkpoint_ns"]]:
        config = run.graph.get_state(saved.config).config
        assert outcome(replayed(program, config, run)) == expected, config


@every_classic
def test_replay_from_the_root_runs_only_what_came_after(program: Program) -> None:
    if asks(program):
        program = replace(program, root=replace(program.root, stops_before=(), stops_after=()))
    run = finished(program)
    for snapshot in list(run.graph.get_state_history(run.config)):
        later = [
            task.name
            for other in run.graph.get_state_history(run.config)
            if other.metadata["step"] >= snapshot.metadata["step"]
            for task in other.tasks
            if task.name != "__start__"
        ]
        fresh = finished(program)
        old = next(
            one for one in fresh.graph.get_state_history(fresh.config) if one.metadata == snapshot.metadata
        )
        before = len(fresh.setting.log.left)
        replayed(program, old.config, fresh)
        ran = [name for name, _ in fresh.setting.log.left[before:]]
        own = {node.name for node in program.root.nodes}
        leaves = {node.name for node in program.root.nodes if not hasattr(node.action, "level")}
        assert sorted(name for name in ran if name in own & leaves) == sorted(
            name for name in later if name in leaves
        ), f"from step {snapshot.metadata['step']}"
