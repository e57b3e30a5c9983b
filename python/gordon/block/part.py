"""What a served file is in the time of: the flash that an image is of, or disks."""

import json
from collections.abc import Mapping, Sequence
from os import fspath
from pathlib import Path
from typing import Any

import tomllib

from gordon import _core, parts
from gordon._core import GordonError
from gordon.disk import device as disk_device
from gordon.flash import device as flash_device
from gordon.presets import Device

Json = dict[str, Any]


def is_disk(device: Device) -> bool:
    """Whether it is one, by its name or by what its file holds: flash has nothing to seek with."""
    if isinstance(device, dict):
        return "seek" in device
    path = fspath(device)
    if path in disk_device.names() or path in flash_device.names():
        return path in disk_device.names()
    if not ("/" in path or path.endswith(".toml") or Path(path).is_file()):
        known = flash_device.names() + disk_device.names()
        raise parts.unknown("flash or disk preset", path, known)
    try:
        return is_disk(tomllib.loads(Path(path).read_text(encoding="utf-8")))
    except (OSError, ValueError):
        # Whoever loads it says what is wrong.
        return False


def disks(
    device: Device | None,
    diskspecs: str | None,
    set_values: Sequence[str],
    scheduler: str | None,
    array: Mapping[str, Any],
) -> Json | None:
    """The disks that are asked for, as the core wants them; none where it is not disks.

    `array` is what `gordon.disk.device.array` takes.
    """
    if diskspecs is None and (device is None or not is_disk(device)):
        for option, value in {"scheduler": scheduler, **array}.items():
            if value is not None:
                raise GordonError(
                    f"--{option.replace('_', '-')}: for disks, not for flash",
                    f"--preset {disk_device.DEFAULT}, and a plain file",
                )
        return None
    if diskspecs is not None and device is not None:
        raise GordonError("--preset and --diskspecs: two disks", "one of them")
    chosen = disk_device.DEFAULT if device is None else device
    return {
        "name": disk_device.name(chosen, diskspecs),
        "device": disk_device.made(chosen, diskspecs, set_values),
        "stripe": disk_device.array(**array),
        "scheduler": scheduler,
    }


def flash(image: str, device: Device | None, set_values: Sequence[str], must: bool) -> Json | None:
    """The part that the times come from; none where it is not known and need not be."""
    name = device or str(json.loads(_core.block_image(image))["preset"])
    if device is None and name not in flash_device.names():
        if must:
            raise GordonError(
                f"{image} was made from {name}, which is no preset",
                "--preset FILE, the device file it was made from",
            )
        return None
    made, _ = flash_device.changed(name, set_values, None, None)
    return made
