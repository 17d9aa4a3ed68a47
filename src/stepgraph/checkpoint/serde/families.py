"""Which family of types knows how to encode a type, decode a code, or restore a head.

Theory: the three tables below start empty. When a type, a code or a head is met first, the module of its family is
imported and enters itself into the tables; from then on a lookup is one dictionary access. So a program that stores no
arrays never imports NumPy's family, and a program without Pydantic never looks for it.

Rules: the names of modules come from this file only, never from data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from stepgraph.checkpoint.serde import codes
from stepgraph.checkpoint.serde.errors import CorruptPayloadError

if TYPE_CHECKING:
    from stepgraph.checkpoint.serde.policy import Policy
    from stepgraph.checkpoint.serde.reader import Reader
    from stepgraph.checkpoint.serde.writer import Writer

    Encode = Callable[[Writer, Any], Any]
    Decode = Callable[[Reader, bytes], Any]
    Restore = Callable[[Any], Any]
    MakeRestore = Callable[[Policy, list[Any]], tuple[type | None, Restore]]

Entry = TypeVar("Entry")

MAX_CLASSES: Final = 4096
"""How many classes of a person the encoders are kept for."""

_TYPES: Final = {
    "numbers": (
        "builtins.int",
        "builtins.complex",
        "builtins.range",
        "builtins.slice",
        "decimal.Decimal",
        "fractions.Fraction",
    ),
    "dates": (
        "datetime.datetime",
        "datetime.date",
        "datetime.time",
        "datetime.timedelta",
        "datetime.timezone",
        "zoneinfo.ZoneInfo",
    ),
    "identifiers": (
        "uuid.UUID",
        "re.Pattern",
        *(
            f"{module}.{name}"
            for module in ("pathlib", "pathlib._local")
            for name in ("PosixPath", "WindowsPath", "PurePosixPath", "PureWindowsPath")
        ),
        *(f"ipaddress.IPv{n}{kind}" for n in (4, 6) for kind in ("Address", "Network", "Interface")),
    ),
    "models": ("pydantic.types.SecretStr", "pydantic.types.SecretBytes"),
    "engine": (
        *(f"stepgraph.values.commands.{name}" for name in ("Send", "Command", "Interrupt", "Overwrite")),
        "stepgraph.channels.delta.DeltaSnapshot",
    ),
}
_FAMILY_OF_TYPE: Final = {name: family for family, names in _TYPES.items() for name in names}
_COMMANDS: Final = "stepgraph.values.commands"
_FAMILY_OF_ROOT: Final = {"numpy": "arrays", "pandas": "pandas_frames", "polars": "polars_frames"}

_CODES: Final = {
    "numbers": range(codes.INTEGER, codes.SLICE + 1),
    "dates": range(codes.DATETIME, codes.ZONEINFO + 1),
    "identifiers": (codes.UUID, codes.PATH, codes.PATTERN, codes.IP),
    "engine": range(codes.SEND, codes.SENDS + 1),
    "arrays": (codes.ARRAY, codes.ARRAY_SCALAR),
    "pandas_frames": range(codes.FRAME, codes.PANDAS_SINGLETON + 1),
    "polars_frames": (codes.POLARS_FRAME, codes.POLARS_SERIES),
    "legacy": range(codes.LEGACY_SINGLE, codes.LEGACY_DELTA + 1),
}
_FAMILY_OF_CODE: Final = {code: family for family, numbers in _CODES.items() for code in numbers}

_FAMILY_OF_HEAD: Final = {
    codes.HEAD_DATACLASS: "records",
    codes.HEAD_NAMEDTUPLE: "records",
    codes.HEAD_ENUM: "records",
    codes.HEAD_MODEL: "models",
    codes.HEAD_SECRET: "models",
    codes.HEAD_URL: "models",
    codes.HEAD_EXCEPTION: "exceptions",
    codes.HEAD_SUBCLASS: "subclasses",
}


def load(family: str) -> None:
    """Import a family; it enters itself into the tables."""
    import_module(f"stepgraph.checkpoint.serde.{family}")


class _LoadedWhenAsked(dict[int, Entry], Generic[Entry]):
    """A table whose entries come with the family that they belong to.

    Args:
        families: The family of each entry.
        unknown: How the stored bytes are described that ask for an entry that there is not; `{}` is its number.
    """

    def __init__(self, families: Mapping[int, str], unknown: str) -> None:
        self._families = families
        self._unknown = unknown

    def __missing__(self, number: int) -> Entry:
        family = self._families.get(number)
        if family is not None:
            load(family)
        entry = self.get(number)
        if entry is None:
            raise CorruptPayloadError(
                f"The stored bytes {self._unknown.format(number)}: they were damaged, or written by a later version of"
                " stepgraph or by another program."
            )
        return entry


ENCODERS: Final[dict[type, Encode]] = {}
"""By exact type; classes of a person are entered when first met."""
DECODERS: Final[dict[int, Decode]] = _LoadedWhenAsked(
    _FAMILY_OF_CODE, "hold an extension with the unknown code {}"
)
"""By extension code."""
RESTORERS: Final[dict[int, MakeRestore]] = _LoadedWhenAsked(
    _FAMILY_OF_HEAD, "describe a class of the unknown kind {!r}"
)
"""By kind of head: makes the function that turns the state of one class back into an object."""

FOLDERS: Final[dict[type, Callable[[list[Any]], Any]]] = {}
"""Class of the first item of a long list to what packs such a list in one."""

_classes: Final[list[type]] = []


def folder_of(cls: type) -> Callable[[list[Any]], Any] | None:
    """What packs long lists of a class in one."""
    if cls.__module__ != _COMMANDS:
        return None
    load("engine")
    return FOLDERS.get(cls)


def find_encoder(cls: type) -> Encode:
    """The encoder of a type that is not in the table yet."""
    name = f"{cls.__module__}.{cls.__qualname__}"
    family = _FAMILY_OF_TYPE.get(name) or _FAMILY_OF_ROOT.get(cls.__module__.partition(".")[0])
    if family is not None:
        load(family)
        encode = ENCODERS.get(cls)
        if encode is not None:
            return encode
    from stepgraph.checkpoint.serde.classes import encoder_of_class

    encode = encoder_of_class(cls)
    if len(_classes) >= MAX_CLASSES:
        for old in _classes:
            ENCODERS.pop(old, None)
        _classes.clear()
    _classes.append(cls)
    ENCODERS[cls] = encode
    return encode
