"""Exit codes, and the errors that carry one to `main`.

Rules: a command that cannot do what was asked raises one of these with a message that says what happened and a hint that
says what to do next; it never prints an error itself.
"""

from __future__ import annotations

from typing import ClassVar, Final

DONE: Final = 0
"""What was asked is done; a run came to its end."""
FAILED: Final = 1
"""A node raised, or what was asked for is not there."""
MISUSED: Final = 2
"""The command line itself is wrong; nothing was done."""
PAUSED: Final = 3
"""The thread waits: for a person, or at a breakpoint."""
STOPPED: Final = 130
"""Stopped by Ctrl-C; the thread can go on."""
TERMINATED: Final = 143
"""Stopped by SIGTERM; the thread can go on."""

EXPLANATION: Final = """\
exit codes:
  0    done
  1    failed: a node raised, or what was asked for is not there
  2    misused: the command line is wrong, nothing was done
  3    paused: the thread waits for a person, or at a breakpoint
  130  stopped by Ctrl-C (143: by SIGTERM); the thread can go on"""


class CommandError(Exception):
    """What was asked cannot be done.

    Args:
        message: What happened.
        hint: What to do next.
    """

    code: ClassVar[int] = FAILED

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


class Misuse(CommandError):
    """The command line is wrong."""

    code: ClassVar[int] = MISUSED
