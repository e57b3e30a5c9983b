"""Telemetry of the served device under a sort: totals, sampled repeatedly, and their growth in each
phase of the sort.

Requests, pages, erases and trims are counted; response times are measured; busy times of dies and
buses are modelled, in the time of the simulated flash.
"""

import threading
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from gordon import block, threads
from gordon.errors import GordonError
from gordon.reports.sort import Phase

Json = dict[str, Any]
#: The time of the request, by the clock of this process, and the status.
Sample = tuple[float, Json]

#: Seconds between two questions (assumed: a phase of a second has ten).
EVERY = 0.1
REQUESTS = ("reads", "writes", "flushes", "trims")
BYTES = ("host_bytes_read", "host_bytes_written", "host_bytes_trimmed")
LAYER = ("gc_page_reads", "erases", "collections")


def totals(status: Json) -> Json:
    """The cumulative counters of a status: numbers, or lists of numbers."""
    if status["kind"] != "block-status":
        raise GordonError(
            "the export is a file with the timing of a disk, which has no flash telemetry",
            "the socket of a served flash image",
            kind="flash-only",
        )
    found: Json = {key: status[key] for key in (*REQUESTS, *BYTES, *LAYER)}
    found["time_s"] = status["uptime_s"]
    found["pages"] = [status["programmed"][cause] for cause in CAUSES]
    emulation = status["emulation"]
    found["waited_ns"] = [emulation["asked_ns"], emulation["got_ns"]] if emulation else [0, 0]
    busy = status["busy_ns"] or {"buses": [], "dies": []}
    found["buses"], found["dies"] = busy["buses"], busy["dies"]
    return found


CAUSES = ("host", "gc", "wear", "summary", "trims", "padding")


def growth(before: Json, after: Json, unit: int, *, timed: bool) -> Json:
    """The growth between two totals. Only with `timed`, when the device is served with real timing,
    queue depth and busy times are known."""

    def grown(key: str) -> Any:
        a, b = before[key], after[key]
        return [y - x for x, y in zip(a, b, strict=True)] if isinstance(a, list) else b - a

    seconds = max(grown("time_s"), 1e-9)
    pages = dict(zip(CAUSES, grown("pages"), strict=True))
    programmed, copied = sum(pages.values()), pages["gc"] + pages["wear"]
    written, requests = grown("host_bytes_written"), grown("reads") + grown("writes")
    simulated, answered = grown("waited_ns")
    row: Json = {
        "seconds": seconds,
        **{key: grown(key) for key in (*REQUESTS, *BYTES, *LAYER)},
        "read_mb_s": grown("host_bytes_read") / seconds / 1e6,
        "write_mb_s": written / seconds / 1e6,
        "request_bytes": (grown("host_bytes_read") + written) / requests if requests else None,
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
        dies = [busy / seconds / 1e9 for busy in grown("dies")]
        row |= {
            "queue_depth": answered / seconds / 1e9,
            "late_share": max(0.0, 1 - simulated / answered) if answered else 0.0,
            "dies_busy": sum(dies) / len(dies),
            "busiest_die": max(dies),
            "busiest_bus": max(busy / seconds / 1e9 for busy in grown("buses")),
        }
    return row


def at(samples: Sequence[Sample], moment: float) -> Json:
    """Totals at a moment, interpolated between the samples around it."""
    known = [(when, totals(status)) for when, status in samples]
    if moment <= known[0][0]:
        return known[0][1]
    for (begin, a), (end, b) in pairwise(known):
        if moment <= end:
            share = (moment - begin) / (end - begin)

            def between(x: Any, y: Any, share: float = share) -> Any:
                if isinstance(x, list):
                    return [between(one, other) for one, other in zip(x, y, strict=True)]
                return x + (y - x) * share

            return {key: between(a[key], b[key]) for key in a}
    return known[-1][1]


def by_phase(samples: Sequence[Sample], begin: float, phases: Sequence[Phase]) -> Json:
    """The growth over a run, over its phases, and between each two samples."""
    first, last = samples[0][1], samples[-1][1]
    unit, timed = last["unit"], last["emulation"] is not None
    rows, moment = [], begin
    for phase in phases:
        start, moment = moment, moment + phase["seconds"]
        row = growth(at(samples, start), at(samples, moment), unit, timed=timed)
        rows.append({"name": phase["name"], **row})
    series = []
    for (_, a), (when, b) in pairwise(samples):
        row = growth(totals(a), totals(b), unit, timed=timed)
        keys = ("read_mb_s", "write_mb_s", "copied_bytes", "queue_depth", "dies_busy")
        series.append({"time_s": when - begin, **{key: row[key] for key in keys}})
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
        ask: Callable[[], Json],
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
        # The status is of some time in between.
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
    return Watch(lambda: block.stat(socket))


def about(status: Json) -> Json:
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
