"""From options to a run: one JSON config a device goes to the core."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gordon import _core
from gordon.flash import device as devices
from gordon.flash.device import DEFAULT
from gordon.flash.result import Result
from gordon.options import Path, Progress
from gordon.presets import Device
from gordon.results import Comparison
from gordon.runs import BenchLoad, Kind, RunOptions, TraceLoad, as_json


@dataclass(frozen=True, kw_only=True)
class Options(RunOptions):
    """What any run may be told. Sizes and times are text (`64KiB`, `10us`)."""

    set_values: Sequence[str] = ()
    """`KEY=VALUE` each: any value of the device, as `ftl.victim=fifo`; `capacity` scales it."""
    super_page: str | None = None
    """Size of a super-page, striped over buses, then planes, then dies."""
    write_points: int | None = None
    """Super-pages that are open to writes."""
    precondition: float | None = None
    """Part of the exported capacity that is mapped before, in the steady state of random
    overwrites."""
    from_checkpoint: Path | None = None
    """The device as `checkpoint` kept it, instead of a new one."""
    checkpoint: Path | None = None
    """A file for what the device has become."""

    def config(self, load: dict[str, Any], device: Device) -> dict[str, Any]:
        made = devices.changed(device, self.set_values, self.super_page, self.write_points)
        files = self.files("requests_out", "from_checkpoint", "checkpoint")
        return {
            "device": made,
            "load": load,
            "host": self.host(),
            "precondition": self.precondition,
            "seed": self.seed,
        } | files

    def name(self, device: Device) -> str:
        return devices.name(device)


FLASH = Kind(Options, Result, _core.flash_run, _core.flash_run_all)


def replay(
    trace: Path, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Replays a block trace on a simulated device: a preset's name, a TOML file, or its content.

    Options are those of `TraceLoad` and `Options`. `progress` is called with (done, total)
    requests; 16 pages that are laid out before them count as one.
    """
    return FLASH.run(TraceLoad, trace, device, progress, options)


def bench(
    pattern: str, device: Device = DEFAULT, *, progress: Progress | None = None, **options: Any
) -> Result:
    """Runs a pattern on a simulated device, in a closed loop of 32 unless told otherwise.

    Patterns: random-write, random-read, sequential-write, sequential-read, mixed, hot-cold, zipf,
    gordon-pair. Options are those of `BenchLoad` and `Options`.
    """
    return FLASH.run(BenchLoad, pattern, device, progress, options)


def compare(
    trace: Path | None,
    devices: Sequence[Device],
    *,
    pattern: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison[Result]:
    """Gives several devices the same load, a trace or a pattern, one device a core.

    Options are those of `replay` or of `bench`, and are the same for all devices.
    """
    return FLASH.compare(trace, pattern, devices, progress, options)


def wa(
    policy: str = "greedy",
    rho: float = 0.8,
    *,
    pages_per_block: int = 64,
    blocks: int = 2048,
    choices: int | None = None,
    separate: bool = False,
    hot_space: float | None = None,
    hot_share: float | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The write amplification of single-page random overwrites in the steady state, simulated by
    the translation layer; theory, where there is one, beside it.

    `rho` is logical pages for each page of the closed blocks. `choices` is d of `d-choices`,
    `separate` gives copies a write point of their own, `hot_share` of the writes go to `hot_space`
    of the pages.
    """
    config: dict[str, Any] = {
        "policy": policy,
        "rho": rho,
        "pages_per_block": pages_per_block,
        "blocks": blocks,
        "seed": seed,
        "separate": separate,
    }
    if choices is not None:
        config["choices"] = choices
    if hot_space is not None or hot_share is not None:
        space = 0.1 if hot_space is None else hot_space
        config["hot_cold"] = {"space": space, "share": 0.9 if hot_share is None else hot_share}
    told: dict[str, Any] = json.loads(_core.flash_wa(as_json(config), progress))
    return told
