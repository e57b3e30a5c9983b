"""What a served file is in the time of: the flash that an image is of, or disks."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gordon import _core
from gordon._core import GordonError
from gordon.disk import device as disk_device
from gordon.flash import device as flash_device
from gordon.presets import Device
from gordon.simulated import is_disk

Json = dict[str, Any]


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
    return flash_device.changed(name, set_values, check=False)
