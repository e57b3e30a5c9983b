"""Entries that the screens and the pages of surveys list of a machine, a cluster, and a design of
a service. Times are in seconds."""

from collections.abc import Sequence
from typing import Any

from gordon.human import figures, percent, short
from gordon.report.entries import (
    COUNT,
    MONEY,
    NUMBER,
    SECONDS,
    SHARE,
    TEXT,
    Entry,
    Row,
    Unit,
    Value,
    known,
    of,
    with_prefix,
)
from gordon.reports.survey import Objective
from gordon.survey import machines as jobs
from gordon.survey import service, tasks
from gordon.survey.results import (
    DesignOfMachines,
    JobResult,
    MachineDesign,
    ResultOfMachines,
    ServiceDesign,
    ServiceResult,
    TasksDesign,
    TasksResult,
)


def capacity(size: int) -> str:
    """Main memory, which is sold in powers of two."""
    return f"{size / (1 << 30):.4g} GiB" if size >= 1 << 30 else short(size, "B")


_MEMORY = Unit(capacity, capacity)
_RATE = with_prefix("B/s")
_YEARS = Unit(lambda value: f"{figures(value)} years", lambda value: f"{figures(value)} years")
_WEAR = Unit(percent, percent)
_LIFE = "years until the rated endurance of the flash is used"
_WORN = "share of the rated endurance of the most written drive that {} uses"


def machines(result: JobResult) -> list[Entry[MachineDesign]]:
    """The entries of a machine under a job."""
    currency = result["space"]["currency"]
    return [
        Entry("id", "machine", of("id"), TEXT),
        *_times(jobs.MODEL, "of one run of the job on all nodes"),
        *_costs(jobs.MODEL, currency),
        *_bill(currency),
        *_standby(),
        Entry("limit", "limited by", tasks.limiting, TEXT, "share of the time", order=_by_limit),
        Entry("nodes", "nodes", of("nodes"), COUNT),
        *_node(result),
        Entry("hour", f"{currency} / hour", of("price_per_hour"), MONEY, "of one machine"),
        _month(currency),
    ]


def clusters(result: TasksResult) -> list[Entry[TasksDesign]]:
    """The entries of a cluster under an application."""
    currency = result["space"]["currency"]
    order = "sorts by the machine, then by the number of nodes"
    slots = "tasks that all nodes run at a time"
    floor = "seconds that no number of these nodes removes"
    return [
        Entry("cluster", "cluster", of("id"), TEXT, order, order=_by_machine),
        Entry("nodes", "nodes", of("nodes"), COUNT),
        Entry("slots", "slots", lambda row: row["nodes"] * row["slots_per_node"], COUNT, slots),
        *_times(tasks.MODEL, "of the application on all nodes"),
        Entry("floor", "floor, s", of(tasks.MODEL, "floor_s"), SECONDS, floor),
        *_costs(tasks.MODEL, currency),
        *_bill(currency),
        Entry("limit", "limited by", tasks.limiting, TEXT, "share of the time"),
        *_node(result),
        Entry("hour", f"{currency} / hour", _hour, MONEY, "of all nodes"),
        _month(currency),
    ]


def designs(result: ServiceResult) -> list[Entry[ServiceDesign]]:
    """The entries of a design of a service."""
    keeps = "with the headroom free in 99 % of the time, and at the peak"
    used = "not exceeded in 99 % of the time"
    currency = result["space"]["currency"]
    return [
        Entry("id", "design", of("id"), TEXT),
        Entry("keeps", "keeps up", service.keeps_up, TEXT, keeps),
        *(Entry(key, name, of("use", key), SHARE, used) for key, name in service.RESOURCES.items()),
        _month(currency),
        *_bill_of_month(currency),
        Entry("power", "power", of("power_w"), with_prefix("W"), "mean of all nodes"),
        Entry("nodes", "nodes", of("nodes"), COUNT),
        Entry("cores", "cores", of("cores"), COUNT, "logical processors of a node"),
        Entry("size", "memory", of("memory_bytes"), _MEMORY, "main memory of a node"),
        Entry("storage", "storage", of("storage"), TEXT, "of a node"),
        Entry("link", "link", of("network_bytes_per_s"), _RATE, "of a node, each way"),
    ]


def asked(result: ResultOfMachines) -> dict[str, int]:
    """The entries of the objectives that a screen has only if they are asked for, with what is left
    out of a narrow one."""
    keys: dict[str, Objective] = {"tco": "tco", "carbon": "carbon", "wear": "life", "life": "life"}
    found = {key: 0 for key, objective in keys.items() if objective in result["objectives"]}
    return found | ({"million": 0} if "requests_per_s" in result and "tco" in found else {})


