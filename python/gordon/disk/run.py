"""From options to a run on a disk, and what it comes to."""

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
    """What any run may be told. Sizes and times are text (`64KiB`, `10us`)."""

    diskspecs: Path | None = None
    """A `.diskspecs` file of DiskSim's, in place of a disk of ours."""
    set_values: Sequence[str] = ()
    """`KEY=VALUE` each: any value of the disk, as `interface.queue_depth=1`."""
    stripe: int | None = None
    """Stripe over N disks (RAID-0), mirrors included."""
    stripe_unit: str | None = None
    """Stripe unit, as `64KiB`; 64 KiB unless given."""
    copies: int | None = None
    """Mirror each stripe member on N disks: 2 of 2 is RAID-1, 2 of 4 RAID-10."""
    bus_rate: str | None = None
    """Bytes per second of the bus or host adapter that the disks share, as `300MB`."""
    coalesce: str | None = None
    """Merge queued requests with adjacent ones, up to this size."""
    scheduler: str | None = None
    """Which request comes next, where several wait: fcfs, sstf, look, c-look, v-scan, sptf."""
    responses_out: Path | None = None
    """A file for the response time of each request: milliseconds, a line each, in their order."""

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
    """Replays a block trace on a simulated disk: a preset's name, a TOML file, or its content.

    Options are those of `TraceLoad` and `Options`. `progress` is called with (done, total)
    requests.
    """
    return DISK.run(TraceLoad, trace, device, progress, options)


def bench(
    pattern: str, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Runs a pattern on a simulated disk, in a closed loop of 32 unless told otherwise.

    Patterns are those of `gordon.flash.bench`. Options are those of `BenchLoad` and `Options`.
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
    """Gives several disks the same load, a trace or a pattern, one disk a core.

    Options are those of `replay` or of `bench`, and are the same for all disks.
    """
    return DISK.compare(trace, pattern, disks, progress, options)
