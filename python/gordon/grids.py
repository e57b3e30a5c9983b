"""The carbon of electricity by country and by region of a cloud: the content of grids.toml.

from gordon.grids import grid
grid("DE").grams_per_kwh
"""

from dataclasses import dataclass
from functools import cache

from gordon import tables
from gordon.errors import GordonError
from gordon.parts import unknown


@dataclass(frozen=True)
class Grid:
    """Electricity of a country or region."""

    id: str
    name: str
    grams_per_kwh: float
    """Grams of CO2-equivalent of a kWh, average of the year."""
    year: int
    source: str


@dataclass(frozen=True, kw_only=True)
class _Row:
    name: str
    grams_per_kwh: float
    year: int


@dataclass(frozen=True, kw_only=True)
class _Table:
    """Grids of one source."""

    source: str
    grids: dict[str, _Row]


@dataclass(frozen=True, kw_only=True)
class _File:
    """The content of grids.toml. `regions` are ids of countries, by region."""

    countries: _Table
    google: _Table
    nerc: _Table
    regions: dict[str, str]


@cache
def grids() -> dict[str, Grid]:
    """All grids by id: countries first."""
    file = tables.shipped(_File, "gordon", "grids.toml")
    found: dict[str, Grid] = {}
    for table in (file.countries, file.google, file.nerc):
        for id, row in sorted(table.grids.items()):
            found[id] = Grid(id, row.name, row.grams_per_kwh, row.year, table.source)
    for id, country in sorted(file.regions.items()):
        of = found[country]
        found[id] = Grid(id, of.name, of.grams_per_kwh, of.year, of.source)
    return found


def grid(id: str) -> Grid:
    """The grid of a country (`DE`, or `Germany`) or of a region of a cloud (`us-east-1`), in upper
    or lower case. Raises GordonError for an unknown id, with the nearest one."""
    known = grids()
    spelled: dict[str, str] = {}
    # Regions have the names of their countries, which come first.
    for one in known.values():
        spelled.setdefault(one.name.lower(), one.id)
    spelled |= {name.lower(): name for name in known}
    name = spelled.get(id.strip().lower())
    if name is None:
        error = unknown("grid", id, list(known))
        hint = f"{error.hint}; `gordon cost grids` lists all, or grams of a kWh, as 380"
        raise GordonError(error.message, hint, kind=error.kind)
    return known[name]
