"""What nobody asked for costs nothing, and loading LangChain first does not make loading us dear."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("langchain_core", reason="LangChain is not installed")

from langchain_core.callbacks import BaseCallbackHandler

from langchain_bridge.counting import GRAPH, LIMIT, RUNS, per_step


def steps_without_langchain(mode: str) -> int:
    """The same measurement in a process that has not loaded LangChain."""
    code = f"""
import sys
sys.path[:0] = {sys.path!r}
from langchain_bridge.counting import RUNS, per_step
assert "langchain_core" not in sys.modules
print(per_step(RUNS[{mode!r}]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("mode", sorted(RUNS))
def test_without_callbacks_a_step_calls_no_further_function(mode):
    import langchain_core.runnables.base  # noqa: F401

    from stepgraph.pregel import bridges

    assert bridges.active is not None
    assert per_step(RUNS[mode]) == steps_without_langchain(mode)


def test_handlers_that_hear_nothing_of_chains_are_told_nothing():
    class Models(BaseCallbackHandler):
        def on_llm_end(self, response: Any, **rest: Any) -> None:
            return None

    class Chains(BaseCallbackHandler):
        def on_chain_start(self, serialized: Any, inputs: Any, **rest: Any) -> None:
            return None

    def run(handler: BaseCallbackHandler) -> Callable[[int], Any]:
        return lambda n: GRAPH.invoke({"n": n}, {**LIMIT, "callbacks": [handler]})

    assert per_step(run(Models())) < per_step(run(Chains()))


def test_loading_us_after_langchain_loads_little_more():
    code = """
import sys
import langchain_core.runnables.base
before = set(sys.modules)
import stepgraph
from stepgraph import StateGraph
print(*sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    added = done.stdout.split()
    assert [name for name in added if name.startswith("stepgraph.langchain")] in (
        [],
        ["stepgraph.langchain", "stepgraph.langchain.ambient", "stepgraph.langchain.attach"],
    )
    assert [name for name in added if name.startswith(("langchain", "langsmith", "pydantic"))] == []
