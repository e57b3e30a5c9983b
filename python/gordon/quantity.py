"""Numbers with a unit and a source, as the parts' TOML holds them.

The core checks files before their texts come here: `2.4GHz`, `0.16W`, bare numbers, and
`{ value = ..., source | assumed = "..." }` of either.
"""

import re
from typing import Any

from gordon._core import GordonError

_PREFIX = {"": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9}
_QUANTITY = re.compile(r"\s*([0-9.]+)\s*([numkMG]?)(Hz|W|V)\s*")


def value(field: Any) -> Any:
    """The value of a field, without its source."""
    return field["value"] if isinstance(field, dict) and "value" in field else field


def number(field: Any, what: str = "a value") -> float:
    """The field as a number in its base unit: hertz, watts or volts. `what` names it in errors."""
    plain = value(field)
    if isinstance(plain, int | float):
        return float(plain)
    match = _QUANTITY.fullmatch(plain) if isinstance(plain, str) else None
    if match is None:
        raise GordonError(
            f"{what}: {plain!r} is not a number, a frequency, a power or a voltage",
            "a number above zero with its unit, as in 2.4GHz, 19W or 1.2V",
            kind="bad-quantity",
        )
    scale = _PREFIX[match[2]]
    # Dividing by a whole power of ten is exact where multiplying by its inverse is not.
    return float(match[1]) * scale if scale >= 1 else float(match[1]) / round(1 / scale)
