"""A flash device: a preset of the catalogue or a TOML file, with values changed for one run."""

import json
from collections.abc import Sequence
from copy import deepcopy
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from gordon import _core, parts, settings

KIND = "flash"
DEFAULT = "gordon-slc-256g"

# A preset's name, a TOML file, or what such a file holds.
Device = str | PathLike[str] | dict[str, Any]


def names() -> list[str]:
    """The presets."""
    return parts.names(KIND)


def text(name: str) -> str:
    """A preset's file as it is."""
    if name not in names():
        raise parts.unknown("flash preset", name, names())
    return parts.text(KIND, name)


def load(device: Device) -> dict[str, Any]:
    """The device, checked by the core."""
    if isinstance(device, dict):
        return deepcopy(device)
    path = fspath(device)
    if path in names():
        return parts.load(KIND, path)
    if not ("/" in path or path.endswith(".toml") or Path(path).is_file()):
        raise parts.unknown("flash preset", path, names())
    try:
        content = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "not a text file"
        raise _core.GordonError(
            f"cannot read the device {path}: {why}", "`gordon flash presets` for the shipped ones"
        ) from None
    loaded: dict[str, Any] = json.loads(_core.load_toml(KIND, content, path))
    return loaded


def name(device: Device) -> str:
    """What to call it."""
    if isinstance(device, dict):
        return str(device.get("summary", "device"))
    path = fspath(device)
    return path if path in names() else Path(path).stem


def changed(
    device: Device, set_values: Sequence[str], super_page: str | None, write_points: int | None
) -> tuple[dict[str, Any], str | None]:
    """The device with its changes, and the capacity that its planes are to be scaled to."""
    made, capacity, blocks = load(device), None, False
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
        blocks = blocks or key == "geometry.blocks_per_plane"
        settings.change(KIND, made, key, value)
    if capacity is not None and blocks:
        settings.change(KIND, made, "capacity", capacity)
        capacity = None
    return made, capacity
