"""Telemetry of the served device under a sort: totals, sampled repeatedly, and their growth in each
phase of the sort.

Requests, pages, erases and trims are counted; response times are measured; busy times of dies and
buses are modelled, in the time of the simulated flash.
"""

import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Literal, TypedDict, get_args

from gordon import block, threads
from gordon.errors import GordonError
from gordon.reports.block import BlockStatus
from gordon.reports.sort import Phase

#: The time of the request, by the clock of this process, and the status.
Sample = tuple[float, BlockStatus]

#: Seconds between two questions (assumed: a phase of a second has ten).
EVERY = 0.1
_Count = Literal[
    "reads",
    "writes",
    "flushes",
    "trims",
    "host_bytes_read",
    "host_bytes_written",
    "host_bytes_trimmed",
    "gc_page_reads",
    "erases",
    "collections",
]
COUNTS: tuple[_Count, ...] = get_args(_Count)
_Cause = Literal["host", "gc", "wear", "summary", "trims", "padding"]
CAUSES: tuple[_Cause, ...] = get_args(_Cause)
#: Cumulative counters: the counts, the pages by cause, and the busy times of buses and dies.
Counters = dict[str, list[float]]


class Growth(TypedDict):
    """The work of a device in a stretch of time. The values of a device at full speed that are not
    known are None."""

    seconds: float
    reads: float
    writes: float
    flushes: float
    trims: float
    host_bytes_read: float
    host_bytes_written: float
    host_bytes_trimmed: float
    gc_page_reads: float
    erases: float
    collections: float
    read_mb_s: float
    write_mb_s: float
    request_bytes: float | None
    pages: dict[_Cause, float]
    copied_bytes: float
    copied_share: float
    write_amplification: float | None
    queue_depth: float | None
    late_share: float | None
    dies_busy: float | None
    busiest_die: float | None
    busiest_bus: float | None


class PhaseGrowth(Growth):
    """The work of a device in a phase of a sort."""

    name: str


class Moment(TypedDict):
    """The work of a device between two samples, the later at `time_s` after the start."""

    time_s: float
    read_mb_s: float
    write_mb_s: float
    copied_bytes: float
    queue_depth: float | None
    dies_busy: float | None


class Telemetry(TypedDict):
    """The work of a device in a sort: as a whole, by phase, and over time."""

    whole: Growth
    phases: list[PhaseGrowth]
    series: list[Moment]
    #: Share of the pages with data, before and after.
    mapped_before: float
    mapped_after: float


class Export(TypedDict):
    """The properties of an export."""

    preset: str
    capacity_bytes: int
    unit_bytes: int
    erase_group_bytes: int
    super_block_bytes: int
    lanes: int
    buses: int
    #: Whether the device is served in simulated time.
    timed: bool


def totals(status: BlockStatus) -> Counters:
    """The cumulative counters of a status."""
    if status["kind"] != "block-status":
        raise GordonError(
            "the export is a file with the timing of a disk, which has no flash telemetry",
            "the socket of a served flash image",
            kind="flash-only",
        )
    found: Counters = {key: [status[key]] for key in COUNTS}
    found["time_s"] = [status["uptime_s"]]
    found["pages"] = [status["programmed"][cause] for cause in CAUSES]
    emulation = status["emulation"]
    found["waited_ns"] = [emulation["asked_ns"], emulation["got_ns"]] if emulation else [0, 0]
    busy = status["busy_ns"] or {"buses": [], "dies": []}
    found["buses"], found["dies"] = [*busy["buses"]], [*busy["dies"]]
    return found


