"""The designs that the Gordon paper names (section 5.4, Table 6), of any job and space.

MinP draws the least average power, MaxE does the most per watt (performance per watt is
1 / (time x power), so the least energy), MinT takes the least time; each by the sync model, and
each again among the designs with disks alone. Ties go to the better of the other two figures,
then to the first in the space.
"""

from collections.abc import Callable
from typing import Any

Row = dict[str, Any]


def power(design: Row) -> tuple[float, ...]:
    sync = design["sync"]
    return (sync["node_power_w"], sync["energy_j"], sync["time_s"])


def energy(design: Row) -> tuple[float, ...]:
    sync = design["sync"]
    return (sync["energy_j"], sync["time_s"])


def time(design: Row) -> tuple[float, ...]:
    sync = design["sync"]
    return (sync["time_s"], sync["energy_j"])


BEST: dict[str, Callable[[Row], tuple[float, ...]]] = {"MinP": power, "MaxE": energy, "MinT": time}


def named(designs: list[Row]) -> dict[str, str | None]:
    """The ids of the named designs; None without a design of that kind."""
    disks = [d for d in designs if d["storage_kind"] == "disk"]
    best = {name: _first(designs, by) for name, by in BEST.items()}
    return best | {f"{name}-disk": _first(disks, by) for name, by in BEST.items()}


def _first(designs: list[Row], by: Callable[[Row], tuple[float, ...]]) -> str | None:
    return min(designs, key=by)["id"] if designs else None
