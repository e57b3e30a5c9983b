"""FlashCache (Kgil and Mudge, CASES 2006): a page cache in DRAM, a second one in NAND flash.

A design is a preset, a TOML file, or what such a file holds; `docs/design/flashcache.md` has the
model.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gordon import _core, parts, presets, settings
from gordon.disk import device as disk
from gordon.options import Progress, several
from gordon.presets import Device

__all__ = ["DEFAULT", "KIND", "NAME", "POWER", "Options", "load", "names", "run", "sweep"]

NAME = KIND = "flashcache"
DEFAULT = "cases-2006"
#: What lies below in a design.
BACKENDS = ("disk", "origin")
#: Parts of the power that a replay tells, and what they are called.
POWER = {
    "dram_read_w": "DRAM read",
    "dram_write_w": "DRAM write",
    "dram_idle_w": "DRAM idle",
    "flash_read_w": "flash read",
    "flash_program_w": "flash program",
    "flash_erase_w": "flash erase",
    "flash_idle_w": "flash idle",
    "controller_w": "controller",
}


@dataclass(frozen=True, kw_only=True)
class Options:
    """What only two levels may be told. Sizes and times are text (`1ms`)."""

    preset: Device = DEFAULT
    """The design: a preset (`gordon cache presets`), a TOML file, or what it holds."""
    set_values: Sequence[str] = ()
    """`KEY=VALUE`: values of the design changed for this run."""
    ecc: int | None = None
    """Wrong bits of a codeword of flash that are corrected. What a block endures and how long a
    read takes follow from it. None: as the design has it."""
    dram_policy: str = "lru"
    """What goes from the primary page cache: one of `gordon.cache.policies()`."""
    backend: Device = "disk"
    """What lies below: `disk` or `origin`, a server that is asked over a network, as the design has
    them; or a disk that is simulated: a preset (`gordon disk presets`), a TOML file, or what it
    holds."""
    speed: float | None = None
    """2: requests come twice as fast as in the trace."""
    rate: float | None = None
    """Requests of the trace a second, evenly spaced, in the place of the trace's times. The pages
    of a request come together."""
    outstanding: int | None = None
    """Outstanding requests of the trace in a closed loop, in the place of the trace's times."""
    think: str | None = None
    """In a closed loop, from an answer to the next request."""


def names() -> list[str]:
    """The presets."""
    return parts.names(KIND)


def load(design: Device) -> dict[str, Any]:
    """The design, checked by the core."""
    return presets.load(KIND, design)


def run(
    config: dict[str, Any], options: Options, flash: str, progress: Progress | None
) -> dict[str, Any]:
    """Two levels of `flash` bytes and the DRAM of `config`, asked for its trace."""
    config = _designed(config, options) | {"flash": flash}
    told: dict[str, Any] = json.loads(_core.flashcache_run(json.dumps(config), progress))
    return told


def sweep(
    config: dict[str, Any],
    options: Options,
    sizes: Sequence[dict[str, str]],
    progress: Progress | None,
) -> list[dict[str, Any]]:
    """The same for each of several: what they have in the place of `config`'s; in one reading."""
    config = _designed(config, options)
    configs = json.dumps([config | own for own in sizes])
    told: list[dict[str, Any]] = json.loads(_core.flashcache_sweep(configs, progress))
    return told


def _designed(config: dict[str, Any], options: Options) -> dict[str, Any]:
    design = load(options.preset)
    for setting in several(options.set_values):
        key, value = settings.split(setting, "cache.ways=8")
        settings.change(KIND, design, key, value)
    if options.ecc is not None:
        if "ecc" not in design:
            raise _core.GordonError(
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
    """What lies below, as the core has it."""
    if isinstance(backend, str) and backend in BACKENDS:
        return backend
    known = disk.names()
    if isinstance(backend, str) and not (backend in known or disk.is_file(backend)):
        raise parts.unknown("backend", backend, [*BACKENDS, *known])
    return {"simulated": disk.made(backend, None, ())}
