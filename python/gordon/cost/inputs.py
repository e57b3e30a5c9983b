"""The inputs of the cost model: a shipped TOML file, or a person's own.

All prices of a file are in one currency, its `currency`.
"""

from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Annotated

from gordon import tables
from gordon.cost import prices
from gordon.errors import GordonError, located
from gordon.files import read_text
from gordon.parts import unknown
from gordon.tables import Bytes, Limits, Value

#: The kinds of media that have prices in other years.
KINDS = ("dram", "flash", "disk")
#: A price in the currency of the file. Nothing of a server costs more than a billion.
Price = Annotated[Value, Limits("", 0.001, 1e9)]
#: The power of a part or an enclosure.
Power = Annotated[Value, Limits("W", 0, 1e6)]
#: A number of pieces in a server.
Pieces = Annotated[Value, Limits("", 1, 1e5)]


@dataclass(frozen=True, kw_only=True)
class Part:
    """A processor or an enclosure. `currency` is that of its price, by default the file's."""

    summary: str = ""
    price: Price
    active: Power
    currency: str | None = None


@dataclass(frozen=True, kw_only=True)
class Medium(Part):
    """A storage medium and the server that holds it: `slots` media and `processors` in an
    enclosure. `priced_as` is `dram`, `flash` or `disk`, as which it has a price of another year."""

    capacity: Bytes
    slots: Pieces
    enclosure: str
    processors: Pieces
    priced_as: str | None = None


@dataclass(frozen=True, kw_only=True)
class Bandwidth:
    """Arrays of the same bandwidth: the flash of a part of the catalogue, and disks whose price is
    known, of a medium."""

    each: Bytes
    flash_capacity: Bytes
    flash_price_per_gb: Price
    flash_part: str
    disks_price: Price
    disks_medium: str


@dataclass(frozen=True, kw_only=True)
class Replicas:
    """Prices of replicas on flash and on disks: that of a kWh, and the medium whose price by
    capacity is that of a disk of the catalogue."""

    price_kwh: Price
    disk_part: str
    disk_medium: str


@dataclass(frozen=True, kw_only=True)
class Inputs:
    """The content of a file of inputs."""

    summary: str = ""
    currency: str
    capacity: Bytes
    processor: Part
    media: dict[str, Medium]
    enclosure: dict[str, Part]
    bandwidth: Bandwidth | None = None
    replicas: Replicas | None = None


def names() -> list[str]:
    """The names of the shipped files of inputs."""
    own = ("paper.toml", "prices.toml")
    folder = files("gordon.cost")
    return sorted(
        file.name[:-5]
        for file in folder.iterdir()
        if file.name.endswith(".toml") and file.name not in own
    )


def text(name: str) -> str:
    """The TOML text of a shipped file of inputs. Raises GordonError for an unknown name."""
    if name not in names():
        raise unknown("file of inputs", name, names())
    return (files("gordon.cost") / f"{name}.toml").read_text(encoding="utf-8")


def load(inputs: str) -> Inputs:
    """A shipped file of inputs, or the file at a path, checked. Raises GordonError."""
    is_path = "/" in inputs or inputs.endswith(".toml") or Path(inputs).is_file()
    origin = inputs if inputs not in names() and is_path else f"{inputs}.toml"
    hint = "`gordon cost inputs` prints the shipped ones as a template"
    content = read_text(inputs, "the inputs", hint) if origin == inputs else text(inputs)
    with located(origin):
        found = tables.read(Inputs, tables.parse(content), "")
        _check(found)
    return found


def _check(found: Inputs) -> None:
    """Raises GordonError for a currency that is not the file's, names of no table, or no media."""
    if not found.media:
        raise GordonError("there are no media", "a table [media.NAME]", kind="no-media")
    for place, part in parts(found):
        if part.currency not in (None, found.currency):
            raise GordonError(
                f"{place}: its price is in {part.currency}, and the file is in {found.currency}",
                "convert the prices to one currency",
                kind="mixed-currencies",
            )
    for name, medium in found.media.items():
        if medium.enclosure not in found.enclosure:
            known = list(found.enclosure)
            raise unknown("enclosure", medium.enclosure, known).at(f"media.{name}")
    arrays, replicas = found.bandwidth, found.replicas
    named = [] if arrays is None else [("bandwidth", arrays.disks_medium)]
    named += [] if replicas is None else [("replicas", replicas.disk_medium)]
    for place, name in named:
        if name not in found.media:
            raise unknown("medium", name, list(found.media)).at(place)


def of_year(found: Inputs, year: int) -> Inputs:
    """The inputs with the prices of media in a year, by their capacity. Processors and enclosures
    keep theirs; arrays of a bandwidth, whose prices are of one year, are left out. Raises
    GordonError for a year without a price, a medium whose kind is not given, and another currency
    than that of the table of prices."""
    if found.currency != prices.CURRENCY:
        raise GordonError(
            f"--year {year}: prices by year are in {prices.CURRENCY}, and the inputs in "
            f"{found.currency}",
            f"inputs in {prices.CURRENCY}",
            kind="mixed-currencies",
        )
    media = {name: _of_year(name, medium, year) for name, medium in found.media.items()}
    return replace(found, media=media, bandwidth=None)


def _of_year(name: str, medium: Medium, year: int) -> Medium:
    if medium.priced_as not in KINDS:
        raise GordonError(
            f"--year {year}: media.{name} does not say what it is priced as",
            'priced_as = "disk" in its table: dram, flash or disk',
            kind="no-price",
        )
    price = prices.drive(medium.priced_as, year)
    source = f"gordon cost prices: {price.medium}, {price.usd_per_gb:.4g} USD a GB in {year}"
    cost = price.usd_per_gb * medium.capacity.value / 1e9
    return replace(medium, price=Value(cost, source=source))


def parts(found: Inputs) -> list[tuple[str, Part]]:
    """The parts with a price, with their places in the file."""
    return [
        ("processor", found.processor),
        *((f"media.{name}", part) for name, part in found.media.items()),
        *((f"enclosure.{name}", part) for name, part in found.enclosure.items()),
    ]
