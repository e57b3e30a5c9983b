"""The cost of storing a petabyte in DRAM, flash and disks: the model of section 6.2 of the paper.

A server is an enclosure with as many media as it has slots for, and processors. From the capacity C
follow, for a medium of capacity c:

    media   = ceil(C / c)             servers = ceil(media / slots)
    media cost = media x price        non-media cost = servers x (enclosure + processors x price)

and the powers in the same way, all parts active. Shares are those of the sum of both.
"""

from dataclasses import asdict
from math import ceil
from typing import ClassVar, Literal

from gordon import __version__, _core, fields, power
from gordon.cost import inputs as files
from gordon.cost import statements
from gordon.cost.inputs import Inputs, Medium, Part
from gordon.cost.paper import Cells, Figure, Item, figure, item, paper
from gordon.cost.report import Array, ByProcessors, MediumCost, PartPrice
from gordon.errors import GordonError
from gordon.human import figures, percent
from gordon.options import Size, in_bytes
from gordon.options.costs import PetabyteOptions
from gordon.options.explicit import explicit
from gordon.parameters import Parameter, flat
from gordon.parts import Catalogue
from gordon.quantity import positive
from gordon.untyped import Config

#: The shipped inputs, those of Table 7.
SHIPPED = "gordon-2009"
#: Numbers of processors of a server that are compared.
COUNTS = range(1, 9)
#: The columns of Table 8.
Cell = Literal[
    "servers", "media_cost", "nonmedia_cost", "nonmedia_cost_share", "nonmedia_power_share"
]
CELLS: dict[Cell, tuple[str, str]] = {
    "servers": ("servers", ""),
    "media_cost": ("cost of media", "USD"),
    "nonmedia_cost": ("cost of the rest", "USD"),
    "nonmedia_cost_share": ("share of the cost that is not of media", "%"),
    "nonmedia_power_share": ("share of the power that is not of media", "%"),
}
#: Figures that depend on the number of processors.
OF_REST: tuple[Cell, ...] = ("nonmedia_cost", "nonmedia_cost_share", "nonmedia_power_share")
_NOUNS: dict[Cell, str] = {
    "nonmedia_cost": "the cost of the rest",
    "nonmedia_cost_share": "its share of the cost",
    "nonmedia_power_share": "its share of the power",
}
#: Fields of inputs that are names, not values.
NAMES = (
    "currency",
    "enclosure",
    "priced_as",
    "flash_part",
    "disks_medium",
    "disk_part",
    "disk_medium",
)
GB = 1e9


class PetabyteResult(fields.PetabyteResult):
    """The cost of a petabyte on each medium."""

    ROWS: ClassVar = "media"

    def says(self) -> str:
        costs = [f"{row['medium']} {figures(row['cost_per_gb'])}" for row in self["media"]]
        return f"{self['currency']} a GB: {', '.join(costs)}"


@explicit(PetabyteOptions)
def petabyte(
    inputs: str = PetabyteOptions.inputs,
    *,
    capacity: Size | None = None,
    processors: int | None = None,
    year: int | None = None,
) -> PetabyteResult:
    """The cost and power of storing a petabyte on each medium, next to Table 8 of the paper.

    `inputs` is a shipped file of prices or the path of one; `capacity` and `processors` of a server
    replace those of the file, and prices of media in `year` those of its media. Costs are in the
    currency of the file, powers in watts. Figures of the paper are compared only if all inputs are
    the paper's. Raises GordonError.
    """
    found = files.load(inputs)
    if year is not None:
        found = files.of_year(found, year)
    if processors is not None and not 1 <= processors <= 1024:
        raise GordonError(
            f"--processors {processors}: not from 1 to 1024", "--processors 4", kind="bad-number"
        )
    size = found.capacity.value
    if capacity is not None:
        given = in_bytes(capacity)
        size = positive("--capacity", given, _core.parse_bytes, "--capacity 1PB")
    rows = [row(name, medium, found, size, processors) for name, medium in found.media.items()]
    by_processors: list[ByProcessors] = [
        {
            **row(one["medium"], found.media[one["medium"]], found, size, count),
            "is_chosen": count == one["processors"],
        }
        for one in rows
        for count in sorted({*COUNTS, one["processors"]})
    ]
    arrays = [] if found.bandwidth is None else bandwidths(found)
    is_paper = inputs == SHIPPED and capacity is None and processors is None and year is None
    items = []
    if is_paper:
        items = [*_table8(rows, by_processors, found), *statements.of_costs(arrays)]
    return PetabyteResult(
        {
            "version": __version__,
            "inputs": {"name": inputs, "summary": found.summary},
            "year": year,
            "currency": found.currency,
            "capacity_bytes": size,
            "parts": [_part(place, part) for place, part in files.parts(found)],
            "media": rows,
            "by_processors": by_processors,
            "bandwidth": arrays,
            "items": items,
            "parameters": _parameters(found),
        }
    )


