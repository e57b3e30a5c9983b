"""The simulated storage that is asked: a disk or flash, by what it is called."""

import re
from os import fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gordon import _core, disk, flash, parts
from gordon.disk import device as disks
from gordon.flash import device as flashes
from gordon.presets import Device

if TYPE_CHECKING:
    from gordon.storage.run import Simulated


def is_flash(device: Device) -> bool:
    """Flash or a disk: only flash has times of its cells."""
    if isinstance(device, dict):
        return "timing" in device
    path = fspath(device)
    if path in flash.names() or path in disk.names():
        return path in flash.names()
    try:
        text = Path(path).read_text(encoding="utf-8")
        return re.search(r"^\s*\[?\s*timing\b", text, re.MULTILINE) is not None
    except (OSError, ValueError):
        if "/" in path or path.endswith(".toml"):
            # Whoever loads it says what is wrong.
            return False
        raise parts.unknown("flash or disk preset", path, flash.names() + disk.names()) from None


def config(device: Device, how: "Simulated") -> tuple[str, dict[str, Any]]:
    """What to call it, and what the core wants of it."""
    if is_flash(device):
        if how.scheduler is not None:
            raise _core.GordonError("--scheduler is of disks, not of flash", "leave it out")
        made, capacity = flashes.changed(device, how.set_values, None, None)
        told = {"device": made, "capacity": capacity, "precondition": how.precondition}
        return flashes.name(device), {"flash": told}
    if how.precondition is not None:
        raise _core.GordonError("--precondition is of flash, not of disks", "leave it out")
    made = disks.made(device, None, how.set_values)
    return disks.name(device, None), {"disk": {"device": made, "scheduler": how.scheduler}}
