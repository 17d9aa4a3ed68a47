"""What a function's source says about what it does: read as a syntax tree, never run.

Rules: what cannot be read (no source, no plain function) is `unknown`, and nothing is said about it. Names count only if
they lead to the very objects that are meant, through the function's own globals and closure.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Iterator
from functools import partial
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from stepgraph.checkpoint.base import BaseCheckpointSaver
from stepgraph.pregel.interrupts import interrupt
from stepgraph.values.commands import Command, Send
from stepgraph.values.names import END


class Named(NamedTuple):
    """A name of a node that stands literally in the code."""

    name: str
    line: int
    to_parent: bool = False
    many: bool = False


class Code:
    """What is known of one function.

    Attributes:
        known: Whether its source could be read.
        file: Where it stands.
        line: Its first line.
        gotos: Nodes that it names in `Command(goto=...)` and `Send(...)`.
        results: What it returns literally as a name: for path functions.
        names_all: Whether every return is such a literal.
        always: Keys that every return writes.
        literals: Keys to the line where a dict without anything of the old value is written to them.
        plain: Whether all that it returns are updates: no command, nothing that is not seen.
        asks: Lines of `interrupt(...)`.
        savers: Savers that it makes: class and line.
        raises: Whether it raises.
        ends: Whether it mentions `END`.
    """

    def __init__(self) -> None:
        self.known = False
        self.file = ""
        self.line = 0
        self.gotos: list[Named] = []
        self.results: list[Named] = []
        self.names_all = False
        self.always: frozenset[str] = frozenset()
        self.literals: dict[str, int] = {}
        self.plain = False
        self.asks: list[int] = []
        self.savers: list[tuple[str, int]] = []
        self.raises = False
        self.ends = False

    def at(self, line: int = 0) -> str:
        """A line of it as `file:line`."""
        return f"{self.file}:{line or self.line}" if self.file else ""


def function_of(action: Any) -> FunctionType | None:
    """The plain function that an action runs; None if it is something else."""
    while isinstance(action, partial):
        action = action.func
    if isinstance(action, MethodType):
        action = action.__func__
    if isinstance(action, FunctionType):
        return inspect.unwrap(action) if isinstance(inspect.unwrap(action), FunctionType) else None
    call = getattr(type(action), "__call__", None)  # noqa: B004
    is_own = isinstance(call, FunctionType) and not hasattr(action, "invoke")
    return call if is_own and isinstance(call, FunctionType) else None


def code_of(action: Any) -> Code:
    """What an action's source says."""
    code = Code()
    function = function_of(action)
    if function is None:
        return code
    code.file, code.line = function.__code__.co_filename, function.__code__.co_firstlineno
    tree = _tree(function)
    if tree is not None:
        code.known = True
        _Reader(function, tree, code).read()
    return code


def _tree(function: FunctionType) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return None
    body = tree.body[0] if tree.body else None
    if not isinstance(body, (ast.FunctionDef, ast.AsyncFunctionDef)) or body.name != function.__name__:
        return None
    ast.increment_lineno(tree, first - 1)
    return body


