"""Runs on simulated flash devices: replay a trace, run a pattern, compare devices, and the write
amplification of random overwrites."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Unpack, overload

from gordon import _core
from gordon.flash import device as devices
from gordon.flash import own
from gordon.flash.device import DEFAULT
from gordon.flash.own import Own, OwnPolicy
from gordon.flash.result import AmplificationResult, Result
from gordon.options import Path, Progress, Settings, keywords
from gordon.options.devices import Amplification, FlashRun
from gordon.options.explicit import explicit
from gordon.options.loads import BenchLoad, TraceLoad
from gordon.presets import Device
from gordon.results import Comparison
from gordon.runs import Kind, RunOptions, as_json
from gordon.untyped import Config


@dataclass(frozen=True, kw_only=True)
class Options(FlashRun, RunOptions):
    """Options of a run on flash. Sizes and times are text (`64KiB`, `10us`)."""

    def config(self, load: Config, device: Device) -> Config:
        values, _ = self._chosen
        made = devices.changed(device, values, self.super_page, self.write_points, self.spare)
        files = self.files("requests_out", "from_checkpoint", "checkpoint")
        return {
            "device": made,
            "load": load,
            "host": self.host(),
            "precondition": self.precondition,
            "seed": self.seed,
        } | files

    @cached_property
    def _chosen(self) -> tuple[Settings, Own | None]:
        """The values to set, and a victim policy of the user's."""
        return own.taken(self.set)

    def name(self, device: Device) -> str:
        return devices.name(device)

    def run(self, config: str, progress: Progress | None) -> _core.RunResult:
        _, policy = self._chosen
        with own.blamed(policy):
            return _core.flash_run(config, progress, policy)

    def run_all(
        self, configs: list[tuple[str, str]], progress: Progress | None
    ) -> list[_core.RunResult]:
        _, policy = self._chosen
        with own.blamed(policy):
            return _core.flash_run_all(configs, progress, policy)


FLASH = Kind(Options, Result)


@explicit(TraceLoad, FlashRun)
def replay(
    trace: Path,
    device: Device = DEFAULT,
    *,
    progress: Progress | None = None,
    **options: Unpack[keywords.FlashReplay],
) -> Result:
    """Replays a block trace on a simulated flash device.

    `device` is the name of a preset, a TOML file, or the content of such a file. `progress` is
    called with the numbers of requests (done, total); 16 pages mapped before the run count as one
    request. Raises GordonError, and CheckpointError if only the checkpoint could not be written.
    """
    return FLASH.run(TraceLoad, trace, device, progress, {**options})


@explicit(BenchLoad, FlashRun)
def bench(
    pattern: keywords.Pattern,
    device: Device = DEFAULT,
    *,
    progress: Progress | None = None,
    **options: Unpack[keywords.FlashBench],
) -> Result:
    """Runs a pattern on a simulated flash device, by default in a closed loop with 32 requests
    outstanding.

    The patterns are random-write, random-read, sequential-write, sequential-read, mixed, hot-cold,
    zipf and gordon-pair. Raises GordonError, and CheckpointError if only the
    checkpoint could not be written.
    """
    return FLASH.run(BenchLoad, pattern, device, progress, {**options})


@overload
def compare(
    trace: Path,
    devices: Sequence[Device],
    *,
    pattern: None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.FlashReplay],
) -> Comparison[Result]: ...
@overload
def compare(
    trace: None,
    devices: Sequence[Device],
    *,
    pattern: keywords.Pattern,
    progress: Progress | None = None,
    **options: Unpack[keywords.FlashBench],
) -> Comparison[Result]: ...
@explicit(TraceLoad, BenchLoad, FlashRun)
def compare(
    trace: Path | None,
    devices: Sequence[Device],
    *,
    pattern: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Comparison[Result]:
    """Runs the same load, either a trace or a pattern, on several devices, one device per core.

    The options are those of `replay` or of `bench` and apply to all devices. Ratios in the result
    are to the first device. Raises GordonError.
    """
    return FLASH.compare(trace, pattern, devices, progress, options)


@explicit(Amplification)
def wa(
    policy: keywords.VictimPolicy | OwnPolicy = "greedy",
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
) -> AmplificationResult:
    """Simulates the write amplification of single-page random overwrites in the steady state.

    The flash translation layer itself runs; `theory` in the result is the analytic value, or None
    where there is none. `rho` is the number of logical pages over that of the physical pages in the
    closed blocks, 1 - over-provisioning.
    `policy` is one of the names, a class of your own (`gordon.flash.own`), or the place of one
    (`mine.py:Greedy`).
    `choices` is the number of candidate blocks of the policy `d-choices`. With `separate`, copies
    of garbage collection have their own write point. The fraction `hot_share` of the writes goes to
    the fraction `hot_space` of the pages. Raises GordonError.
    """
    chosen = own.named(policy)
    config: Config = {
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
    if isinstance(chosen, str):
        text = as_json(config | {"policy": chosen})
        return AmplificationResult(json.loads(_core.flash_wa(text, progress)))
    name, made = chosen
    with own.blamed(chosen):
        report = json.loads(_core.flash_wa(as_json(config), progress, made))
    report["config"]["policy"] = name
    return AmplificationResult(report)
