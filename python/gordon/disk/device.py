"""A disk: a preset or a TOML file, with values changed for one run; or DiskSim's files."""

from collections.abc import Sequence
from os import fspath
from typing import Any

from gordon import _core, parts, presets, settings
from gordon.load import Path
from gordon.presets import Device

KIND = "disk"
DEFAULT = "sata-7200-1tb"


def names() -> list[str]:
    """The presets."""
    return parts.names(KIND)


def text(name: str) -> str:
    """A preset's file as it is."""
    return presets.text(KIND, name)


def load(device: Device) -> dict[str, Any]:
    """The disk, checked by the core."""
    return presets.load(KIND, device)


def made(device: Device, diskspecs: Path | None, set_values: Sequence[str]) -> dict[str, Any]:
    """The disk as the core wants it."""
    if diskspecs is not None:
        if set_values:
            raise _core.GordonError(
                "--set changes values of our own files, not of DiskSim's", "an edited copy of those"
            )
        return {"diskspecs": fspath(diskspecs)}
    loaded = load(device)
    for setting in set_values:
        key, value = settings.split(setting, "interface.queue_depth=1")
        settings.change(KIND, loaded, key, value)
    return {"config": loaded}


def name(device: Device, diskspecs: Path | None) -> str:
    """What to call it."""
    return presets.name(KIND, device if diskspecs is None else fspath(diskspecs))
