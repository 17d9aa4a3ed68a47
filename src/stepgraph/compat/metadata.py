"""What `importlib.metadata` answers for LangGraph's distributions: their names, and the versions that are modelled.

Rules of this file: standard library only; loaded when somebody first asks for a distribution of these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.metadata import Distribution, DistributionFinder
from os import PathLike
from pathlib import Path

from stepgraph.compat.names import ROOT, VERSIONS


class ModelledDistribution(Distribution):
    """One of LangGraph's distributions, as far as programs ask about it.

    Args:
        name: The distribution's name.
    """

    def __init__(self, name: str) -> None:
        self._texts = {
            "METADATA": (
                f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSIONS[name]}\n"
                "Summary: Answered by stepgraph.compat, on stepgraph's engine\n"
            ),
            "top_level.txt": f"{ROOT}\n",
        }

    def read_text(self, filename: str | PathLike[str]) -> str | None:
        """One of the files that describe the distribution; None for those that it does not have."""
        return self._texts.get(str(filename))

    def locate_file(self, path: str | PathLike[str]) -> Path:
        """Where a file of the distribution would be."""
        return Path(__file__).parent / path


def modelled(context: DistributionFinder.Context) -> Iterator[Distribution]:
    """The distributions that are asked for, as far as they are modelled."""
    wanted = context.name
    if wanted is not None:
        wanted = re.sub(r"[-_.]+", "-", wanted).lower()
    for name in VERSIONS:
        if wanted in (None, name):
            yield ModelledDistribution(name)
