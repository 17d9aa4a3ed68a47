"""Going on from any stored checkpoint reproduces what came after it."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from .checks import few, finished
from .programs import Program
from .strategies import Limits, programs
from .trace import Run, outcome, stored

QUIET = Limits(pauses=False, parallel_parent_commands=False)
ASKING = Limits(parallel_parent_commands=False, breakpoints=False, persistent=False)


def replayed(program: Program, config: dict[str, Any], run: Run) -> Run:
    """Go on from the checkpoint that `config` names, on the same thread."""
    again = Run(program, run.graph, run.setting, run.saver, run.driver)
    if again.turn(None, {**run.config, **config}):
        again.onwards()
    return again


@few(20)
@given(programs(QUIET))
def test_replay_of_every_root_checkpoint_ends_in_the_same_state(program: Program) -> None:
    run = finished(program)
    expected = outcome(run)
    for snapshot in list(run.graph.get_state_history(run.config)):
        assert outcome(replayed(program, snapshot.config, run)) == expected, snapshot


@few(20)
@given(programs(ASKING))
def test_replay_asks_again_and_ends_in_the_same_state(program: Program) -> None:
    run = finished(program)
    expected = outcome(run)
    for snapshot in list(run.graph.get_state_history(run.config)):
        assert outcome(replayed(program, snapshot.config, run)) == expected, snapshot


@few(20)
@given(programs(QUIET))
def test_replay_of_every_inner_checkpoint_ends_in_the_same_state(program: Program) -> None:
    run = finished(program)
    expected = outcome(run)
    inner = [saved for saved in stored(run) if saved.config["configurable"]["checkpoint_ns"]]
    for saved in inner:
        config = run.graph.get_state(saved.config).config
        assert outcome(replayed(program, config, run)) == expected, config


@few(20)
@given(programs(QUIET))
def test_replay_keeps_the_old_history(program: Program) -> None:
    run = finished(program)
    before = {saved.checkpoint["id"]: saved.checkpoint for saved in stored(run)}
    for snapshot in list(run.graph.get_state_history(run.config)):
        replayed(program, snapshot.config, run)
    after = {saved.checkpoint["id"]: saved.checkpoint for saved in stored(run)}
    assert {key: after[key]["channel_values"] for key in before} == {
        key: checkpoint["channel_values"] for key, checkpoint in before.items()
    }
