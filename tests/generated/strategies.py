"""Hypothesis strategies that make valid, terminating graph programs by construction.

`programs()` is the broad one; its keyword arguments narrow it to what a property needs. `twins()` makes programs whose
nested graphs can be written out flat without changing the result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from .programs import (
    END,
    FIELDS,
    PLAIN,
    Action,
    Branch,
    Call,
    Edge,
    Fan,
    Jump,
    Level,
    Loop,
    Nest,
    Node,
    Pick,
    Program,
    Quiet,
    Up,
    Write,
    levels,
    sequential,
)

LETTERS = "abcdef"
BORDERS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (FIELDS, FIELDS),
    (PLAIN, ("log", "seen")),
    (("word", "trail", "top"), ("word", "trail", "top")),
    (FIELDS, ("log",)),
)


@dataclass(frozen=True)
class Limits:
    """What a generated program may contain."""

    depth: int = 3
    width: int = 4
    pauses: bool = True
    breakpoints: bool = True
    persistent: bool = True
    sends: bool = True
    parent_commands: bool = True
    parallel_parent_commands: bool = True
    persistent_parent_commands: bool = True
    calls: bool = True
    deferred: bool = True
    conflicts: bool = True
    below_false: bool = True
    deferred_beside_sends: bool = True


ANYTHING = Limits()


@st.composite
def programs(draw: DrawFn, limits: Limits = ANYTHING) -> Program:
    """A program of one to `limits.depth` levels."""
    root = draw(_level(limits, "", 1, pauses=limits.pauses, persistent=limits.persistent))
    given = draw(st.sampled_from((FIELDS, ("log",), ("word",), ("log", "word", "trail"))))
    return aimed(Program(root, given), limits)


@st.composite
def _level(draw: DrawFn, limits: Limits, prefix: str, level: int, *, pauses: bool, persistent: bool) -> Level:
    count = draw(st.integers(1 if level > 1 else 2, limits.width))
    names = [prefix + letter for letter in LETTERS[:count]]
    chain = draw(st.booleans())
    made = [
        draw(_node(limits, names, index, level, pauses=pauses, persistent=persistent, plain=chain))
        for index in range(count)
    ]
    edges, branches = draw(_wiring(limits, made, chain=chain))
    if not limits.deferred_beside_sends and any(isinstance(branch, Fan) for branch in branches):
        made = [replace(node, defer=False) for node in made]
    starts = _entries(names, edges, branches, made)
    takes, gives = draw(st.sampled_from(BORDERS))
    before, after = draw(_breakpoints(limits, names, level)) if pauses else ((), ())
    return Level(
        nodes=tuple(made),
        starts=starts,
        edges=edges,
        branches=branches,
        takes=takes,
        gives=gives,
        stops_before=before,
        stops_after=after,
    )


@st.composite
def _breakpoints(
    draw: DrawFn, limits: Limits, names: list[str], level: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if not limits.breakpoints or draw(st.integers(0, 7)):
        return (), ()
    chosen = tuple(draw(st.lists(st.sampled_from(names), min_size=1, max_size=2, unique=True)))
    return (chosen, ()) if draw(st.booleans()) else ((), chosen)


@st.composite
def _node(
    draw: DrawFn,
    limits: Limits,
    names: list[str],
    index: int,
    level: int,
    *,
    pauses: bool,
    persistent: bool,
    plain: bool,
) -> Node:
    name = names[index]
    action = draw(_action(limits, names, index, level, pauses=pauses, persistent=persistent, plain=plain))
    may_ask = pauses and not isinstance(action, Nest)
    return Node(
        name=name,
        action=action,
        asks=draw(st.sampled_from((0, 0, 0, 0, 1, 2))) if may_ask else 0,
        says=not isinstance(action, Nest) and draw(st.integers(0, 3)) == 0,
        defer=limits.deferred and index > 0 and draw(st.integers(0, 7)) == 0,
    )


@st.composite
def _action(
    draw: DrawFn,
    limits: Limits,
    names: list[str],
    index: int,
    level: int,
    *,
    pauses: bool,
    persistent: bool,
    plain: bool,
) -> Action:
    kinds = ["write", "write", "write", "quiet"]
    if index + 1 < len(names):
        kinds.append("jump")
    if level < limits.depth:
        kinds += ["nest", "nest"] + (["call"] if limits.calls else [])
    if level > 1 and limits.parent_commands:
        kinds.append("up")
    kind = draw(st.sampled_from(kinds))
    fields = draw(_written(plain or (limits.conflicts and draw(st.integers(0, 9)) == 0)))
    if kind == "quiet":
        return Quiet()
    if kind == "jump":
        targets = draw(
            st.lists(st.sampled_from([*names[index + 1 :], END]), min_size=1, max_size=2, unique=True)
        )
        return Jump(tuple(targets), fields)
    if kind == "up":
        return Up((), fields)
    if kind in ("nest", "call"):
        keeps = draw(st.sampled_from((None, None, None, True, False))) if persistent else None
        child = draw(
            _level(
                limits,
                names[index],
                level + 1,
                pauses=pauses and keeps is not False,
                persistent=persistent,
            )
        )
        if keeps is False and not limits.below_false:
            child = replace(child, nodes=tuple(_leaf(node) for node in child.nodes))
        child = replace(child, checkpointer=keeps)
        return Nest(child) if kind == "nest" else Call(child, draw(st.sampled_from((1, 1, 2))))
    return Write(fields, split=draw(st.integers(0, 5)) == 0)


def _leaf(node: Node) -> Node:
    return replace(node, action=Write()) if isinstance(node.action, Nest | Call) else node


def _written(plain: bool) -> SearchStrategy[tuple[str, ...]]:
    extra = FIELDS[1:] if plain else ("top",)
    return st.lists(st.sampled_from(extra), max_size=2, unique=True).map(
        lambda more: tuple(field for field in FIELDS if field == "log" or field in more)
    )


@st.composite
def _wiring(
    draw: DrawFn, limits: Limits, made: list[Node], *, chain: bool
) -> tuple[tuple[Edge, ...], tuple[Branch, ...]]:
    edges: list[Edge] = []
    branches: list[Branch] = []
    names = [node.name for node in made]
    for index, node in enumerate(made):
        later = names[index + 1 :]
        kind = draw(st.sampled_from(("edge", "edge", "edge", "two", "pick", "fan", "loop", "none")))
        if chain and kind in ("two", "fan", "none"):
            kind = "edge"
        if kind == "loop" and node.counts and not node.asks:
            target = draw(st.sampled_from(names[: index + 1]))
            out = later[0] if later else END
            branches.append(Loop(node.name, target, out, draw(st.integers(1, 2))))
        elif not later:
            continue
        elif kind == "pick":
            options = draw(st.lists(st.sampled_from([*later, END]), min_size=1, max_size=3, unique=True))
            branches.append(Pick(node.name, tuple(options)))
        elif kind == "fan" and limits.sends:
            fan = draw(_fan(made, index))
            branches += [fan] if fan else []
        elif kind == "two":
            for target in draw(st.lists(st.sampled_from(later), min_size=1, max_size=2, unique=True)):
                edges.append(Edge((node.name,), target))
        elif kind != "none":
            edges.append(Edge((node.name,), later[0] if chain else draw(st.sampled_from(later))))
    if len(made) > 2 and not chain and draw(st.booleans()):
        position = draw(st.integers(2, len(made) - 1))
        edges.append(Edge((names[position - 2], names[position - 1]), names[position]))
    return tuple(dict.fromkeys(edges)), _without_looping_fans(branches)


@st.composite
def _fan(draw: DrawFn, made: list[Node], index: int) -> Fan | None:
    later = [node for node in made[index + 1 :] if not _keeps_state(node)]
    if not later:
        return None
    target = draw(st.sampled_from(later))
    others = [node.name for node in made[index + 1 :] if node is not target]
    also = tuple(draw(st.lists(st.sampled_from(others), max_size=1))) if others else ()
    return Fan(made[index].name, target.name, draw(st.integers(1, 3)), also)


def _keeps_state(node: Node) -> bool:
    """Whether two runs of the node at once would share one stored state."""
    if not isinstance(node.action, Nest | Call):
        return False
    return any(level.checkpointer is True for level in levels(node.action.level))


def _without_looping_fans(branches: list[Branch]) -> tuple[Branch, ...]:
    """A node that gets a state of its own cannot count its runs, so it must not loop."""
    fanned = {branch.target for branch in branches if isinstance(branch, Fan)}
    return tuple(
        Pick(branch.source, (branch.out,)) if isinstance(branch, Loop) and branch.source in fanned else branch
        for branch in branches
    )


def _entries(
    names: list[str], edges: tuple[Edge, ...], branches: tuple[Branch, ...], made: list[Node]
) -> tuple[str, ...]:
    """The first node and every node that nothing else leads to."""
    reached = {edge.target for edge in edges}
    for branch in branches:
        if isinstance(branch, Pick):
            reached.update(branch.options)
        elif isinstance(branch, Loop):
            reached.add(branch.out)
        else:
            reached.update((branch.target, *branch.also))
    for node in made:
        if isinstance(node.action, Jump):
            reached.update(node.action.targets)
    return (names[0], *(name for name in names[1:] if name not in reached))


def aimed(program: Program, limits: Limits) -> Program:
    """Let parent commands name the node after the one that holds their graph, where there is one."""
    return replace(program, root=_aimed(program.root, (), limits, kept=False))


def _aimed(level: Level, above: tuple[str, ...], limits: Limits, *, kept: bool) -> Level:
    made = []
    names = [node.name for node in level.nodes]
    kept = kept or level.checkpointer is True
    allowed = limits.parallel_parent_commands or sequential(level)
    allowed = allowed and (limits.persistent_parent_commands or not kept)
    for index, node in enumerate(level.nodes):
        action: Action = node.action
        if isinstance(action, Nest | Call):
            following = tuple(names[index + 1 : index + 2])
            action = replace(action, level=_aimed(action.level, following, limits, kept=kept))
        elif isinstance(action, Up):
            action = replace(action, targets=above) if allowed else Write(action.fields)
        made.append(replace(node, action=action))
    return replace(level, nodes=tuple(made))


@st.composite
def twins(draw: DrawFn) -> Program:
    """A program whose nested graphs can be written out flat without changing what `root.gives` names.

    Either the children share plain fields only, or they start with an empty log and give back only what is added.
    Nodes that run in parallel are plain functions.
    """
    shared = draw(st.sampled_from((PLAIN, ("log",))))
    return Program(draw(_twin_level(shared, "", 1)))


@st.composite
def _twin_level(draw: DrawFn, shared: tuple[str, ...], prefix: str, level: int) -> Level:
    names = [prefix + letter for letter in LETTERS[: draw(st.integers(1 if level > 1 else 2, 4))]]
    diamond = shared == ("log",) and len(names) == 4 and draw(st.booleans())
    made: list[Node] = []
    for index, name in enumerate(names):
        if level < 3 and not (diamond and index in (1, 2)) and draw(st.integers(0, 2)) == 0:
            made.append(Node(name, Nest(draw(_twin_level(shared, name, level + 1)))))
        else:
            made.append(Node(name, Write(shared)))
    first, *rest = names
    edges = [Edge((source,), target) for source, target in pairwise(names)]
    if diamond:
        left, right, last = rest
        edges = [Edge((first,), left), Edge((first,), right), Edge((left, right), last)]
    return Level(tuple(made), (first,), tuple(edges), takes=PLAIN, gives=shared)
