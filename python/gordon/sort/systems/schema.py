"""The schema of a file of systems: a dataclass per table, values with their sources.

The fields of a dataclass are the keys of its table; an unknown key is an error that names the
nearest known one.
"""

import dataclasses
import re
import types
import typing
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from gordon import _core, quantity
from gordon.errors import GordonError, located
from gordon.parts import unknown


@dataclass(frozen=True)
class Value:
    """A number in its base unit, and its source."""

    value: float
    source: str | None = None
    assumed: str | None = None


@dataclass(frozen=True)
class Printed:
    """A figure as it is printed, `56.0 ± 0.3`: its deviation, and half of its last digit."""

    value: float
    deviation: float
    half: float


@dataclass(frozen=True)
class Limits:
    """The unit of a value (`B`, `W`, `Hz`, or none), and what it lies between: nothing of a machine
    is near the ends of what a number may be."""

    unit: str
    least: float = 0.0
    most: float = 1e18


Bytes = Annotated[Value, Limits("B", 1)]
Watts = Annotated[Value, Limits("W")]
Hertz = Annotated[Value, Limits("Hz", 1)]
Number = Annotated[Value, Limits("")]
Count = Annotated[Value, Limits("", 1)]
Share = Annotated[Value, Limits("", 0, 1)]
Some = Annotated[Value, Limits("", 0.01, 1)]


@dataclass(frozen=True, kw_only=True)
class Seen:
    """How busy a processor was: cores, over a system's run or one phase of it."""

    system: str
    cores_busy: Number
    phase: str | None = None


@dataclass(frozen=True, kw_only=True)
class Work:
    """Core-seconds per gigabyte of records, by phase."""

    input: Number
    output: Number


@dataclass(frozen=True, kw_only=True)
class Cpu:
    summary: str = ""
    cores: Count
    clock: Hertz | None = None
    tdp: Watts
    work: Work | None = None
    seen: Seen | None = None
    whole_like: str | None = None
    like: str | None = None


@dataclass(frozen=True, kw_only=True)
class Drive:
    summary: str = ""
    part: str | None = None
    read: Bytes | None = None
    write: Bytes | None = None
    active: Watts | None = None
    idle: Watts | None = None
    link: Bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Board:
    """`base` is the board's own power. With `like` it is that of another board plus `cards`."""

    summary: str = ""
    efficiency: Some
    base: Watts | None = None
    like: str | None = None
    cards: Watts | None = None
    ports: Count | None = None
    link: Bytes | None = None


@dataclass(frozen=True, kw_only=True)
class Array:
    drive: str
    count: int = 1


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A row of table 2, or another published result, which may have only its energy. `records` is
    the size that was sorted; without it, the file's."""

    power: Printed | None = None
    records_per_j: Printed | None = None
    time: Printed | None = None
    energy: Printed | None = None
    records: int | None = None
    source: str = ""


@dataclass(frozen=True, kw_only=True)
class Serves:
    """A published load other than a sort: operations a second at full load, operations a joule, and
    power of the whole system at full load."""

    what: str
    rate: Number
    per_joule: Number
    power: Watts


@dataclass(frozen=True, kw_only=True)
class System:
    summary: str = ""
    cpu: str | None = None
    board: str | None = None
    memory: Bytes | None = None
    memory_power: Watts | None = None
    files: Array | None = None
    temp: Array | None = None
    boot: Array | None = None
    passes: int | None = None
    read_share: Some | None = None
    write_share: Some | None = None
    transfer: dict[str, str] | None = None
    measured: Measured | None = None
    serves: Serves | None = None
    reason: str = ""
    """Why the model misses the published result, if it does."""


@dataclass(frozen=True, kw_only=True)
class CpuPower:
    acp_w: list[float]
    tdp_w: list[float]
    source: str
    idle_share: Share


@dataclass(frozen=True, kw_only=True)
class MemoryPower:
    part: str
    assumed: str = ""


@dataclass(frozen=True, kw_only=True)
class Systems:
    """The content of a file of systems."""

    source: str
    cpu_power: CpuPower
    memory_power: MemoryPower
    cpu: dict[str, Cpu]
    drive: dict[str, Drive]
    board: dict[str, Board]
    system: dict[str, System]
    records: Count
    record_bytes: Count


