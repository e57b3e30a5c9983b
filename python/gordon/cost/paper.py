"""Printed figures of the Gordon paper, with their precision: the content of paper.toml."""

import re
from dataclasses import dataclass
from functools import cache
from typing import NotRequired, TypedDict

from gordon import tables
from gordon.tables import Number

#: Relative difference up to which a figure agrees, beyond the digits that the paper prints.
TOLERANCE = 0.01
_SCALES = {"": 1.0, "%": 0.01, "K": 1e3, "M": 1e6}
_PRINTED = re.compile(r"(\d+)(?:\.(\d+))?([KM%]?)")


@dataclass(frozen=True)
class Figure:
    """A figure as it is printed, and the ends of what rounds to it."""

    text: str
    value: float
    low: float
    high: float

    def agrees(self, ours: float) -> bool:
        """Whether a number rounds to the figure, or is within the tolerance of one that does."""
        return abs(self.ratio(ours) - 1) <= TOLERANCE

    def ratio(self, ours: float) -> float:
        """A number over the nearest one that rounds to the figure."""
        return ours / min(max(ours, self.low), self.high)


def figure(text: str, digits: int | None = None) -> Figure:
    """The figure of a text such as `1.2M`, `45%` or `10923`. All printed digits count, unless the
    number of significant ones is given."""
    match = _PRINTED.fullmatch(text)
    assert match is not None, text
    scale = _SCALES[match[3]]
    number = float(f"{match[1]}.{match[2] or 0}")
    last = -len(match[2] or "") if digits is None else len(match[1]) - digits
    half = 0.5 * 10.0**last
    return Figure(text, number * scale, (number - half) * scale, (number + half) * scale)


@dataclass(frozen=True, kw_only=True)
class PaperInputs:
    """Printed numbers from which others follow."""

    node_gb: Number
    node_mb_s: Number
    node_w: Number
    nodes: Number
    enclosures: Number
    main_memory_gb: Number
    controller_memory_gb: Number
    package_gb: Number
    slides_rack_w: Number
    slides_node_w: Number
    gb_per_tb: Number
    retail_price: Number
    card_gb: Number
    slc_price_per_gb: Number
    virtual_nodes: Number
    virtual_slices: Number
    links: Number
    link_gb_s: Number
    load_tb: Number


@dataclass(frozen=True, kw_only=True)
class Pins:
    """Signal pins of the flash controller."""

    buses: Number
    dies_per_bus: Number
    bus_shared: Number
    per_die: Number
    host: Number
    memory: Number
    table_memory: Number
    most: Number

    def of_bus(self, dies: float) -> float:
        """Pins of a flash bus with a number of dies."""
        return self.bus_shared.value + self.per_die.value * dies

    def of_controller(self, buses: float, dies: float) -> float:
        """Pins of a controller with a number of buses, each with a number of dies."""
        others = self.host.value + self.memory.value + self.table_memory.value
        return buses * self.of_bus(dies) + others


@dataclass(frozen=True, kw_only=True)
class BoardLimits:
    """The limits of a flash controller."""

    packages_per_bus: Number
    dies_per_package: Number
    buses: Number
    table_entry_bytes: Number


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A row of Table 8, as printed."""

    servers: str
    media_cost: str
    nonmedia_cost: str
    nonmedia_cost_share: str
    nonmedia_power_share: str


@dataclass(frozen=True, kw_only=True)
class Statement:
    """A printed result: where, what, and why it does not follow, if it does not. `figures` is the
    number of significant digits of a round number."""

    where: str
    says: str
    printed: str
    unit: str
    figures: int | None = None
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A statement in words: where, what is compared, the side of a number on which it has to be,
    and why it may not hold. `printed` is our reading of the words."""

    where: str
    says: str
    printed: str
    least: float | None = None
    most: float | None = None
    reason: str


@dataclass(frozen=True, kw_only=True)
class Paper:
    """The content of paper.toml."""

    source: str
    inputs: PaperInputs
    pins: Pins
    limits: BoardLimits
    table8: dict[str, Cells]
    statement: dict[str, Statement]
    claim: dict[str, Claim]


@cache
def paper() -> Paper:
    """The printed numbers."""
    return tables.shipped(Paper, "gordon.cost", "paper.toml")


class Printed(TypedDict):
    """A printed figure, and the ends of what rounds to it."""

    printed: str
    low: float | None
    high: float | None


class Item(TypedDict):
    """A printed figure next to ours; None if there is nothing to compare with."""

    id: str
    where: str
    what: str
    unit: str
    paper: Printed
    ours: float | None
    ratio: float | None
    agrees: bool | None
    source: str
    reason: str
    #: Of a figure that depends on the processors of a server: the whole numbers with which it
    #: follows, and the number, not whole, with which the printed value does.
    processors_that_fit: NotRequired[list[int] | None]
    processors_implied: NotRequired[float | None]


def item(id: str, where: str, says: str, unit: str, printed: Figure, ours: float | None) -> Item:
    """A printed figure next to ours; `agrees` is None if there is nothing to compare with."""
    return {
        "id": id,
        "where": where,
        "what": says,
        "unit": unit,
        "paper": {"printed": printed.text, "low": printed.low, "high": printed.high},
        "ours": ours,
        "ratio": None if ours is None else printed.ratio(ours),
        "agrees": None if ours is None else printed.agrees(ours),
        "source": f"{paper().source}, {where}",
        "reason": "",
    }