def on_page(
    entries: list[Entry[Row]], rows: Sequence[Row], said: dict[str, list[str]]
) -> list[Entry[Row]]:
    """The entries that are known of rows; the first one, the name, is followed by the remarks."""
    remarks = Entry[Row]("names", "remark", lambda row: ", ".join(said[row["id"]]), TEXT)
    return [entries[0], remarks, *known(entries[1:], rows)]


def _times(model: str, what: str) -> list[Entry[Any]]:
    """The time by a model, and its range."""
    low, high = "lower end of the 80 % range", "upper end of the 80 % range"
    return [
        Entry("time", "time, s", of(model, "time_s"), SECONDS, what, "time"),
        Entry("low", "low, s", of(model, "time_s_low"), SECONDS, low),
        Entry("high", "high, s", of(model, "time_s_high"), SECONDS, high),
    ]


def _costs(model: str, currency: str) -> list[Entry[Any]]:
    what = "of one run on all nodes"
    return [
        Entry("price", f"price, {currency}", of(model, "price"), MONEY, what, currency),
        Entry("energy", "energy", of(model, "energy_j"), with_prefix("J"), what),
    ]


def _standby() -> list[Entry[Any]]:
    """The saving of standby of the disks, of designs whose disks would sleep."""
    asleep = "time of each disk in standby in one run, with --spin-down"
    saved = "energy of one run on all nodes that standby saves, with --spin-down"
    return [
        Entry("asleep", "disks asleep, s", _slept("asleep_s"), SECONDS, asleep),
        Entry("saved", "saved by standby", _slept("saved_j"), with_prefix("J"), saved),
    ]


def _slept(key: str) -> Value:
    """A figure of disks that sleep in a job; None if they do not."""

    def value(row: MachineDesign) -> Any:
        found = row["job"].get("spin_down")
        return found.get(key) if found and found["starts"] else None

    return value


def _bill(currency: str) -> list[Entry[Any]]:
    """The total cost of a run."""
    what = "purchase or rent, drives and electricity of one run on all nodes"
    carbon = "CO2-equivalent of the electricity of one run, and its share of making the machines"
    return [
        Entry("tco", f"total, {currency}", of("bill", "total"), MONEY, what, "total"),
        Entry("carbon", "carbon", _carbon, with_prefix("g"), carbon),
        Entry("wear", "wear / run", of("bill", "inputs", "wear"), _WEAR, _WORN.format("one run")),
        Entry("life", "life of flash", of("bill", "flash_life_years"), _YEARS, _LIFE),
    ]


def _bill_of_month(currency: str) -> list[Entry[Any]]:
    """The total cost of a month of a service."""
    what = "purchase or rent, drives and electricity of all nodes, 730 hours"
    carbon = "CO2-equivalent of a month: its electricity, and its share of making the machines"
    million = "total of a million requests"
    of_million = of("total_per_million_requests")
    return [
        Entry("tco", f"total, {currency} / month", of("bill", "total"), MONEY, what, "total"),
        Entry("million", f"{currency} / million", of_million, MONEY, million),
        Entry("carbon", "carbon / month", _carbon, with_prefix("g"), carbon, "carbon"),
        Entry("wear", "wear / month", of("bill", "inputs", "wear"), _WEAR, _WORN.format("a month")),
        Entry("life", "life of flash", of("bill", "flash_life_years"), _YEARS, _LIFE),
    ]


def _carbon(row: DesignOfMachines) -> float | None:
    bill = row["bill"]
    return None if bill is None or bill["carbon_kg"] is None else 1000 * bill["carbon_kg"]


def _node(result: JobResult | TasksResult) -> list[Entry[Any]]:
    """The parts of a node."""
    speed, unit = "of a logical processor while all are busy", result["space"]["unit"]
    speed += "" if unit is None else f", relative to {unit['machine']}"
    return [
        Entry("cores", "cores", of("cores"), COUNT, "logical processors of a node"),
        Entry("speed", "speed", of("core_speed"), NUMBER, speed),
        Entry("memory", "memory", of("memory_bytes"), _MEMORY, "main memory of a node"),
        Entry("storage", "storage", of("storage"), TEXT, "of a node"),
        Entry("network", "network", of("network_bytes_per_s"), _RATE, "of a node, each way"),
    ]


def _by_machine(row: TasksDesign) -> str:
    return f"{row['machine']} {row['nodes']:06d}"


def _hour(row: TasksDesign) -> float | None:
    price = row["price_per_hour"]
    return None if price is None else row["nodes"] * price


def _month(currency: str) -> Entry[Any]:
    title, what = f"{currency} / month", "of all nodes with volumes, 730 hours, rented or bought"
    return Entry("month", title, of("price_per_month"), MONEY, what, f"{currency}/month")


def _by_limit(row: MachineDesign) -> str:
    """Sorts by the limit, then by its share, the largest first."""
    limits = row["limits"]
    most = max(limits, key=lambda name: limits[name], default="")
    return f"{most} {1 - limits.get(most, 0):.6f}"
