"""Numbers as pages write them; a dash where there is none."""

from typing import Any

from gordon.human import figures, short


def sig(value: float | None, digits: int = 3) -> str:
    """`digits` significant figures, thousands apart; a dash where there is none."""
    if value is None:
        return "–"
    if isinstance(value, int) or value == 0:
        return f"{value:,.0f}"
    size = abs(value)
    whole = len(str(int(size))) if size >= 1 else 0
    if size < 1:
        return f"{value:#.{digits}g}"
    return f"{value:,.{max(digits - whole, 0)}f}"


def si(value: float | None, unit: str = "") -> str:
    """The value with a prefix and a unit; a dash for None."""
    return "–" if value is None else short(value, unit)


def times(value: float | None) -> str:
    """A ratio."""
    return "–" if value is None else figures(value)


def percent(share: float | None) -> str:
    """A fraction as a percentage; a small one with two significant figures."""
    if share is None:
        return "–"
    return f"{share * 100:.2g}%" if 0 < share < 0.095 else f"{share:.0%}"


def plain(value: Any) -> str:
    """A parameter as in its file; a computed number with six significant figures."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return ", ".join(map(plain, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)
