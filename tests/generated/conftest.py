"""Profiles for the property tests: `ci` is fixed and short, `shrink` is the same but makes what fails small, `deep`
searches for long.

Choose with the environment variable `HYPOTHESIS_PROFILE`, and the length of a deep search with `HYPOTHESIS_EXAMPLES`.
`GRAPH_PKG` names the package under test.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

QUIET = tuple(HealthCheck)

settings.register_profile(
    "shrink", derandomize=True, max_examples=40, deadline=None, database=None, suppress_health_check=QUIET
)
settings.register_profile(
    "ci", parent=settings.get_profile("shrink"), phases=[Phase.explicit, Phase.generate]
)
settings.register_profile(
    "deep",
    max_examples=int(os.environ.get("HYPOTHESIS_EXAMPLES", "2000")),
    deadline=None,
    suppress_health_check=QUIET,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))
