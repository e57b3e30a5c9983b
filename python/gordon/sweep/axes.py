"""The values of a range: a list, or `{ from, to, step | factor }` of numbers or quantities.

Numbers are decimal: 0.1, 0.2, 0.3 are what the file says, not sums of binary fractions. Quantities
(`4KiB`, `25us`) become multiples of the unit of `from`.
"""

import re
from contextlib import suppress
from decimal import Decimal
from typing import Any

from gordon import _core
from gordon.errors import GordonError
from gordon.parts import unknown
from gordon.untyped import Config

#: Keys of a range that is not a list.
KEYS = ("from", "to", "step", "factor")
#: Values of one range.
MOST = 100_000

_QUANTITY = re.compile(r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)\s*([A-Za-z%/]*)")


def is_range(table: Config) -> bool:
    """Whether a table is a range, and not keys of a device."""
    return "from" in table or "to" in table


def values(where: str, given: Any) -> list[Any]:
    """The values of a range; `where` names it in errors. Raises GordonError."""
    if isinstance(given, list):
        found = given
    elif isinstance(given, dict):
        found = _steps(where, given)
    else:
        raise _bad(where, f"{given!r} is not a range", "a list, or { from = 1, to = 8, step = 1 }")
    if not found:
        raise GordonError(f"{where}: the range is empty", "at least one value", kind="empty-range")
    seen: set[str] = set()
    for one in found:
        if not isinstance(one, str | int | float | list):
            raise _bad(where, f"{one!r} is not a value", "numbers, texts, true or false")
        if repr(one) in seen:
            raise GordonError(
                f"{where}: the value {one!r} is given twice",
                "each value once",
                kind="duplicate-value",
            )
        seen.add(repr(one))
    return found


def _steps(where: str, table: Config) -> list[Any]:
    for key in table:
        if key not in KEYS:
            raise unknown("key", key, list(KEYS)).at(where)
    if not {"from", "to"} <= table.keys() or ("step" in table) == ("factor" in table):
        raise _bad(
            where,
            "a range needs from, to, and either step or factor",
            "{ from = 1, to = 8, step = 1 } or { from = 1, to = 8, factor = 2 }",
        )
    first, unit = _number(where, "from", table["from"])
    last, _ = _number(where, "to", table["to"], unit)
    by = "step" if "step" in table else "factor"
    change, _ = _number(where, by, table[by], unit if by == "step" else "")
    if last < first:
        raise GordonError(
            f"{where}: to is less than from, so the range is empty",
            "a larger to; a list can have any order",
            kind="empty-range",
        )
    if change <= (0 if by == "step" else 1):
        raise _bad(where, f"{by} = {table[by]!r} does not grow", "step > 0, or factor > 1")
    if by == "factor" and first <= 0:
        raise _bad(
            where, f"from = {table['from']!r} cannot grow by a factor", "from > 0, or a step"
        )
    found: list[Decimal] = []
    at = first
    while at <= last:
        if len(found) == MOST:
            raise _bad(where, f"the range has more than {MOST:,} values", f"a larger {by}")
        found.append(at)
        at = first + len(found) * change if by == "step" else at * change
    whole = all(isinstance(table[key], int) for key in table)
    return [_plain(value, unit, whole) for value in found]


def _number(where: str, key: str, given: Any, unit: str = "") -> tuple[Decimal, str]:
    """The number and its unit. `to` and `step` are converted to `unit`, that of `from`."""
    match = None if isinstance(given, bool) else _QUANTITY.fullmatch(str(given))
    if match is None:
        raise _bad(where, f"{key} = {given!r} is not a number or quantity", "8, 0.5 or 64KiB")
    if key == "from" or match[2] == unit:
        return Decimal(match[1]), match[2]
    scale = _scale(match[2], unit)
    if scale is None:
        other = f"the unit {unit}" if unit else "a number without a unit"
        raise _bad(where, f"{key} = {given!r} does not fit {other}", "one unit in a range")
    return Decimal(match[1]) * scale, unit


def _scale(unit: str, base: str) -> Decimal | None:
    """The number of bases in a unit, both of sizes or both of times."""
    for read in (_core.parse_bytes, _core.parse_ns):
        with suppress(GordonError):
            return Decimal(read(f"1{unit}")) / Decimal(read(f"1{base}"))
    return None


def _plain(value: Decimal, unit: str, whole: bool) -> Any:
    if unit:
        return f"{value.normalize():f}{unit}"
    return int(value) if whole else float(value)


def _bad(where: str, what: str, hint: str) -> GordonError:
    return GordonError(f"{where}: {what}", hint, kind="bad-range")