def _part(place: str, part: Part) -> PartPrice:
    """The price and the power of a part, and the capacity of a medium."""
    return {
        "part": place,
        "summary": part.summary,
        "capacity_bytes": part.capacity.value if isinstance(part, Medium) else None,
        "price": part.price.value,
        "active_w": part.active.value,
    }


def row(
    name: str, medium: Medium, found: Inputs, size: float, processors: float | None
) -> MediumCost:
    """All figures of a medium. `processors` of a server are by default those of the file."""
    count = medium.processors.value if processors is None else processors
    enclosure, cpu = found.enclosure[medium.enclosure], found.processor
    media = ceil(size / medium.capacity.value)
    servers = ceil(media / medium.slots.value)
    server_cost = enclosure.price.value + count * cpu.price.value
    server_power = enclosure.active.value + count * cpu.active.value
    cost, other_cost = media * medium.price.value, servers * server_cost
    watts, other_watts = media * medium.active.value, servers * server_power
    return {
        "medium": name,
        "summary": medium.summary,
        "media": media,
        "slots": medium.slots.value,
        "servers": servers,
        "processors": count,
        "server_cost": server_cost,
        "server_power_w": server_power,
        "media_cost": cost,
        "nonmedia_cost": other_cost,
        "total_cost": cost + other_cost,
        "nonmedia_cost_share": _share(other_cost, cost),
        "media_power_w": watts,
        "nonmedia_power_w": other_watts,
        "total_power_w": watts + other_watts,
        "nonmedia_power_share": _share(other_watts, watts),
        "cost_per_gb": (cost + other_cost) / (size / GB),
        "power_per_tb_w": (watts + other_watts) / (size / GB / 1000),
    }


def _share(part: float, rest: float) -> float:
    """The share of a part; 0 if nothing is there."""
    return part / (part + rest) if part + rest > 0 else 0.0


def bandwidths(found: Inputs) -> list[Array]:
    """Arrays of the same bandwidth: their price, power and price by bandwidth."""
    arrays = found.bandwidth
    assert arrays is not None
    medium, part = found.media[arrays.disks_medium], arrays.flash_part
    rate, disks_price = arrays.each.value, arrays.disks_price.value
    disks = disks_price / medium.price.value
    flash_price = arrays.flash_capacity.value / GB * arrays.flash_price_per_gb.value
    flash_power = max(power.storage(part, Catalogue())[1:])
    made = [
        ("flash", part, 1.0, flash_price, flash_power),
        ("disks", arrays.disks_medium, disks, disks_price, disks * medium.active.value),
    ]
    return [
        {
            "array": array,
            "part": part,
            "parts": count,
            "bandwidth_mb_s": rate / 1e6,
            "cost": cost,
            "cost_per_mb_s": cost / (rate / 1e6),
            "active_w": watts,
        }
        for array, part, count, cost, watts in made
    ]


def _table8(rows: list[MediumCost], by_processors: list[ByProcessors], found: Inputs) -> list[Item]:
    """The cells of Table 8 next to ours, in its order."""
    items = []
    for ours in rows:
        cells = paper().table8[ours["medium"]]
        counts = [one for one in by_processors if one["medium"] == ours["medium"]]
        fits = {key: _fits(key, cells, counts) for key in OF_REST}
        for key, (says, unit) in CELLS.items():
            printed = figure(getattr(cells, key))
            id = f"table8.{ours['medium']}.{key}"
            made = item(id, "Table 8", f"{ours['summary']}: {says}", unit, printed, ours[key])
            is_of_rest = key in OF_REST
            made["processors_that_fit"] = fits[key] if is_of_rest else None
            implied = _implied(key, printed, ours, found) if is_of_rest else None
            made["processors_implied"] = implied
            if not made["agrees"]:
                made["reason"] = _reason(key, printed, ours, fits, implied)
            elif ours[key] > printed.high or ours[key] < printed.low:
                made["reason"] = _rounded(key, printed, ours, found)
            items.append(made)
    return items


