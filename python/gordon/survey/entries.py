"""What the screens and the pages of surveys list of a machine, a cluster, and a design of a
service. Times are in seconds."""

from collections.abc import Sequence
from typing import Any

from gordon.human import short
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
    known,
    of,
    with_prefix,
)
from gordon.survey import machines as jobs
from gordon.survey import service, tasks
from gordon.survey.results import (
    JobResult,
    MachineDesign,
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


def machines(result: JobResult) -> list[Entry[MachineDesign]]:
    """The entries of a machine under a job."""
    currency = result["space"]["currency"]
    return [
        Entry("id", "machine", of("id"), TEXT),
        *_times(jobs.MODEL, "of one run of the job on all nodes"),
        *_costs(jobs.MODEL, currency),
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
        Entry("limit", "limited by", tasks.limiting, TEXT, "share of the time"),
        *_node(result),
        Entry("hour", f"{currency} / hour", _hour, MONEY, "of all nodes"),
        _month(currency),
    ]


def designs(result: ServiceResult) -> list[Entry[ServiceDesign]]:
    """The entries of a design of a service."""
    keeps = "with the headroom free in 99 % of the time, and at the peak"
    used = "not exceeded in 99 % of the time"
    return [
        Entry("id", "design", of("id"), TEXT),
        Entry("keeps", "keeps up", service.keeps_up, TEXT, keeps),
        *(Entry(key, name, of("use", key), SHARE, used) for key, name in service.RESOURCES.items()),
        _month(result["space"]["currency"]),
        Entry("power", "power", of("power_w"), with_prefix("W"), "mean of all nodes"),
        Entry("nodes", "nodes", of("nodes"), COUNT),
        Entry("cores", "cores", of("cores"), COUNT, "logical processors of a node"),
        Entry("size", "memory", of("memory_bytes"), _MEMORY, "main memory of a node"),
        Entry("storage", "storage", of("storage"), TEXT, "of a node"),
        Entry("link", "link", of("network_bytes_per_s"), _RATE, "of a node, each way"),
    ]


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
    title, what = f"{currency} / month", "of all nodes with volumes, 730 hours"
    return Entry("month", title, of("price_per_month"), MONEY, what, f"{currency}/month")


def _by_limit(row: MachineDesign) -> str:
    """Sorts by the limit, then by its share, the largest first."""
    limits = row["limits"]
    most = max(limits, key=lambda name: limits[name], default="")
    return f"{most} {1 - limits.get(most, 0):.6f}"
