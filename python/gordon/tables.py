"""TOML tables as dataclasses, values with their sources.

The fields of a dataclass are the keys of its table; an unknown key is an error that names the
nearest known one.
"""

import dataclasses
import re
import tomllib
import types
import typing
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated, Any, TypeVar

from gordon import _core, quantity
from gordon.errors import GordonError, located
from gordon.parts import unknown
from gordon.untyped import Config


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

T = TypeVar("T")


def parse(text: str) -> Config:
    """The table of a TOML text. Raises GordonError."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise GordonError(str(error), "fix the TOML at this place", "bad-toml") from None


def shipped(kind: type[T], package: str, name: str) -> T:
    """The TOML file of this name in a package, as one of these dataclasses."""
    content = (files(package) / name).read_text(encoding="utf-8")
    return read(kind, tomllib.loads(content), name)


def read(kind: type[T], table: Any, where: str) -> T:
    """Reads a table as one of these dataclasses; `where` is its place, for errors."""
    if not isinstance(table, dict):
        raise GordonError(f"{where}: not a table", kind="bad-value")
    fields = {f.name: f for f in dataclasses.fields(kind)}  # type: ignore[arg-type]
    hints = typing.get_type_hints(kind, include_extras=True)
    made: Config = {}
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
    if isinstance(given, bool) or (isinstance(given, str) and not unit):
        raise GordonError(f"{path}: {given!r} is not a number", kind="bad-value")
    if unit == "B" and isinstance(given, str):
        with located(path):
            return float(_core.parse_bytes(given))
    if isinstance(given, str) and not given.strip().endswith(unit):
        raise GordonError(
            f"{path}: {given!r} is not in {unit}", f"a number with the unit {unit}", "bad-value"
        )
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
