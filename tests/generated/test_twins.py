"""A nested graph gives what the same nodes give when they are written into the parent."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from .checks import finished
from .programs import Program, flattened, levels
from .strategies import twins
from .trace import outcome


@given(twins())
def test_a_nested_graph_equals_its_flat_twin(program: Program) -> None:
    flat = Program(flattened(program.root), program.given)
    assert len(list(levels(flat.root))) == 1
    nested, written_out = outcome(finished(program)), outcome(finished(flat))
    assert {key: nested[key] for key in program.root.gives} == {
        key: written_out[key] for key in program.root.gives
    }


@given(twins())
def test_the_twin_runs_the_same_nodes(program: Program) -> None:
    nested = finished(program)
    flat = finished(replace(program, root=flattened(program.root)))
    assert [name for name, _ in sorted(nested.setting.log.left)] == [
        name for name, _ in sorted(flat.setting.log.left)
    ]