class _Reader:
    """Goes once through a function's tree."""

    def __init__(
        self, function: FunctionType, tree: ast.FunctionDef | ast.AsyncFunctionDef, code: Code
    ) -> None:
        self.scope = dict(function.__globals__)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
            try:
                self.scope[name] = cell.cell_contents
            except ValueError:
                continue
        self.local = set(function.__code__.co_varnames)
        self.tree = tree
        self.code = code

    def read(self) -> None:
        code = self.code
        for node in _own_nodes(self.tree):
            if isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.Raise):
                code.raises = True
            elif (isinstance(node, (ast.Name, ast.Attribute)) and self._value(node) == END) or (
                isinstance(node, ast.Constant) and node.value == END
            ):
                code.ends = True
        for node in ast.walk(self.tree):
            if isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.For, ast.AsyncFor)):
                self._many(node)
        self._returns()

    def _value(self, node: ast.expr) -> Any:
        """The object that a name or a dotted name leads to; None if it is not certain."""
        if isinstance(node, ast.Name):
            return None if node.id in self.local else self.scope.get(node.id)
        if isinstance(node, ast.Attribute):
            owner = self._value(node.value)
            return vars(owner).get(node.attr) if owner is not None and hasattr(owner, "__dict__") else None
        return None

    def _called(self, node: ast.Call) -> Any:
        found = self._value(node.func)
        if found is None and isinstance(node.func, ast.Attribute):  # a module that loads its names late
            owner = self._value(node.func.value)
            if inspect.ismodule(owner):
                return getattr(owner, node.func.attr, None)
        return found

    def _call(self, node: ast.Call) -> None:
        called = self._called(node)
        if called is interrupt:
            self.code.asks.append(node.lineno)
        elif called is Command:
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            graph = given.get("graph")
            parent = graph is not None and not (isinstance(graph, ast.Constant) and graph.value is None)
            if "goto" in given:
                for name, line in _literals(given["goto"], self.scope, self.local):
                    self.code.gotos.append(Named(name, line, parent))
        elif called is Send and node.args:
            for name, line in _literals(node.args[0], self.scope, self.local):
                self.code.gotos.append(Named(name, line))
        elif isinstance(called, type) and issubclass(called, BaseCheckpointSaver):
            self.code.savers.append((called.__name__, node.lineno))

    def _many(self, loop: ast.AST) -> None:
        """`Send`s that are made in a loop go to their node more than once."""
        for node in ast.walk(loop):
            if isinstance(node, ast.Call) and self._called(node) is Send and node.args:
                for name, line in _literals(node.args[0], self.scope, self.local):
                    self.code.gotos.append(Named(name, line, many=True))

    def _returns(self) -> None:
        returns = [node for node in _own_nodes(self.tree) if isinstance(node, ast.Return)]
        code = self.code
        yields = any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _own_nodes(self.tree))
        last = self.tree.body[-1]
        falls_off = not isinstance(last, (ast.Return, ast.Raise))
        updates = [self._update(node.value) for node in returns]
        code.plain = not yields and all(keys is not None for keys in updates)
        if code.plain and returns and not falls_off:
            code.always = frozenset.intersection(*[frozenset(keys or ()) for keys in updates])
        named = [_results(node.value, self.scope, self.local) for node in returns]
        code.results = [Named(name, line) for found in named for name, line in found or ()]
        code.names_all = bool(returns) and not falls_off and all(found is not None for found in named)

    def _update(self, value: ast.expr | None) -> set[str] | None:
        """The keys of a returned dict that stands there literally; None for anything else."""
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return set()
        if not isinstance(value, ast.Dict):
            return None
        keys: set[str] = set()
        for key, item in zip(value.keys, value.values):
            if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                return None
            keys.add(key.value)
            if isinstance(item, ast.Dict) and all(part is not None for part in item.keys):
                self.code.literals.setdefault(key.value, item.lineno)
        return keys


def _own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions and classes inside."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            continue
        yield child
        yield from _own_nodes(child)


def _literals(node: ast.expr, scope: dict[str, Any], local: set[str]) -> list[tuple[str, int]]:
    """The names that stand literally in an expression: a text, a list of them, either side of a condition."""
    return _results(node, scope, local, partly=True) or []


def _results(
    node: ast.expr | None, scope: dict[str, Any], local: set[str], partly: bool = False
) -> list[tuple[str, int]] | None:
    """The same; None where, without `partly`, not all of it is literal."""
    if isinstance(node, ast.Constant):
        return [(node.value, node.lineno)] if isinstance(node.value, str) else None
    if isinstance(node, ast.Name) and node.id not in local and scope.get(node.id) == END:
        return [(END, node.lineno)]
    if isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, (ast.List, ast.Tuple)):
        parts = node.elts
    else:
        return None
    found: list[tuple[str, int]] = []
    for part in parts:
        names = _results(part, scope, local, partly)
        if names is None and not partly:
            return None
        found += names or []
    return found
