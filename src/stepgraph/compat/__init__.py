"""Run programs written for LangGraph on this engine, unmodified.

`install()`, and `python -m stepgraph.compat PROGRAM`, answer every `import langgraph...` with modules of this package: the
very same objects under both names. An installed `langgraph` is never used. Distributions of others that live in the same
namespace (`langgraph.checkpoint.redis`, ...) load under their own names, on our base classes.

Rooms:

    names       which name is answered by which module; versions that are modelled
    finder      the hook itself: from a name to a module, or to a clear error
    foreign     finding distributions of others in the namespace
    metadata    what `importlib.metadata` answers for LangGraph's distributions
    installing  putting the hook in place, here and in subprocesses
    command     `python -m stepgraph.compat`
    internal/   private names that packages in the field import
    startup/    what subprocesses load when they start

Rules of this room: standard library only, until a program imports something; nothing outside of it imports it.
"""

from __future__ import annotations

from stepgraph.compat.installing import install

__all__ = ("install",)
