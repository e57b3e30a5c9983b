"""Runs on simulated disks: replay a trace, run a pattern, compare disks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Unpack, overload

from gordon import _core
from gordon.disk import device as devices
from gordon.disk.device import DEFAULT
from gordon.disk.result import Result
from gordon.options import Path, Progress, keywords
from gordon.options.devices import DiskRun
from gordon.options.explicit import explicit
from gordon.options.loads import BenchLoad, TraceLoad
from gordon.presets import Device
from gordon.results import Comparison
from gordon.runs import Kind, RunOptions
from gordon.untyped import Config


@dataclass(frozen=True, kw_only=True)
class Options(DiskRun, RunOptions):
    """Options of a run on disks. Sizes and times are text (`64KiB`, `10us`)."""

    def config(self, load: Config, device: Device) -> Config:
        return {
            "device": devices.made(device, self.diskspecs, self.set),
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

    def run(self, config: str, progress: Progress | None) -> _core.RunResult:
        return _core.disk_run(config, progress)

    def run_all(
        self, configs: list[tuple[str, str]], progress: Progress | None
    ) -> list[_core.RunResult]:
        return _core.disk_run_all(configs, progress)


DISK = Kind(Options, Result)


@explicit(TraceLoad, DiskRun)
def replay(
    trace: Path,
    device: Device = DEFAULT,
    *,
    progress: Progress | None = None,
    **options: Unpack[keywords.DiskReplay],
) -> Result:
    """Replays a block trace on a simulated disk.

    `device` is the name of a preset, a TOML file, or the content of such a file. `progress` is
    called with the numbers of requests (done, total). Raises GordonError.
    """
    return DISK.run(TraceLoad, trace, device, progress, {**options})


@explicit(BenchLoad, DiskRun)
def bench(
    pattern: keywords.Pattern,
    device: Device = DEFAULT,
    *,
    progress: Progress | None = None,
    **options: Unpack[keywords.DiskBench],
) -> Result:
    """Runs a pattern on a simulated disk, by default in a closed loop with 32 requests outstanding.

    The patterns are those of `gordon.flash.bench`. Raises GordonError.
    """
    return DISK.run(BenchLoad, pattern, device, progress, {**options})


@overload
def compare(
    trace: Path,
    disks: Sequence[Device],
    *,
    pattern: None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.DiskReplay],
) -> Comparison[Result]: ...
@overload
def compare(
    trace: None,
    disks: Sequence[Device],
    *,
    pattern: keywords.Pattern,
    progress: Progress | None = None,
    **options: Unpack[keywords.DiskBench],
) -> Comparison[Result]: ...
@explicit(TraceLoad, BenchLoad, DiskRun)
def compare(
    trace: Path | None,
    disks: Sequence[Device],
    *,
    pattern: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison[Result]:
    """Runs the same load, either a trace or a pattern, on several disks, one disk per core.

    The options are those of `replay` or of `bench` and apply to all disks. Ratios in the result
    are to the first disk. Raises GordonError.
    """
    return DISK.compare(trace, pattern, disks, progress, options)
