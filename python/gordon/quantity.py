"""Numbers with a unit and a source, as the parts' TOML holds them: `2.4GHz`, `0.16W`, bare numbers,
and `{ value = ..., source | assumed = "..." }` of either. The core knows the units.
"""

from collections.abc import Callable
from math import isfinite
from typing import Any

from gordon import _core
from gordon.errors import GordonError

_PARSERS = {"Hz": _core.parse_hertz, "W": _core.parse_watts, "V": _core.parse_volts}


def value(field: Any) -> Any:
    """The value of a field, without its source."""
    return field["value"] if isinstance(field, dict) and "value" in field else field


def number(field: Any, what: str = "a value") -> float:
    """The field as a number in its base unit: hertz, watts or volts. `what` names it in errors."""
    plain = value(field)
    if isinstance(plain, int | float):
        return float(plain)
    text = plain.strip() if isinstance(plain, str) else ""
    why = f"{plain!r} is not a number, a frequency, a power or a voltage"
    for unit, parse in _PARSERS.items():
        if text.endswith(unit):
            try:
                return parse(text)
            except GordonError as error:
                why = error.message
    raise GordonError(
        f"{what}: {why}",
        "a number above zero with its unit, as in 2.4GHz, 19W or 1.2V",
        kind="bad-quantity",
    )


def finite(text: str) -> float:
    """The number of a text, which JSON can have. Raises ValueError for other texts."""
    number = float(text)
    if not isfinite(number):
        raise ValueError(f"{text} is not finite")
    return number


def parsed(option: str, text: str, parse: Callable[[str], float], example: str) -> float:
    """The quantity of a text. Raises GordonError, with the option."""
    try:
        return parse(text)
    except GordonError as error:
        raise GordonError(
            f"{option} {text}: {error.message}", example, kind="bad-quantity"
        ) from None


def positive(option: str, text: str, parse: Callable[[str], float], example: str) -> float:
    """The quantity of a text. Raises GordonError, with the option, unless it is above zero."""
    quantity = parsed(option, text, parse, example)
    if quantity <= 0:
        raise GordonError(f"{option} {text}: not above zero", example, kind="bad-number")
    return quantity
