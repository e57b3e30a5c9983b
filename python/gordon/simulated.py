"""Whether a simulated device is flash or a disk, given its name, its file or its content."""

import tomllib
from os import fspath
from pathlib import Path

from gordon import parts
from gordon.disk import device as disks
from gordon.flash import device as flash
from gordon.presets import Device


def is_disk(device: Device) -> bool:
    """Whether the device is a disk, which has seek times, and not flash. Raises GordonError."""
    if isinstance(device, dict):
        return "seek" in device
    path = fspath(device)
    if path in disks.names() or path in flash.names():
        return path in disks.names()
    if not ("/" in path or path.endswith(".toml") or Path(path).is_file()):
        raise parts.unknown("flash or disk preset", path, flash.names() + disks.names())
    try:
        return is_disk(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        # Whoever loads it says what is wrong.
        return False
