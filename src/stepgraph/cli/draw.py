"""`stepgraph draw`: a picture of a graph: in the terminal, as Mermaid text, SVG or PNG. Nothing is asked of a network."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from stepgraph.cli.arguments import add_graph, positive
from stepgraph.cli.exits import DONE, CommandError, Misuse

FORMATS = ("ascii", "unicode", "mermaid", "svg", "png")
_BY_SUFFIX = {".mmd": "mermaid", ".mermaid": "mermaid", ".svg": "svg", ".png": "png", ".txt": "unicode"}
EXAMPLES = """\
examples:
  stepgraph draw app.py:graph
  stepgraph draw app.py:graph --xray -o graph.svg
  stepgraph draw app.py:graph --format mermaid"""


def describe(parser: ArgumentParser) -> None:
    """Declare the arguments."""
    add_graph(parser)
    parser.add_argument(
        "--format", "-f", choices=FORMATS, help="by default what the file's name says, else for the terminal"
    )
    parser.add_argument("--output", "-o", metavar="FILE", help="write there and not to standard output")
    parser.add_argument(
        "--xray",
        metavar="DEPTH",
        nargs="?",
        type=positive,
        const=True,
        default=False,
        help="show what is inside nested graphs, to this depth (all of it by default)",
    )
    parser.add_argument("--traceback", action="store_true", help="show where an error comes from")


def run(args: Namespace) -> int:
    """Do it."""
    from stepgraph.cli.loading import load

    form = args.format or _BY_SUFFIX.get(Path(args.output or "").suffix.lower())
    if args.output and form is None:
        raise Misuse(f"What is {args.output}? Say --format {'|'.join(FORMATS)}.")
    if form == "png" and not args.output and sys.stdout.isatty():
        raise Misuse("A PNG is not for the terminal: give -o FILE.png.")
    drawing = load(args.graph).compiled(None).get_graph(xray=args.xray)
    picture = drawn(drawing, form or _for_terminal())
    if not args.output:
        _print(picture)
        return DONE
    try:
        Path(args.output).write_bytes(picture if isinstance(picture, bytes) else picture.encode())
    except OSError as error:
        raise CommandError(f"Cannot write {args.output}: {error}") from error
    return DONE


def drawn(drawing: Any, form: str) -> str | bytes:
    """The picture in one of the `FORMATS`.

    Raises:
        CommandError: A package is missing that the format needs.
    """
    if form == "png":
        try:
            png: bytes = drawing.draw_png()
        except ImportError as error:
            raise CommandError(str(error)) from error
        return png
    text: str
    if form == "mermaid":
        text = drawing.draw_mermaid()
    elif form == "svg":
        text = drawing.draw_svg()
    else:
        text = drawing.draw_ascii(unicode=form == "unicode")
    return text if text.endswith("\n") else text + "\n"


def _for_terminal() -> str:
    from stepgraph.cli.screen import output

    return "unicode" if output().unicode else "ascii"


def _print(picture: str | bytes) -> None:
    if isinstance(picture, bytes):
        sys.stdout.buffer.write(picture)
        sys.stdout.flush()
    else:
        print(picture, end="")
