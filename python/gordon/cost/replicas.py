"""Replicas on flash and on sleeping disks: energy, price, limits, recovery, and when they pay.

Section 6.1 of the Gordon paper keeps one replica in flash and the others on disks that are spun
down. The core simulates a load on all replicas on flash, all on disks, and one on flash with the
others on sleeping disks (`crates/replay/src/replicas`); this module adds prices of devices and of
electricity, and the statements of the paper.
"""

import json
from typing import Any, ClassVar, TypedDict, Unpack, overload

from gordon import __version__, _core, fields
from gordon.cost import inputs as files
from gordon.cost import statements
from gordon.cost.inputs import Inputs
from gordon.cost.paper import Item
from gordon.cost.petabyte import GB, SHIPPED
from gordon.disk import device as disks
from gordon.errors import GordonError
from gordon.flash import device as flashes
from gordon.human import short
from gordon.options import Path, Progress, dealt, keywords
from gordon.options.costs import ReplicasOptions
from gordon.options.explicit import explicit
from gordon.options.loads import BenchLoad, TraceLoad
from gordon.quantity import positive, value
from gordon.reports.devices import ArrangementReport, ReplicasReport
from gordon.runs import as_json
from gordon.untyped import Config

#: Hours of a year.
YEAR_H = 365.25 * 24
SLEEPING = "sleeping"


class DevicePrice(TypedDict):
    """The price of a device; None if it is not known. `why` says where it is from."""

    kind: str
    price: float | None
    why: str


class ArrangementCost(TypedDict):
    """Costs of the devices of an arrangement: their price, the electricity of a year, and what
    devices cost that are worn in a year: disks by their rated stops and starts, flash by its rated
    endurance. None if a price is not known."""

    id: str
    price: float | None
    kwh_per_year: float
    electricity_per_year: float
    worn_per_year: float | None


class Payback(TypedDict):
    """Sleeping disks against another arrangement. Differences are those of sleeping disks minus
    the other. `per_year_difference` is that of electricity and worn devices, and `years` the time
    after which it has paid the difference of the prices, None if it never does or a price is not
    known; `reason` says why."""

    against: str
    price_difference: float | None
    power_difference_w: float
    per_year_difference: float | None
    years: float | None
    reason: str


class Replicas(ReplicasReport):
    """The report of the core, with prices and the statements of the paper."""

    version: str
    flash: str
    disk: str
    currency: str
    price_kwh: float
    prices: list[DevicePrice]
    costs: list[ArrangementCost]
    payback: list[Payback]
    items: list[Item]


class ReplicasResult(fields.ReplicasResult):
    """Replicas on flash and on sleeping disks."""

    ROWS: ClassVar = "arrangements"

    def says(self) -> str:
        powers = [f"{row['id']} {short(row['mean_w'], 'W')}" for row in self["arrangements"]]
        return f"{self['replicas']} replicas: {', '.join(powers)}"


