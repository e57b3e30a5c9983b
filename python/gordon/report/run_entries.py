"""Entries that the screens and the pages of runs on simulated devices list."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from gordon.human import short
from gordon.report.entries import NUMBER, SECONDS, Entry, Unit, of
from gordon.report.numbers import sig

#: Statistics of latencies, and their names on pages.
TIMES = {
    "mean": "mean",
    "p50": "median",
    "p90": "p90",
    "p99": "p99",
    "p999": "p99.9",
    "max": "max",
}
Op = Literal["read", "write", "trim", "flush"]
OPS: Final[tuple[Op, ...]] = ("read", "write", "trim", "flush")
CAUSES = {
    "buffer": "the buffer",
    "medium": "the medium",
    "merge": "a read-modify-write",
    "collection": "garbage collection",
}

_COUNT = Unit("{:,}".format, sig)
_RATE = Unit(lambda mb_s: short(mb_s * 1e6, "B/s"), sig)
REQUESTS: Entry[Any] = Entry("requests", "requests", of("requests"), _COUNT)
SIMULATED: Entry[Any] = Entry(
    "simulated_s", "simulated time, s", of("simulated_s"), SECONDS, short="simulated"
)
BANDWIDTH: Entry[Any] = Entry(
    "bandwidth_mb_s", "bandwidth, MB/s", of("bandwidth_mb_s"), _RATE, short="bandwidth"
)
IOPS: Entry[Any] = Entry("iops", "IOPS", of("iops"), NUMBER)
FAILED: Entry[Any] = Entry("failed_requests", "failed requests", of("failed_requests"), _COUNT)
#: A run.
RUN: tuple[Entry[Any], ...] = (
    REQUESTS,
    SIMULATED,
    BANDWIDTH,
    IOPS,
    Entry("outstanding_mean", "outstanding requests, mean", of("outstanding", "mean"), NUMBER),
    Entry("outstanding_max", "outstanding requests, max", of("outstanding", "max"), _COUNT),
)


def operation(unit: str = "us", in_us: float = 1.0) -> list[Entry[Any]]:
    """The requests of one operation; `in_us` is the unit of latencies in microseconds."""
    return [
        REQUESTS,
        replace(BANDWIDTH, unit=NUMBER, short="MB/s"),
        IOPS,
        *(latency(key, unit, in_us) for key in TIMES),
    ]


def latency(key: str, unit: str = "us", in_us: float = 1.0) -> Entry[Any]:
    """A statistic of the latencies of requests."""

    def value(requests: Mapping[str, Any]) -> float | None:
        us = requests["latency_us"][key]
        return None if us is None else us / in_us

    name = {"mean": f"mean {unit}", "p999": "p99.9"}.get(key, key)
    return Entry(key, f"latency {TIMES[key]}, {unit}", value, NUMBER, short=name)


def at(entry: Entry[Any], *path: str, title: str = "", key: str = "") -> Entry[Any]:
    """The entry of a table in a report, whose title and key may be others there."""
    table = of(*path)

    def value(report: Mapping[str, Any]) -> Any:
        inner = table(report)
        return None if inner is None else entry.value(inner)

    return replace(
        entry, key=key or entry.key, title=title or entry.title, short=title, value=value
    )
