"""Runs on simulated disks: replay a trace, run a pattern, compare disks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gordon import _core
from gordon.disk import device as devices
from gordon.disk.device import DEFAULT
from gordon.disk.result import Result
from gordon.options import Path, Progress
from gordon.presets import Device
from gordon.results import Comparison
from gordon.runs import BenchLoad, Kind, RunOptions, TraceLoad


@dataclass(frozen=True, kw_only=True)
class Options(RunOptions):
    """Options of a run on disks. Sizes and times are text (`64KiB`, `10us`)."""

    diskspecs: Path | None = None
    """Disk in DiskSim 4.0's format (`.diskspecs`), in place of a preset or TOML file."""
    set_values: Sequence[str] = ()
    """Values of the disk to override, each `KEY=VALUE`, as `interface.queue_depth=1`."""
    stripe: int | None = None
    """Stripe over N disks (RAID-0), mirrors included."""
    stripe_unit: str | None = None
    """Stripe unit. Default: `64KiB`."""
    copies: int | None = None
    """Mirror each stripe member on N disks: 2 of 2 is RAID-1, 2 of 4 RAID-10."""
    bus_rate: str | None = None
    """Bytes per second of the bus or host adapter that the disks share, as `300MB`. Default: the
    disks share nothing."""
    coalesce: str | None = None
    """Merge queued requests with adjacent ones, up to this size."""
    scheduler: str | None = None
    """Order in which queued requests are served: fcfs, sstf, look, c-look, v-scan, sptf. Default:
    the disk's."""
    responses_out: Path | None = None
    """File to write, with the response time of each request in ms, one per line."""

    def config(self, load: dict[str, Any], device: Device) -> dict[str, Any]:
        return {
            "device": devices.made(device, self.diskspecs, self.set_values),
            "stripe": devices.array(
                self.stripe, self.stripe_unit, self.copies, self.bus_rate, self.coalesce
            ),
            "scheduler": self.scheduler,
            "load": load,
            "host": self.host(),
            "seed": self.seed,
        } | self.files("requests_out", "responses_out")

    def name(self, device: Device) -> str:
        return devices.name(device, self.diskspecs)


DISK = Kind(Options, Result, _core.disk_run, _core.disk_run_all)


def replay(
    trace: Path, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Replays a block trace on a simulated disk.

    `device` is the name of a preset, a TOML file, or the content of such a file. `options` are the
    fields of `gordon.runs.TraceLoad` and `gordon.disk.run.Options`. `progress` is called with the
    numbers of requests (done, total). Raises GordonError.
    """
    return DISK.run(TraceLoad, trace, device, progress, options)


def bench(
    pattern: str, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Runs a pattern on a simulated disk, by default in a closed loop with 32 requests outstanding.

    The patterns are those of `gordon.flash.bench`. `options` are the fields of
    `gordon.runs.BenchLoad` and `gordon.disk.run.Options`. Raises GordonError.
    """
    return DISK.run(BenchLoad, pattern, device, progress, options)


def compare(
    trace: Path | None,
    disks: Sequence[Device],
    *,
    pattern: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison[Result]:
    """Runs the same load, either a trace or a pattern, on several disks, one disk per core.

    `options` are those of `replay` or of `bench` and apply to all disks. Ratios in the result are
    to the first disk. Raises GordonError.
    """
    return DISK.compare(trace, pattern, disks, progress, options)