@overload
def replicas(
    trace: Path,
    *,
    pattern: None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.ReplicasOfTrace],
) -> ReplicasResult: ...
@overload
def replicas(
    trace: None = None,
    *,
    pattern: keywords.Pattern,
    progress: Progress | None = None,
    **options: Unpack[keywords.ReplicasOfPattern],
) -> ReplicasResult: ...
@explicit(ReplicasOptions, TraceLoad, BenchLoad)
def replicas(
    trace: Path | None = None,
    *,
    pattern: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> ReplicasResult:
    """Simulates the replicas of a load: a block trace with times, or a pattern with `every`.

    `progress` is called with the numbers of requests (done, total). Prices are in the currency of
    the result. Raises GordonError.
    """
    if (trace is None) == (pattern is None):
        raise GordonError(
            "replicas need exactly one load",
            "a trace, or --pattern random-write --every 10ms",
            kind="one-load",
        )
    load, how = dealt(options, TraceLoad if pattern is None else BenchLoad, ReplicasOptions)
    prices = files.load(SHIPPED)
    assert prices.replicas is not None, "the shipped prices have those of replicas"
    price_kwh = prices.replicas.price_kwh.value if how.price_kwh is None else how.price_kwh
    _check_prices(how)
    config = {
        "flash": flashes.changed(how.flash, ()),
        "disk": disks.made(how.disk, None, ()),
        "load": load.config(trace if pattern is None else pattern),
        "fit": how.fit,
        "replicas": how.replicas,
        "buffer": how.buffer,
        "max_age": how.max_age,
        "spin_down": how.spin_down,
        "link_bytes_per_s": positive("--link", how.link, _core.parse_rate, "--link 1Gb"),
        "rates": [_rate(rate) for rate in how.rates],
        "seed": how.seed,
    }
    report: ReplicasReport = json.loads(_core.replicas(as_json(config), progress))
    devices = _prices(how, config, report, prices)
    costs = [_cost(one, devices, price_kwh) for one in report["arrangements"]]
    return ReplicasResult(
        {
            **report,
            "version": __version__,
            "flash": flashes.name(how.flash),
            "disk": disks.name(how.disk, None),
            "currency": prices.currency,
            "price_kwh": price_kwh,
            "prices": devices,
            "costs": costs,
            "payback": _paybacks(report, costs),
            "items": statements.of_replicas(_claims(report, costs)),
        }
    )


def _check_prices(how: ReplicasOptions) -> None:
    """Raises GordonError for a price below zero or none at all of electricity."""
    for name in ("price_kwh", "flash_price", "disk_price"):
        price = getattr(how, name)
        if price is not None and not price >= 0:
            option = f"--{name.replace('_', '-')}"
            raise GordonError(
                f"{option} {price:g}: below zero", f"{option} 0.12", kind="bad-number"
            )


def _rate(rate: float | str) -> float:
    """A factor of the load's speed; the core checks its range."""
    try:
        return float(rate)
    except ValueError:
        raise GordonError(
            f"--rates: `{rate}` is not a number", "--rates 0.1,1,10", kind="bad-number"
        ) from None


def _prices(
    how: ReplicasOptions, config: Config, report: ReplicasReport, prices: Inputs
) -> list[DevicePrice]:
    """The prices of a flash device and of a disk: given, of the paper, or of the part."""
    arrays, of_replicas = prices.bandwidth, prices.replicas
    assert arrays is not None, "the shipped prices have arrays of a bandwidth"
    assert of_replicas is not None, "the shipped prices have those of replicas"
    medium = prices.media[of_replicas.disk_medium]
    by_part = {
        "flash": (arrays.flash_part, arrays.flash_price_per_gb.value, "section 6.2"),
        "disk": (of_replicas.disk_part, medium.price.value / medium.capacity.value * GB, "Table 7"),
    }
    capacity = {"flash": report["flash_capacity_bytes"], "disk": report["disk_capacity_bytes"]}
    found: list[DevicePrice] = []
    for kind, (part, per_gb, where) in by_part.items():
        given = getattr(how, f"{kind}_price")
        if given is not None:
            found.append({"kind": kind, "price": given, "why": f"--{kind}-price"})
        elif getattr(how, kind) == part:
            why = f"{per_gb:.3g} a GB: {where} of the Gordon paper"
            found.append({"kind": kind, "price": per_gb * capacity[kind] / GB, "why": why})
        elif (field := config[kind].get("price")) is not None:
            has_reason = isinstance(field, dict)
            why = field.get("source") or field.get("assumed") if has_reason else "of the part"
            found.append({"kind": kind, "price": value(field), "why": str(why)})
        else:
            why = f"the part has no price: --{kind}-price"
            found.append({"kind": kind, "price": None, "why": why})
    return found


def _cost(
    arrangement: ArrangementReport, prices: list[DevicePrice], price_kwh: float
) -> ArrangementCost:
    """The price of an arrangement, and what a year of it costs."""
    by_kind = {one["kind"]: one["price"] for one in prices}
    total: float | None = 0.0
    worn: float | None = 0.0
    for device in arrangement["devices"]:
        price = by_kind[device["kind"]]
        if price is None or total is None or worn is None:
            total = worn = None
            continue
        life = device["rated_years"] if device["wear"] is None else device["wear"]["years"]
        total += device["count"] * price
        worn += 0.0 if life is None else device["count"] * price / life
    kwh = arrangement["mean_w"] * YEAR_H / 1000
    return {
        "id": arrangement["id"],
        "price": total,
        "kwh_per_year": kwh,
        "electricity_per_year": kwh * price_kwh,
        "worn_per_year": worn,
    }


def _paybacks(report: ReplicasReport, costs: list[ArrangementCost]) -> list[Payback]:
    """Sleeping disks against each other arrangement."""
    watts = {one["id"]: one["mean_w"] for one in report["arrangements"]}
    by_id = {one["id"]: one for one in costs}
    found: list[Payback] = []
    for other in watts:
        if other == SLEEPING:
            continue
        own, theirs = by_id[SLEEPING], by_id[other]
        price = _difference(own["price"], theirs["price"])
        per_year = _difference(_per_year(own), _per_year(theirs))
        years, reason = _payback(price, per_year)
        found.append(
            {
                "against": other,
                "price_difference": price,
                "power_difference_w": watts[SLEEPING] - watts[other],
                "per_year_difference": per_year,
                "years": years,
                "reason": reason,
            }
        )
    return found


def _per_year(cost: ArrangementCost) -> float | None:
    """The cost of a year; None if a price is not known."""
    worn = cost["worn_per_year"]
    return None if worn is None else cost["electricity_per_year"] + worn


def _difference(own: float | None, theirs: float | None) -> float | None:
    return None if own is None or theirs is None else own - theirs


def _payback(price: float | None, per_year: float | None) -> tuple[float | None, str]:
    """Years until a year's difference has paid a difference of prices, or why it never does. Both
    are differences of the same two arrangements."""
    if price is None or per_year is None:
        return None, "a price is not known"
    if price == 0:
        if per_year < 0:
            return 0.0, ""
        return None, "never: both cost the same to buy, and neither is cheaper to run"
    if price * per_year >= 0:
        return None, "never: what costs less to buy does not cost more in a year"
    return -price / per_year, ""


def _claims(report: ReplicasReport, costs: list[ArrangementCost]) -> dict[str, float | None]:
    """Values of the statements of section 6.1."""
    flash, awake, sleeping = report["arrangements"]
    prices = {one["id"]: one["price"] for one in costs}
    own, theirs = prices[sleeping["id"]], prices[flash["id"]]
    times = [one["write_response_ms"]["mean"] for one in (awake, sleeping)]
    on_disks, on_flash = times
    copies, asleep = awake["devices"][1], sleeping["devices"][1]
    return {
        "replicas-cost": own / theirs if own is not None and theirs else None,
        "replicas-asleep": asleep["asleep"],
        "replicas-performance": on_disks / on_flash if on_disks and on_flash else None,
        "replicas-power": copies["mean_w"] / asleep["mean_w"],
    }