T = TypeVar("T")


def read(kind: type[T], table: Any, where: str) -> T:
    """Reads a table as one of these dataclasses; `where` is its place, for errors."""
    if not isinstance(table, dict):
        raise GordonError(f"{where}: not a table", kind="bad-value")
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind, include_extras=True)
    made: dict[str, Any] = {}
    for key, value in table.items():
        if key not in fields:
            raise unknown("key", key, list(fields)).at(where or "the file")
        made[key] = _field(hints[key], value, f"{where}.{key}" if where else key)
    for name, f in fields.items():
        if f.default is dataclasses.MISSING and name not in made:
            raise GordonError(f"{where or 'the file'}: `{name}` is missing", kind="missing-key")
    return kind(**made)


def _field(hint: Any, given: Any, path: str) -> Any:
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        return _field(next(h for h in inner if h is not type(None)), given, path)
    if origin is Annotated:
        return _value(given, path, inner[1])
    if hint is Printed:
        return _printed(given, path)
    if dataclasses.is_dataclass(hint):
        return read(typing.cast(type, hint), given, path)
    if origin is dict and isinstance(given, dict):
        return {name: _field(inner[1], one, f"{path}.{name}") for name, one in given.items()}
    if origin is list and isinstance(given, list):
        return [_field(inner[0], one, path) for one in given]
    if hint is float and isinstance(given, int | float) and not isinstance(given, bool):
        return float(given)
    if hint is int and isinstance(given, int) and not isinstance(given, bool) and given > 0:
        return given
    if hint is str and isinstance(given, str):
        return given
    wanted = {int: "a whole number above zero", str: "text", float: "a number"}
    raise GordonError(f"{path}: {given!r} is not {wanted.get(hint, 'a table')}", kind="bad-value")


def _value(given: Any, path: str, limits: Limits) -> Value:
    """`250MB`, 2, or `{ value = ..., source | assumed = "..." }` of either."""
    source = assumed = None
    if isinstance(given, dict):
        known = ["value", "source", "assumed"]
        for key in given:
            if key not in known:
                raise unknown("key", key, known).at(path)
        if "value" not in given:
            raise GordonError(
                f"{path}: `value` is missing", '{ value = 2, source = "..." }', "missing-key"
            )
        source, assumed, given = given.get("source"), given.get("assumed"), given["value"]
    number = _number(given, path, limits.unit)
    if not limits.least <= number <= limits.most or 0 < number < 1e-9:
        raise GordonError(
            f"{path}: {given!r} is not between {limits.least:g} and {limits.most:g}",
            kind="out-of-range",
        )
    return Value(number, source, assumed)


def _number(given: Any, path: str, unit: str) -> float:
    if isinstance(given, bool):
        raise GordonError(f"{path}: {given!r} is not a number", kind="bad-value")
    if unit == "B" and isinstance(given, str):
        with located(path):
            return float(_core.parse_bytes(given))
    if isinstance(given, str) and unit and not given.strip().endswith(unit):
        raise GordonError(
            f"{path}: {given!r} is not in {unit}", f"a number with the unit {unit}", "bad-value"
        )
    if isinstance(given, str) and not unit:
        raise GordonError(f"{path}: {given!r} is not a number", kind="bad-value")
    return quantity.number(given, path)


_FIGURE = re.compile(r"(\d+(?:\.(\d+))?)(?: ± (\d+(?:\.\d+)?))?")


def _printed(given: Any, path: str) -> Printed:
    text = str(given) if isinstance(given, int | float) and not isinstance(given, bool) else given
    match = _FIGURE.fullmatch(text) if isinstance(text, str) else None
    if match is None or not 1e-9 <= float(match[1]) <= 1e18:
        raise GordonError(
            f"{path}: {given!r} is not a number with an optional deviation",
            '"56.0 ± 0.3", or 56.0',
            kind="bad-value",
        )
    half = 0.5 * 10.0 ** -len(match[2] or "")
    return Printed(float(match[1]), float(match[3] or 0), half)
