"""The requests of a sort on a simulated flash device, with the device's counters.

The device is partly mapped, in the steady state of random overwrites, and an input and temporary
files were written to it before. A closed loop keeps as many transfers outstanding as the sort has
threads for I/O.
"""

import random
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TypedDict

from gordon import _core, flash, settings
from gordon.errors import GordonError
from gordon.options import Settings
from gordon.presets import Device
from gordon.reports.devices import FlashRun
from gordon.untyped import Given

#: Transfers at the device: the threads that the sort moves them by, with one temporary folder
#: (crates/sort/src/job.rs).
DEPTH = 8
#: Files begin at multiples of this.
ALIGN = 1 << 20

Request = tuple[str, int, int]


def sequential(what: str, base: int, total: int, size: int) -> list[Request]:
    """Requests over a file from its start to its end."""
    return [(what, base + at, min(size, total - at)) for at in range(0, total, size)]


def shuffled(what: str, base: int, total: int, size: int, seed: int) -> list[Request]:
    """Requests of buckets, bucket by bucket; the pieces of each are spread over the file."""
    found = sequential(what, base, total, size)
    random.Random(seed).shuffle(found)  # noqa: S311 - an order, no secret
    return found


def merged(*loads: Sequence[Request]) -> list[Request]:
    """Several loads interleaved, each advancing at the same fraction of its bytes."""
    rows: list[tuple[float, int, Request]] = []
    for order, load in enumerate(loads):
        total, done = sum(length for _, _, length in load), 0
        for request in load:
            rows.append((done / total, order, request))
            done += request[2]
    return [request for _, _, request in sorted(rows, key=lambda row: row[:2])]


@dataclass(frozen=True)
class Layout:
    """The addresses of the files on the device."""

    size: int

    @property
    def input(self) -> int:
        return 0

    @property
    def temp(self) -> int:
        return self.size

    @property
    def output(self) -> int:
        return 2 * self.size


class Figures(TypedDict):
    """The figures of a run that the search uses."""

    seconds: float
    bandwidth_mb_s: float
    write_amplification: float | None
    gc_pages: int
    gc_bytes: int
    erases: int
    queue_depth: float
    dies_busy: float
    dies_reading: float
    dies_writing: float
    buses_busy: float
    busiest_bus: float
    collecting: float


class Simulated:
    """A device on which loads run repeatedly, each from the same state."""

    def __init__(
        self,
        device: Device,
        *,
        set: Settings = (),
        precondition: float = 0.8,
        seed: int = 0,
    ) -> None:
        self.device = device
        self.options: Given = {
            "set": settings.listed(set),
            "closed_loop": True,
            "queue_depth": DEPTH,
            "seed": seed,
        }
        self.precondition = precondition
        text = flash.device.changed(device, set)["capacity"]
        self.capacity = _core.parse_bytes(text["value"] if isinstance(text, dict) else text)
        self._folder = tempfile.TemporaryDirectory(prefix="gordon-tune-")

    def __enter__(self) -> "Simulated":
        return self

    def __exit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        self._folder.cleanup()

    @property
    def mapped(self) -> int:
        """Bytes in use, from address 0 on."""
        return int(self.capacity * self.precondition) // ALIGN * ALIGN

    def room(self, size: int, files: int) -> None:
        """Raises GordonError unless that many files fit into the space in use."""
        if size * files > self.mapped:
            raise GordonError(
                f"{files} files of {size} bytes are larger than the {self.mapped} bytes in use of "
                f"{flash.device.name(self.device)}",
                "fewer --records, or a larger --set capacity=SIZE",
                kind="no-space",
            )

    def run(
        self, load: Iterable[Request], *, start: str | None = None, keep: str | None = None
    ) -> Figures:
        """Runs a load on a new device, or from a state that was saved under a name."""
        folder = Path(self._folder.name)
        trace = folder / "load.fio"
        lines = "".join(f"device {what} {at} {length}\n" for what, at, length in load)
        trace.write_text(f"fio version 2 iolog\ndevice add\ndevice open\n{lines}device close\n")
        options = dict(self.options)
        if start is None:
            options["precondition"] = self.precondition
        else:
            options["from_checkpoint"] = folder / start
        if keep is not None:
            options["checkpoint"] = folder / keep
        return figures_of(flash.replay(trace, self.device, format="fio", **options).report)


def figures_of(report: FlashRun) -> Figures:
    """The figures of a run that the search uses."""
    # What takes no time, as a trim alone, keeps nothing busy.
    busy = report["utilisation"]
    pages = report["pages"]
    return {
        "seconds": report["simulated_s"],
        "bandwidth_mb_s": report["bandwidth_mb_s"] or 0.0,
        "write_amplification": report["write_amplification"],
        "gc_pages": pages["gc_program"],
        "gc_bytes": pages["gc_program"] * report["page_bytes"],
        "erases": report["erases"],
        "queue_depth": report["outstanding"]["mean"] or 0.0,
        "dies_busy": min(busy["die"] or 0.0, 1.0),
        "dies_reading": busy["die_read"] or 0.0,
        "dies_writing": busy["die_write"] or 0.0,
        "buses_busy": busy["bus"] or 0.0,
        "busiest_bus": max((bus or 0.0 for bus in busy["buses"]), default=0.0),
        "collecting": busy["collecting"] or 0.0,
    }
