"""The core's config of simulated storage: a disk or a flash device."""

from gordon.disk import device as disks
from gordon.errors import GordonError
from gordon.flash import device as flashes
from gordon.options.devices import SimulatedStorage
from gordon.presets import Device
from gordon.simulated import is_disk
from gordon.untyped import Config


def config(device: Device, how: SimulatedStorage) -> tuple[str, Config]:
    """The name of the storage in results, and the core's config."""
    if not is_disk(device):
        if how.scheduler is not None:
            raise GordonError(
                "--scheduler applies to disks, not to flash",
                "leave out --scheduler",
                kind="disk-only",
            )
        made = flashes.changed(device, how.set)
        return flashes.name(device), {"flash": {"device": made, "precondition": how.precondition}}
    if how.precondition is not None:
        raise GordonError(
            "--precondition applies to flash, not to disks",
            "leave out --precondition",
            kind="flash-only",
        )
    made = disks.made(device, None, how.set)
    return disks.name(device, None), {"disk": {"device": made, "scheduler": how.scheduler}}
