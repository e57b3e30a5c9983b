"""Entries that the screens and the pages of runs on disks list."""

from collections.abc import Callable, Iterable
from typing import Any, Literal

from gordon.disk.mechanism import mechanism
from gordon.human import duration
from gordon.report.entries import NUMBER, SHARE, Entry, Unit, of, with_prefix
from gordon.report.run_entries import BANDWIDTH, IOPS, SIMULATED
from gordon.reports.devices import DiskRun

Value = Callable[[DiskRun], float | None]
MECHANISM = {
    "seek": "seek",
    "rotation": "rotation",
    "transfer": "transfer, read-ahead included",
    "idle": "idle",
}
RESPONSES = {
    "mean": "mean",
    "p50": "median",
    "p90": "p90",
    "p99": "p99",
    "p999": "p99.9",
    "p9999": "p99.99",
    "max": "max",
}
_TIME = Unit(duration, duration)


def part(key: str) -> Value:
    """A fraction of the mechanism's time."""

    def value(report: DiskRun) -> float | None:
        times = mechanism(report["mechanism_s"])
        whole = sum(times.values())
        return times[key] / whole if whole else None

    return value


def _work(report: DiskRun) -> float | None:
    """Milliseconds of the mechanism for a request; the rest of its response time it waited."""
    times = mechanism(report["mechanism_s"])
    busy = sum(times.values()) - times["idle"]
    return busy * 1000 / report["requests"] if report["requests"] else None


def _state(name: str, key: Literal["time_s", "wakes"]) -> Value:
    def value(report: DiskRun) -> float | None:
        return next((s[key] for s in report["power_states"] if s["name"] == name), None)

    return value


RESPONSE: tuple[Entry[Any], ...] = tuple(
    Entry(f"response_{key}_ms", f"{title}, ms", of("response_ms", key), NUMBER, short=f"{key} ms")
    for key, title in RESPONSES.items()
)
DISKS: Entry[Any] = Entry("disks", "disks", of("disks"), NUMBER)
_POSITIONING: tuple[Entry[Any], ...] = tuple(
    Entry(
        f"{move}_mean_ms",
        f"mean {move} per positioning, ms",
        of(f"{move}_ms", "mean"),
        NUMBER,
        short=f"{move} ms",
    )
    for move in ("seek", "rotation")
)
WORK: tuple[Entry[Any], ...] = (
    *(Entry(key, title, part(key), SHARE) for key, title in MECHANISM.items()),
    Entry("reading", "reading, positioning included", of("reading"), SHARE),
    Entry("writing", "writing, positioning included", of("writing"), SHARE),
    Entry("work", "busy time per request, ms", _work, NUMBER),
    *_POSITIONING,
)
BUFFER: tuple[Entry[Any], ...] = (
    Entry("buffer_hits", "reads served from the buffer", of("buffer_hits"), NUMBER),
    Entry("read_ahead_hits", "reads served from read-ahead", of("read_ahead_hits"), NUMBER),
    Entry("destages", "destages to the medium", of("destages"), NUMBER),
    Entry("sectors", "sectors destaged", of("sectors_destaged"), NUMBER),
)
ENERGY: Entry[Any] = Entry("energy_j", "total", of("energy_j"), with_prefix("J"), short="energy")


def states(names: Iterable[str]) -> list[Entry[Any]]:
    """The times in power states below idle."""
    listed = list(names)
    entries: list[Entry[Any]] = [
        *(Entry(name, name, _state(name, "time_s"), _TIME) for name in listed),
        *(
            Entry(f"{name}_wakes", f"{name}: wake-ups", _state(name, "wakes"), NUMBER)
            for name in listed
        ),
    ]
    if listed:
        entries.append(Entry("waking_s", "time waking up", of("waking_s"), _TIME))
    return entries


#: A comparison, by the names of its ratios.
COMPARED: tuple[Entry[Any], ...] = (
    SIMULATED,
    BANDWIDTH,
    IOPS,
    *(one for one in RESPONSE if one.key in ("response_mean_ms", "response_p99_ms")),
    *_POSITIONING,
    ENERGY,
)