def growth(before: Counters, after: Counters, unit: int, *, timed: bool) -> Growth:
    """The growth between two totals. Only with `timed`, when the device is served with real timing,
    queue depth and busy times are known."""

    def all_grown(key: str) -> list[float]:
        return [y - x for x, y in zip(before[key], after[key], strict=True)]

    def grown(key: _Count | Literal["time_s"]) -> float:
        return all_grown(key)[0]

    seconds = max(grown("time_s"), 1e-9)
    pages = dict(zip(CAUSES, all_grown("pages"), strict=True))
    programmed, copied = sum(pages.values()), pages["gc"] + pages["wear"]
    read, written = grown("host_bytes_read"), grown("host_bytes_written")
    requests = grown("reads") + grown("writes")
    simulated, answered = all_grown("waited_ns")
    row: Growth = {
        "seconds": seconds,
        "reads": grown("reads"),
        "writes": grown("writes"),
        "flushes": grown("flushes"),
        "trims": grown("trims"),
        "host_bytes_read": read,
        "host_bytes_written": written,
        "host_bytes_trimmed": grown("host_bytes_trimmed"),
        "gc_page_reads": grown("gc_page_reads"),
        "erases": grown("erases"),
        "collections": grown("collections"),
        "read_mb_s": read / seconds / 1e6,
        "write_mb_s": written / seconds / 1e6,
        "request_bytes": (read + written) / requests if requests else None,
        "pages": pages,
        "copied_bytes": copied * unit,
        "copied_share": copied / programmed if programmed else 0.0,
        "write_amplification": programmed * unit / written if written else None,
        "queue_depth": None,
        "late_share": None,
        "dies_busy": None,
        "busiest_die": None,
        "busiest_bus": None,
    }
    if timed:
        dies = [busy / seconds / 1e9 for busy in all_grown("dies")]
        row["queue_depth"] = answered / seconds / 1e9
        row["late_share"] = max(0.0, 1 - simulated / answered) if answered else 0.0
        row["dies_busy"] = sum(dies) / len(dies)
        row["busiest_die"] = max(dies)
        row["busiest_bus"] = max(busy / seconds / 1e9 for busy in all_grown("buses"))
    return row


def at(samples: Sequence[Sample], moment: float) -> Counters:
    """Totals at a moment, interpolated between the samples around it."""
    known = [(when, totals(status)) for when, status in samples]
    if moment <= known[0][0]:
        return known[0][1]
    for (begin, a), (end, b) in pairwise(known):
        if moment <= end:
            share = (moment - begin) / (end - begin)
            return {
                key: [x + (y - x) * share for x, y in zip(a[key], b[key], strict=True)] for key in a
            }
    return known[-1][1]


def by_phase(samples: Sequence[Sample], begin: float, phases: Sequence[Phase]) -> Telemetry:
    """The growth over a run, over its phases, and between each two samples."""
    first, last = samples[0][1], samples[-1][1]
    unit, timed = last["unit"], last["emulation"] is not None
    rows: list[PhaseGrowth] = []
    moment = begin
    for phase in phases:
        start, moment = moment, moment + phase["seconds"]
        row = growth(at(samples, start), at(samples, moment), unit, timed=timed)
        rows.append({"name": phase["name"], **row})
    series: list[Moment] = []
    for (_, a), (when, b) in pairwise(samples):
        row = growth(totals(a), totals(b), unit, timed=timed)
        series.append(
            {
                "time_s": when - begin,
                "read_mb_s": row["read_mb_s"],
                "write_mb_s": row["write_mb_s"],
                "copied_bytes": row["copied_bytes"],
                "queue_depth": row["queue_depth"],
                "dies_busy": row["dies_busy"],
            }
        )
    return {
        "whole": growth(totals(first), totals(last), unit, timed=timed),
        "phases": rows,
        "series": series,
        "mapped_before": first["mapped_pages"] / first["exported_pages"],
        "mapped_after": last["mapped_pages"] / last["exported_pages"],
    }


class Watch:
    """Samples the status of an export before, during and after some work."""

    def __init__(
        self,
        ask: Callable[[], BlockStatus],
        every_s: float = EVERY,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._ask, self._every = ask, every_s
        self._clock = clock or time.monotonic
        self.samples: list[Sample] = []
        self._failed: GordonError | None = None
        self._stop = threading.Event()

    def _look(self) -> None:
        begin = self._clock()
        status = self._ask()
        # The device made the status between the two readings of the clock.
        self.samples.append(((begin + self._clock()) / 2, status))

    def _follow(self) -> None:
        try:
            while not self._stop.wait(self._every):
                self._look()
        except GordonError as error:
            self._failed = error

    def run(self, work: Callable[[], None]) -> None:
        """Runs the work while sampling."""
        self._look()
        thread = threading.Thread(target=self._follow, name="telemetry")
        threads.start(thread)
        try:
            work()
        finally:
            self._stop.set()
            thread.join()
        if self._failed is not None:
            raise self._failed
        self._look()


def watch(socket: str) -> Watch:
    """A watch of a device served by `gordon block serve --socket`."""
    return Watch(lambda: block.stat(socket).report)


def about(status: BlockStatus) -> Export:
    """The properties of an export."""
    totals(status)
    buses = status["busy_ns"]["buses"] if status["busy_ns"] else []
    return {
        "preset": status["preset"],
        "capacity_bytes": status["capacity"],
        "unit_bytes": status["unit"],
        "erase_group_bytes": status["super_block"] * status["write_points"],
        "super_block_bytes": status["super_block"],
        "lanes": len(status["lanes"]),
        "buses": len(buses),
        "timed": status["emulation"] is not None,
    }
