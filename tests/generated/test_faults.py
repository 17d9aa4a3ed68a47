"""A node that fails, is mended, and the run that goes on from there."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from .checks import finished, setting
from .programs import Nest, Program, nodes
from .strategies import Limits, programs
from .trace import outcome, start, stored

CALM = Limits(parallel_parent_commands=False, conflicts=False)


def leaf_names(program: Program) -> list[str]:
    """The names of all nodes that are functions."""
    return [node.name for node in nodes(program) if not isinstance(node.action, Nest)]


@given(programs(CALM), st.data())
def test_a_mended_run_ends_in_the_state_of_a_run_that_never_failed(
    program: Program, data: st.DataObject
) -> None:
    expected = outcome(finished(program))
    broken = setting(faulty={data.draw(st.sampled_from(leaf_names(program)))})
    run = start(program, broken).to_end()
    if run.turns[-1].error == "Fault":
        broken.faulty.clear()
        run.onwards()
    assert outcome(run) == expected


@given(programs(CALM), st.data())
def test_no_finished_task_runs_again_after_a_failure(program: Program, data: st.DataObject) -> None:
    broken = setting(faulty={data.draw(st.sampled_from(leaf_names(program)))})
    run = start(program, broken).to_end()
    ended = {
        f"{saved.config['configurable']['checkpoint_ns']}|{write[0]}".lstrip("|")
        for saved in stored(run)
        for write in saved.pending_writes or ()
        if not write[1].startswith("__")
    }
    broken.faulty.clear()
    before = len(broken.log.entered)
    run.onwards()
    for name, path in broken.log.entered[before:]:
        above, _, own = path.rpartition("|")
        task = own.partition(":")[2]
        assert f"{above}|{task}".lstrip("|") not in ended, f"{name} ran again in {path}"
