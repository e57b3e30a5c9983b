"""From options to a run on a disk, and what it comes to."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gordon import _core
from gordon.disk import device as devices
from gordon.disk.device import DEFAULT
from gordon.presets import Device
from gordon.runs import BenchLoad, Host, Path, Progress, Run, TraceLoad, dealt


@dataclass(frozen=True, kw_only=True)
class Options(Host):
    """What any run may be told. Sizes and times are text (`64KiB`, `10us`)."""

    diskspecs: Path | None = None
    """A `.diskspecs` file of DiskSim's, in place of a disk of ours."""
    set_values: Sequence[str] = ()
    """`KEY=VALUE` each: any value of the disk, as `interface.queue_depth=1`."""
    stripe: int | None = None
    """So many of it as one (RAID-0)."""
    stripe_unit: str = "64KiB"
    """What lies on one of them before the next has its turn."""
    scheduler: str | None = None
    """Which request comes next, where several wait: fcfs, sstf, look, c-look, v-scan, sptf."""
    responses_out: Path | None = None
    """A file for the response time of each request: milliseconds, a line each, in their order."""

    def run(self, load: dict[str, Any], device: Device, progress: Progress | None) -> "Result":
        """Runs it."""
        stripe = None
        if self.stripe is not None:
            stripe = {"disks": self.stripe, "unit": self.stripe_unit}
        config = {
            "device": devices.made(device, self.diskspecs, self.set_values),
            "stripe": stripe,
            "scheduler": self.scheduler,
            "load": load,
            "host": self.host(),
            "seed": self.seed,
        } | self.files("requests_out", "responses_out")
        name = devices.name(device, self.diskspecs)
        return Result(name, _core.disk_run(json.dumps(config), progress))


class Result(Run):
    """One run: `report` is the summary, tables are Arrow columns."""


def replay(
    trace: Path, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Replays a block trace on a simulated disk: a preset's name, a TOML file, or its content.

    Options are those of `TraceLoad` and `Options`. `progress` is called with (done, total)
    requests.
    """
    load, how = dealt(options, TraceLoad, Options)
    done: Result = how.run(load.config(trace), device, progress)
    return done


def bench(
    pattern: str, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Runs a pattern on a simulated disk, in a closed loop of 32 unless told otherwise.

    Patterns are those of `gordon.flash.bench`. Options are those of `BenchLoad` and `Options`.
    """
    load, how = dealt(options, BenchLoad, Options)
    done: Result = how.run(load.config(pattern), device, progress)
    return done
