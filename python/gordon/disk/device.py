"""A disk: a preset or a TOML file, with values changed for one run, or a file of DiskSim.

There are two kinds: a `disk` has a command queue and a large cache, a `drive` carries out one
command at a time.
"""

import tomllib
from os import fspath
from pathlib import Path as File

from gordon import parts, presets, settings
from gordon.errors import GordonError
from gordon.options import Path, Settings
from gordon.options.devices import DiskPreset
from gordon.presets import Config, Device

DISK, DRIVE = "disk", "drive"
DEFAULT = DiskPreset.device


def names() -> list[str]:
    """The names of the shipped disks and drives."""
    return parts.names(DISK) + parts.names(DRIVE)


def kind(device: Device) -> str:
    """The kind of a disk: `drive` if it has overheads per command, else `disk`."""
    if isinstance(device, dict):
        return DRIVE if "overheads" in device else DISK
    path = fspath(device)
    if path in names():
        return DRIVE if path in parts.names(DRIVE) else DISK
    try:
        table = tomllib.loads(File(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        # Whoever loads it says what is wrong.
        return DISK
    return kind(table)


def text(name: str) -> str:
    """The TOML text of a preset. Raises GordonError for an unknown name."""
    if name not in names():
        raise presets.unknown("disk", name, names())
    return presets.text(kind(name), name)


def is_file(device: str) -> bool:
    """Whether a device is given as a file, not as the name of a preset."""
    return "/" in device or device.endswith(".toml") or File(device).is_file()


def load(device: Device) -> Config:
    """The content of a preset or a TOML file, checked by the core. Raises GordonError."""
    if not isinstance(device, dict) and not is_file(fspath(device)):
        text(fspath(device))
    return presets.load(kind(device), device)


def made(device: Device, diskspecs: Path | None, set_values: Settings) -> Config:
    """The core's config of a disk."""
    if diskspecs is not None:
        if set_values:
            raise GordonError(
                "--set cannot change values of a .diskspecs file",
                "edit a copy of that file",
                kind="exclusive-options",
            )
        return {"diskspecs": fspath(diskspecs)}
    loaded, which = load(device), kind(device)
    for setting in settings.listed(set_values):
        key, value = settings.split(setting, "interface.queue_depth=1")
        settings.change(which, loaded, key, value)
    return {"config" if which == DISK else "classic": loaded}


def name(device: Device, diskspecs: Path | None) -> str:
    """The name of the disk in results."""
    if diskspecs is not None:
        return presets.name(DISK, fspath(diskspecs))
    return presets.name(kind(device), device)


def array(
    stripe: int | None,
    stripe_unit: str | None,
    copies: int | None,
    bus_rate: str | None,
    coalesce: str | None,
) -> Config | None:
    """The core's config of an array of disks and their shared bus; None for a single disk."""
    if stripe_unit is not None and stripe is None:
        raise GordonError(
            "--stripe-unit needs --stripe: a single disk is not striped",
            "--stripe 2",
            kind="needs-option",
        )
    if (stripe, copies, bus_rate, coalesce) == (None,) * 4:
        return None
    copies = 1 if copies is None else copies
    return {
        "disks": copies if stripe is None else stripe,
        "unit": "64KiB" if stripe_unit is None else stripe_unit,
        "copies": copies,
        "bus_rate_per_s": bus_rate,
        "coalesce": coalesce,
    }
