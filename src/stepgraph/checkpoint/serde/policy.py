"""Decides which classes reading may use, and says so once when one may not be used.

Three modes:

- **loaded** (the default): classes that are loaded in this process already, and really are of a known kind.
- **strict**: of these only the ones that an allowlist names, and those of libraries that are trusted in this file.
- **lax** (only when asked for): modules that the data names are imported. Still nothing but classes of known kinds is
  restored, and no function is called.

In all of them a class or a module prefix that a person names may be imported, and so may a fixed list of modules of
`langchain_core`. Everything else comes back as plain data.

Rules: a policy does not change after it was made, apart from its memory of what it looked up.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from ormsgpack import unpackb

from stepgraph.checkpoint.serde import event_hooks
from stepgraph.checkpoint.serde.errors import CorruptPayloadError, NotRestorableWarning, PlainDataWarning
from stepgraph.checkpoint.serde.families import RESTORERS
from stepgraph.checkpoint.serde.lookup import loaded_class, remember, written_class

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.families import Restore

Mode = Literal["loaded", "strict", "lax"]
Allowed = Iterable[tuple[str, ...] | type]

STRICT_VARIABLE: Final = "LANGGRAPH_STRICT_MSGPACK"

TRUSTED_ROOTS: Final = frozenset(
    ("builtins", "langchain_core", "pydantic", "pydantic_core", "stepgraph", "langgraph")
)
"""Packages whose classes are restored in strict mode too (if they are of a known kind)."""

IMPORTED_ROOTS: Final = {
    "langchain_core": ("langchain_core.messages", "langchain_core.documents", "langchain_core.prompt_values"),
    "pydantic": ("pydantic",),
}
"""What may be imported when data names a class of that package."""

MAX_KEPT: Final = 4096

_warned: set[tuple[str, str, str]] = set()


def is_trusted(module: str) -> bool:
    """Whether a module belongs to a package whose classes are restored in strict mode too."""
    return module.partition(".")[0] in TRUSTED_ROOTS


def warn_once(category: type[Warning], module: str, name: str, message: str) -> None:
    """Warn about a class, once in a process for every category."""
    key = (category.__name__, module, name)
    if key in _warned:
        return
    if len(_warned) >= MAX_KEPT:
        _warned.clear()
    _warned.add(key)
    import warnings

    warnings.warn(message, category, stacklevel=3)


def forget_warnings() -> None:
    """Let every warning be given once more, for tests."""
    _warned.clear()


class _Kept(NamedTuple):
    """A head that was looked up: what restores it, and what it depends on."""

    restore: Restore
    cls: type | None
    module: str
    qualname: str


class Policy:
    """What reading may use; see the module.

    Args:
        mode: `"loaded"`, `"strict"` or `"lax"`.
        allowed: Classes, or `(module, qualified name)`, that may be restored in every mode. Names may be imported.
        prefixes: Modules (with all below them) that may be imported.
        pickle: Whether bytes may be unpickled, and what has no stored form is pickled.
    """

    def __init__(
        self,
        mode: Mode = "loaded",
        allowed: Allowed = (),
        prefixes: Iterable[str] = (),
        *,
        pickle: bool = False,
    ) -> None:
        self.mode = mode
        self.pickle = pickle
        self.prefixes = (prefixes,) if isinstance(prefixes, str) else tuple(prefixes)
        self.types: dict[tuple[str, str], type] = {}
        self.names: set[tuple[str, str]] = set()
        self._kept: dict[bytes, _Kept] = {}
        self._checked: set[type] = set()
        for entry in allowed:
            self._allow(entry)

    def _allow(self, entry: tuple[str, ...] | type) -> None:
        if isinstance(entry, type):
            self.types[entry.__module__, entry.__qualname__] = entry
            self.types.setdefault((entry.__module__, entry.__name__), entry)
        elif isinstance(entry, tuple) and len(entry) >= 2 and all(isinstance(part, str) for part in entry):
            self.names.add((".".join(entry[:-1]), entry[-1]))
        else:
            raise TypeError(
                f"An allowlist holds classes and tuples such as ('app.models', 'Order'); got {entry!r}."
            )

    def extended(self, allowed: Allowed) -> Policy:
        """A policy that allows these too."""
        other = Policy(self.mode, (*self.types.values(), *self.names), self.prefixes, pickle=self.pickle)
        for entry in allowed:
            other._allow(entry)
        return other

    def names_class(self, module: str, qualname: str) -> bool:
        """Whether a person allowed this class, by itself or by its module."""
        key = (module, qualname)
        return key in self.types or key in self.names or self._may_import(module)

    def restorer(self, head: bytes) -> Restore:
        """What turns the state that belongs to a packed head back into an object."""
        if type(head) is not bytes:
            raise CorruptPayloadError("The stored bytes should describe a class in bytes.")
        kept = self._kept.get(head)
        if kept is None or self._locate(kept.module, kept.qualname) is not kept.cls:
            kept = self._make_restorer(head)
        if event_hooks.has_listeners():
            self._announce(kept.module, kept.qualname, kept.cls)
        return kept.restore

    def _make_restorer(self, head: bytes) -> _Kept:
        parts = unpackb(head)
        if type(parts) is not list or len(parts) < 3 or type(parts[0]) is not int:
            raise CorruptPayloadError("The stored bytes hold a description of a class that is none.")
        module, qualname = parts[1], parts[2]
        if type(module) is not str or type(qualname) is not str:
            raise CorruptPayloadError("The stored bytes describe a class whose name is no text.")
        cls, restore = RESTORERS[parts[0]](self, parts)
        kept = _Kept(restore, cls, module, qualname)
        if cls is not None and cls is self._locate(module, qualname):
            if len(self._kept) >= MAX_KEPT:
                self._kept.clear()
            self._kept[head] = kept
        return kept

    def find(self, module: str, qualname: str, accepts: Callable[[type], bool], kind: str) -> type | None:
        """The class that data names, if it may be used.

        Args:
            module: Its module.
            qualname: Its qualified name.
            accepts: Whether it is of the kind that the data says.
            kind: What that kind is called, for the warning.

        Returns:
            The class; None, after a warning, if the data must come back plain.
        """
        named = self.names_class(module, qualname)
        if self.mode == "strict" and not named and not is_trusted(module):
            self._plain(
                module,
                qualname,
                f"strict reading uses only classes that an allowlist names. Allow it with"
                f" JsonPlusSerializer(allowed_msgpack_modules=[({module!r}, {qualname!r})]), or use it in the schema of"
                f" a graph compiled with strict_serde=True.",
            )
            return None
        cls = self._locate(module, qualname)
        if cls is None:
            self._import(module, qualname)
            cls = self._locate(module, qualname)
        if cls is None:
            self._plain(
                module,
                qualname,
                f"this process has not loaded such a class. Import {module} before reading, or let it be imported with"
                f" JsonPlusSerializer(allowed_modules=[{module!r}]).",
            )
            return None
        if not accepts(cls):
            self._plain(
                module, qualname, f"{module}.{qualname} is no {kind} here, which the data says it was."
            )
            return None
        return cls

    def check_written(self, cls: type) -> None:
        """Warn at the time of writing if objects of a class cannot come back."""
        if cls in self._checked:
            return
        reason = self._obstacle(cls)
        if reason:
            warn_once(
                NotRestorableWarning,
                cls.__module__,
                cls.__qualname__,
                f"An object of {cls.__module__}.{cls.__qualname__} is stored, but another process gets it back as plain"
                f" data: {reason}.",
            )
        if len(self._checked) >= MAX_KEPT:
            self._checked.clear()
        self._checked.add(cls)

    def _obstacle(self, cls: type) -> str:
        """Why objects of a class cannot come back; empty if they can."""
        module, qualname = cls.__module__, cls.__qualname__
        found = loaded_class(module, qualname)
        if found is not cls:
            remember(cls)
            if (module, qualname) in self.types:
                return ""
            if "<locals>" in qualname:
                return "it is defined inside a function; define it at the top of its module"
            if found is None:
                return "its module does not have it under its own name; give it the name that it is found by"
            return "its module has another class of that name now"
        if self.mode == "strict" and not self.names_class(module, qualname) and not is_trusted(module):
            return (
                f"strict reading uses only classes that an allowlist names; add ({module!r}, {qualname!r}) to"
                " allowed_msgpack_modules, or use the class in the graph's schema"
            )
        return ""

    def _locate(self, module: str, qualname: str) -> type | None:
        cls = self.types.get((module, qualname))
        if cls is None:
            cls = loaded_class(module, qualname) or written_class(module, qualname)
        if cls is None and module.partition(".")[0] == "langgraph":
            cls = loaded_class("stepgraph" + module.removeprefix("langgraph"), qualname)
        return cls

    def _may_import(self, module: str) -> bool:
        return any(
            module == prefix.rstrip(".") or module.startswith(prefix.rstrip(".") + ".")
            for prefix in self.prefixes
        )

    def _import(self, module: str, qualname: str) -> None:
        """Import what may hold the class: a module that a person allows, or the fixed ones of its package."""
        if module in sys.modules or not all(part.isidentifier() for part in module.split(".")):
            return
        if self.mode == "lax" or (module, qualname) in self.names or self._may_import(module):
            modules: tuple[str, ...] = (module,)
        else:
            modules = IMPORTED_ROOTS.get(module.partition(".")[0], ())
        for name in modules:
            try:
                import_module(name)
            except ImportError as error:
                warn_once(
                    PlainDataWarning,
                    name,
                    "",
                    f"The module {name}, which stored data needs, cannot be imported: {error}",
                )
                return

    def _plain(self, module: str, qualname: str, reason: str) -> None:
        warn_once(
            PlainDataWarning,
            module,
            qualname,
            f"A stored object of {module}.{qualname} comes back as plain data: {reason}",
        )

    def _announce(self, module: str, qualname: str, cls: type | None) -> None:
        if cls is not None and (self.names_class(module, qualname) or is_trusted(module)):
            return
        kind = "msgpack_blocked" if cls is None else "msgpack_unregistered_allowed"
        event_hooks.emit_serde_event({"kind": kind, "module": module, "name": qualname})


def default_mode() -> Mode:
    """Strict if the environment says so, else the default."""
    return (
        "strict"
        if os.environ.get(STRICT_VARIABLE, "").strip().lower() in ("1", "true", "yes", "on")
        else "loaded"
    )


def plain_record(names: list[str]) -> Callable[[Any], Any]:
    """What restores the state of a class that may not be used: its fields as a dict."""

    def restore(values: Any) -> dict[str, Any]:
        return dict(zip(names, check_values(values, len(names))))

    return restore


def check_values(values: Any, length: int) -> list[Any]:
    """The values, if there are as many of them as the head says."""
    if type(values) is not list or len(values) != length:
        raise CorruptPayloadError(
            f"The stored bytes should hold {length} fields of an object, got {values!r:.60}"
        )
    return values


def check_names(names: Any) -> list[str]:
    """The names of a head, if they are a list of text."""
    if type(names) is not list or not all(type(name) is str for name in names):
        raise CorruptPayloadError("The stored bytes should hold a list of the names of fields.")
    return names
