"""The device whose timing a served file has: the flash of an image, or disks."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from gordon import _core
from gordon.disk import device as disk_device
from gordon.errors import GordonError
from gordon.flash import device as flash_device
from gordon.presets import Config, Device
from gordon.reports.block import DeviceParams
from gordon.simulated import is_disk


def disks(
    device: Device | None,
    diskspecs: str | None,
    set_values: Sequence[str],
    scheduler: str | None,
    array: Mapping[str, Any],
) -> Config | None:
    """The core's config of the disks; None if the device is flash.

    `array` has the keyword arguments of `gordon.disk.device.array`. Raises GordonError for an
    option of disks that is given for flash.
    """
    if diskspecs is None and (device is None or not is_disk(device)):
        for option, value in {"scheduler": scheduler, **array}.items():
            if value is not None:
                raise GordonError(
                    f"--{option.replace('_', '-')} applies to disks, not to flash",
                    f"--preset {disk_device.DEFAULT} with a plain file",
                    kind="disk-only",
                )
        return None
    if diskspecs is not None and device is not None:
        raise GordonError(
            "--preset and --diskspecs both name a disk",
            "give only one of them",
            kind="exclusive-options",
        )
    chosen = disk_device.DEFAULT if device is None else device
    return {
        "name": disk_device.name(chosen, diskspecs),
        "device": disk_device.made(chosen, diskspecs, set_values),
        "stripe": disk_device.array(**array),
        "scheduler": scheduler,
    }


def flash(
    image: str, device: Device | None, set_values: Sequence[str], must: bool
) -> Config | None:
    """The flash device with the timing of an image; None if it is unknown and not required."""
    name = device
    if name is None:
        params: DeviceParams = json.loads(_core.block_image(image))
        name = params["preset"]
    if device is None and name not in flash_device.names():
        if must:
            raise GordonError(
                f"{image} was made from the device file {name}, so its timing is not known",
                "--preset FILE with the device file that the image was made from",
                kind="unknown-timing",
            )
        return None
    return flash_device.changed(name, set_values, check=False)