def _fits(key: Cell, cells: Cells, counts: list[ByProcessors]) -> list[int]:
    """The numbers of processors with which a cell follows."""
    printed = figure(getattr(cells, key))
    return [int(one["processors"]) for one in counts if printed.agrees(one[key])]


def _implied(key: Cell, printed: Figure, ours: MediumCost, found: Inputs) -> float:
    """The number of processors of a server, not whole, with which the printed value follows."""
    cpu, enclosure = found.processor, found.enclosure[found.media[ours["medium"]].enclosure]
    share = printed.value / (1 - printed.value) if key.endswith("share") else None
    if key == "nonmedia_power_share":
        assert share is not None
        of_server: float = share * ours["media_power_w"] / ours["servers"]
        return (of_server - enclosure.active.value) / cpu.active.value
    cost = printed.value if share is None else share * ours["media_cost"]
    cost_of_server: float = cost / ours["servers"]
    return (cost_of_server - enclosure.price.value) / cpu.price.value


def _reason(
    key: Cell,
    printed: Figure,
    ours: MediumCost,
    fits: dict[Cell, list[int]],
    implied: float | None,
) -> str:
    """Why a cell does not follow."""
    if implied is None:
        return (
            f"{ours['media']:,} media at the price of Table 7 cost {ours['media_cost']:,.0f}, and "
            f"no printed input makes that {printed.text}"
        )
    assumed = int(ours["processors"])
    with_assumed = [one for one in OF_REST if assumed in fits[one]]
    why = f", with which {_follow(with_assumed)}" if with_assumed else ""
    chosen = f"the paper prints no number, and {_are(assumed)} assumed here{why}"
    if not fits[key]:
        return (
            f"no whole number of processors a server gives it ({figures(implied)} would); {chosen}"
        )
    others = [one for one in OF_REST if one != key and fits[one] != fits[key]]
    counts, but = " or ".join(map(str, fits[key])), _follow(others, follows=False)
    return f"it follows from {counts} processors a server, with which {but}; {chosen}"


def _are(count: int) -> str:
    return "1 is" if count == 1 else f"{count} are"


def _follow(cells: list[Cell], follows: bool = True) -> str:
    """`the cost of the rest follows`, `its share of the power and ... do not follow`."""
    names, is_one = " and ".join(_NOUNS[cell] for cell in cells), len(cells) == 1
    if follows:
        return f"{names} {'follows' if is_one else 'follow'}"
    return f"{names} {'does' if is_one else 'do'} not follow"


def _rounded(key: Cell, printed: Figure, ours: MediumCost, found: Inputs) -> str:
    """Why a cell agrees only within the tolerance."""
    if key != "servers":
        return f"within 1 % of what rounds to {printed.text}"
    medium = found.media[ours["medium"]]
    held = printed.value * medium.slots.value * medium.capacity.value / found.capacity.value
    return (
        f"the paper rounds {ours['media'] / medium.slots.value:,.1f} to the nearest server: "
        f"{printed.text} servers hold {percent(held)} of the petabyte"
    )


def _parameters(found: Inputs) -> list[Parameter]:
    """A row for each input, with its place in the paper."""
    return [
        {"kind": "cost", "part": place, **row}
        for place, table in [
            ("", {"capacity": asdict(found.capacity)}),
            *((name, asdict(part)) for name, part in files.parts(found)),
            *([] if found.bandwidth is None else [("bandwidth", asdict(found.bandwidth))]),
            *([] if found.replicas is None else [("replicas", asdict(found.replicas))]),
        ]
        for row in flat(_plain(table), "", None)
        if row["key"] not in NAMES
    ]


def _plain(table: Config) -> Config:
    """Values with only the origin that they have."""
    return {
        key: {k: v for k, v in field.items() if v is not None} if isinstance(field, dict) else field
        for key, field in table.items()
    }
