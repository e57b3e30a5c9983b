"""Prices of memory and storage by year: the content of prices.toml.

from gordon.cost.prices import price
price("disk", 2009).usd_per_gb
"""

from bisect import bisect_left
from dataclasses import dataclass
from functools import cache

from gordon import tables
from gordon.errors import GordonError
from gordon.parts import unknown

#: The currency of all prices.
CURRENCY = "USD"


@dataclass(frozen=True)
class Price:
    """The price of a medium in a year."""

    medium: str
    year: int
    usd_per_gb: float
    is_interpolated: bool
    """Whether the table lacks the year, so that the price lies between those of two others."""


@dataclass(frozen=True)
class Medium:
    """A medium and the prices of its years, in order."""

    id: str
    summary: str
    usd_per_gb: dict[int, float]
    source: str

    @property
    def first(self) -> int:
        """Its first year with a price."""
        return min(self.usd_per_gb)

    @property
    def last(self) -> int:
        """Its last year with a price."""
        return max(self.usd_per_gb)


@dataclass(frozen=True, kw_only=True)
class _Row:
    summary: str
    usd_per_gb: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class _File:
    """The content of prices.toml."""

    source: str
    media: dict[str, _Row]


@cache
def media() -> dict[str, Medium]:
    """All media by id."""
    file = tables.shipped(_File, "gordon.cost", "prices.toml")
    return {
        id: Medium(
            id,
            row.summary,
            dict(sorted((int(year), usd) for year, usd in row.usd_per_gb.items())),
            file.source,
        )
        for id, row in file.media.items()
    }


def price(medium: str, year: int) -> Price:
    """The price of a medium (`dram`, `flash`, `ssd` or `disk`) in a year. A year between two of the
    table has a price between theirs, as if it fell by the same share every year. Raises GordonError
    for an unknown medium, and for a year before or after the table."""
    known = media()
    if medium not in known:
        raise unknown("medium", medium, list(known))
    found = known[medium]
    if year in found.usd_per_gb:
        return Price(medium, year, found.usd_per_gb[year], False)
    if not found.first < year < found.last:
        raise GordonError(
            f"there is no price of {medium} in {year}",
            f"a year from {found.first} to {found.last}",
            kind="no-price",
        )
    years = list(found.usd_per_gb)
    at = bisect_left(years, year)
    before, after = years[at - 1], years[at]
    low, high = found.usd_per_gb[before], found.usd_per_gb[after]
    share = (year - before) / (after - before)
    return Price(medium, year, low * (high / low) ** share, True)


def drive(kind: str, year: int) -> Price:
    """The price of DRAM, of a flash drive or of a disk in a year: `kind` is `dram`, `flash` or
    `disk`. A flash drive has the price of SSDs, and before there are any that of flash. Raises
    GordonError for a year without a price."""
    if kind != "flash":
        return price(kind, year)
    flash, ssds = media()["flash"], media()["ssd"]
    if not flash.first <= year <= ssds.last:
        raise GordonError(
            f"there is no price of flash in {year}",
            f"a year from {flash.first} to {ssds.last}",
            kind="no-price",
        )
    return price("ssd" if year >= ssds.first else "flash", year)


def of(year: int | None = None) -> list[Price]:
    """The prices of all media that have one in the year; without a year, those of all years of the
    table, in order. Raises GordonError if no medium has a price in the year."""
    known = media().values()
    if year is None:
        listed = [(one, id) for id, medium in media().items() for one in medium.usd_per_gb]
        return [price(id, one) for one, id in sorted(listed, key=lambda pair: pair[0])]
    found = [price(medium.id, year) for medium in known if medium.first <= year <= medium.last]
    if not found:
        first, last = min(m.first for m in known), max(m.last for m in known)
        raise GordonError(
            f"there are no prices in {year}", f"a year from {first} to {last}", kind="no-price"
        )
    return found
