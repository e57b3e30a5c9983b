"""A flash device: a preset of the catalogue or a TOML file, with values changed for one run."""

from collections.abc import Sequence
from typing import Any

from gordon import _core, parts, presets, settings
from gordon.presets import Device

KIND = "flash"
DEFAULT = "gordon-slc-256g"


def names() -> list[str]:
    """The presets."""
    return parts.names(KIND)


def text(name: str) -> str:
    """A preset's file as it is."""
    return presets.text(KIND, name)


def load(device: Device) -> dict[str, Any]:
    """The device, checked by the core."""
    return presets.load(KIND, device)


def name(device: Device) -> str:
    """What to call it."""
    return presets.name(KIND, device)


def changed(
    device: Device, set_values: Sequence[str], super_page: str | None, write_points: int | None
) -> tuple[dict[str, Any], str | None]:
    """The device with its changes, and the capacity that its planes are to be scaled to."""
    made, capacity, keys = load(device), None, set()
    if super_page is not None:
        settings.change(KIND, made, "super_page.size", super_page)
        # The shape was that of the size before.
        made["super_page"].pop("shape", None)
    if write_points is not None:
        settings.change(KIND, made, "ftl.write_points", str(write_points))
    for setting in set_values:
        key, value = settings.split(setting, "ftl.write_points=4")
        if key == "capacity":
            _core.parse_bytes(value)
            capacity = value
            continue
        keys.add(key)
        settings.change(KIND, made, key, value)
        if key == "ftl.victim" and value != "d-choices" and "ftl.choices" not in keys:
            # They were those of the policy before.
            made["ftl"].pop("choices", None)
    if capacity is not None and "geometry.blocks_per_plane" in keys:
        settings.change(KIND, made, "capacity", capacity)
        capacity = None
    return made, capacity
