"""FlashCache (Kgil and Mudge, CASES 2006): a page cache in DRAM, a second one in NAND flash.

A design is a preset, a TOML file, or the content of such a file. `docs/design/flashcache.md`
describes the model.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal

from gordon import _core, parts, presets, settings
from gordon.cache.results import TwoLevelPoint
from gordon.errors import GordonError
from gordon.options import Device, Progress
from gordon.options.caches import FlashCacheOptions
from gordon.reports.cache import FlashCacheReport
from gordon.untyped import Config, Given

__all__ = ["DEFAULT", "KIND", "NAME", "POWER", "FlashCacheOptions", "load", "names", "run", "sweep"]

NAME = KIND = "flashcache"
DEFAULT = FlashCacheOptions.preset
PowerPart = Literal[
    "dram_read_w",
    "dram_write_w",
    "dram_idle_w",
    "flash_read_w",
    "flash_program_w",
    "flash_erase_w",
    "flash_idle_w",
    "controller_w",
]
#: Backends that a design describes.
BACKENDS = ("disk", "origin")
#: Parts of the power in a report, and their labels.
POWER: dict[PowerPart, str] = {
    "dram_read_w": "DRAM read",
    "dram_write_w": "DRAM write",
    "dram_idle_w": "DRAM idle",
    "flash_read_w": "flash read",
    "flash_program_w": "flash program",
    "flash_erase_w": "flash erase",
    "flash_idle_w": "flash idle",
    "controller_w": "controller",
}


def refused(chosen: Given, instead: str) -> Given:
    """The options of a single level. Raises GordonError for an option of two levels."""
    for name in (field.name for field in fields(FlashCacheOptions)):
        if name in chosen:
            option = f"--{name.replace('_', '-')}"
            raise GordonError(f"{option} applies to two cache levels only", instead, "two-levels")
    return chosen


def names() -> list[str]:
    """Returns the names of the presets."""
    return parts.names(KIND)


def load(design: Device) -> Config:
    """Loads a design, which the core checks."""
    return presets.load(KIND, design)


def run(
    config: Config, options: FlashCacheOptions, flash: str, progress: Progress | None
) -> FlashCacheReport:
    """Replays the trace of `config` through its DRAM and `flash` bytes of flash."""
    config = _designed(config, options) | {"flash": flash}
    report: FlashCacheReport = json.loads(_core.flashcache_run(json.dumps(config), progress))
    return report


def sweep(
    config: Config,
    options: FlashCacheOptions,
    sizes: Sequence[dict[str, str]],
    progress: Progress | None,
) -> list[TwoLevelPoint]:
    """Replays the trace through several caches in one reading. Each of `sizes` replaces keys of
    `config`."""
    config = _designed(config, options)
    configs = json.dumps([config | own for own in sizes])
    reports: list[TwoLevelPoint] = json.loads(_core.flashcache_sweep(configs, progress))
    return reports


def _designed(config: Config, options: FlashCacheOptions) -> Config:
    design = load(options.preset)
    for setting in settings.listed(options.set):
        key, value = settings.split(setting, "cache.ways=8")
        settings.change(KIND, design, key, value)
    if options.ecc is not None:
        if "ecc" not in design:
            raise GordonError(
                "--ecc: the design has no [ecc]", "one with it: `gordon cache show cases-2006`"
            )
        settings.change(KIND, design, "ecc.correctable", str(options.ecc))
    pace = {name: getattr(options, name) for name in ("speed", "rate", "outstanding", "think")}
    return config | {
        "design": design,
        "dram_policy": options.dram_policy,
        "backend": _below(options.backend),
        "pace": pace,
    }


def _below(backend: Device) -> Any:
    """Converts a backend to the core's format."""
    # Not imported by a server, whose memory it would add to.
    from gordon.disk import device as disk

    if isinstance(backend, str) and backend in BACKENDS:
        return backend
    known = disk.names()
    if isinstance(backend, str) and not (backend in known or disk.is_file(backend)):
        raise parts.unknown("backend", backend, [*BACKENDS, *known])
    return {"simulated": disk.made(backend, None, ())}
