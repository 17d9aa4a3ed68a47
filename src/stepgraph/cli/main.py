"""The console script `stepgraph`: finds the command, and turns what it raises into a message and an exit code.

Rules: only the module of the command that was called is imported. No traceback reaches a person who did not ask for one.
"""

from __future__ import annotations

import os
import sys
import warnings
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn
from warnings import catch_warnings

from stepgraph.cli.exits import DONE, EXPLANATION, FAILED, MISUSED, STOPPED, CommandError

COMMANDS: Final = {
    "demo": "an approval that waits for a person, from start to rewind",
    "run": "start a graph on a thread",
    "resume": "answer a paused thread, or go on after a stop or a failure",
    "threads": "list the threads that are stored",
    "history": "list the checkpoints of a thread",
    "show": "look at one checkpoint: values, what is due, who is asked",
    "diff": "compare two checkpoints",
    "fork": "write to a thread at a checkpoint, as if a node had",
    "prune": "delete old checkpoints, or whole threads",
    "export": "write checkpoints as lines of JSON",
    "import-langgraph": "copy threads that LangGraph's savers stored, so that they go on here",
    "check": "find mistakes in a graph before it runs",
    "draw": "draw a graph: in the terminal, as Mermaid, SVG or PNG",
}


class _Parser(ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(MISUSED, f"{self.prog}: {message}\n  See: {self.prog} --help\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command.

    Args:
        argv: The command line without the program's name; by default the process's own.

    Returns:
        The exit code.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    _be_lenient()
    try:
        if not words or words[0].startswith("-"):
            return _overview(words)
        return _dispatch(words[0], words[1:])
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else MISUSED
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return STOPPED
    except BrokenPipeError:
        # Whoever read our output has gone; there is nobody to tell. The interpreter must not try to flush it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _overview(words: list[str]) -> int:
    from stepgraph.version import __version__

    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {summary}" for name, summary in COMMANDS.items())
    parser = ArgumentParser(
        prog="stepgraph",
        usage="stepgraph COMMAND ...",
        description="Durable, stateful graphs of steps, from the command line.",
        epilog=f"commands:\n{listed}\n\nstepgraph COMMAND --help tells about one.\n\n{EXPLANATION}",
        formatter_class=RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"stepgraph {__version__}")
    parser.parse_args(words)
    parser.print_help()
    return DONE if words else MISUSED


def _dispatch(name: str, words: list[str]) -> int:
    if name not in COMMANDS:
        from difflib import get_close_matches

        near = get_close_matches(name, COMMANDS, 1)
        meant = f" Did you mean {near[0]!r}?" if near else ""
        print(f"stepgraph: there is no command {name!r}.{meant} See: stepgraph --help", file=sys.stderr)
        return MISUSED
    from importlib import import_module

    module = import_module(f"stepgraph.cli.{name.replace('-', '_')}")
    parser = _Parser(
        prog=f"stepgraph {name}",
        description=f"{COMMANDS[name][0].upper()}{COMMANDS[name][1:]}.",
        epilog="\n\n".join(filter(None, (getattr(module, "EXAMPLES", ""), EXPLANATION))),
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.describe(parser)
    args = parser.parse_intermixed_args(words)
    try:
        with catch_warnings():
            warnings.showwarning = _tell_warning(warnings.showwarning)
            code: int = module.run(args)
    except CommandError as error:
        _tell(name, str(error), error.hint, error if getattr(args, "traceback", False) else None)
        return error.code
    except (KeyboardInterrupt, BrokenPipeError):
        raise
    except Exception as error:
        if getattr(args, "traceback", False):
            raise
        notes = "\n  ".join(("", *getattr(error, "__notes__", ())))
        _tell(name, f"{type(error).__name__}: {error}{notes}", "See where with --traceback.", None)
        return FAILED
    return code


def _tell(name: str, message: str, hint: str, cause: BaseException | None) -> None:
    from stepgraph.cli.screen import Styled, notes

    screen = notes()
    screen.say(Styled(f"stepgraph {name}: ", "bad"), message)
    if hint:
        screen.say("  ", hint)
    if cause is not None:
        from traceback import format_exception

        screen.text("".join(format_exception(cause)))


def _tell_warning(otherwise: Callable[..., None]) -> Callable[..., None]:
    """Our own warnings as one line; where in our code they were raised helps nobody."""
    from stepgraph.warnings import StepgraphWarning

    def show(message: Warning | str, category: type[Warning], *where: Any) -> None:
        if not issubclass(category, StepgraphWarning):
            otherwise(message, category, *where)
            return
        from stepgraph.cli.screen import Styled, notes

        notes().say(Styled("warning: ", "alert"), str(message))

    return show


def _be_lenient() -> None:
    """Signs that the terminal cannot show are spelled out, instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


if __name__ == "__main__":
    sys.exit(main())
