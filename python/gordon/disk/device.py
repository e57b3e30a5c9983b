"""A disk: a preset or a TOML file, with values changed for one run, or a file of DiskSim.

There are two kinds: a `disk` has a command queue and a large cache, a `drive` carries out one
command at a time.
"""

import tomllib
from collections.abc import Sequence
from os import fspath
from pathlib import Path as File
from typing import Any

from gordon import _core, parts, presets, settings
from gordon.options import Path, several
from gordon.presets import Device

DISK, DRIVE = "disk", "drive"
DEFAULT = "sata-7200-1tb"


def names() -> list[str]:
    """The presets."""
    return parts.names(DISK) + parts.names(DRIVE)


def kind(device: Device) -> str:
    """Which of the two it is: only a drive has overheads of their own for each command."""
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
    """A preset's file as it is."""
    if name not in names():
        raise parts.unknown("disk preset", name, names())
    return presets.text(kind(name), name)


def is_file(device: str) -> bool:
    """Whether it is meant as one, and not as a preset's name."""
    return "/" in device or device.endswith(".toml") or File(device).is_file()


def load(device: Device) -> dict[str, Any]:
    """The disk, checked by the core."""
    if not isinstance(device, dict) and not ("/" in fspath(device) or File(device).is_file()):
        text(fspath(device))
    return presets.load(kind(device), device)


def made(device: Device, diskspecs: Path | None, set_values: Sequence[str]) -> dict[str, Any]:
    """The disk as the core wants it."""
    if diskspecs is not None:
        if set_values:
            raise _core.GordonError(
                "--set cannot change values of a .diskspecs file",
                "edit a copy of that file",
                kind="exclusive-options",
            )
        return {"diskspecs": fspath(diskspecs)}
    loaded, which = load(device), kind(device)
    for setting in several(set_values):
        key, value = settings.split(setting, "interface.queue_depth=1")
        settings.change(which, loaded, key, value)
    return {"config" if which == DISK else "classic": loaded}


def name(device: Device, diskspecs: Path | None) -> str:
    """What to call it."""
    if diskspecs is not None:
        return presets.name(DISK, fspath(diskspecs))
    return presets.name(kind(device), device)


def array(
    stripe: int | None,
    stripe_unit: str | None,
    copies: int | None,
    bus_rate: str | None,
    coalesce: str | None,
) -> dict[str, Any] | None:
    """Several disks as one, and what lies before them; none where it is one alone."""
    if stripe_unit is not None and stripe is None:
        raise _core.GordonError(
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
