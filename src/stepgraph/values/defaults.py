"""Settings of a whole process, which a bridge to programs with other expectations may change.

Rules of this file: plain values, read when a graph is compiled; no imports of this package.
"""

from __future__ import annotations

unknown_target: str = "error"
"""What a goto to a node that does not exist does where `compile(unknown_target=)` does not say: `"error"` or `"warn"`."""
