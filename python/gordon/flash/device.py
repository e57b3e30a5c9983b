"""A flash device: a preset of the catalogue or a TOML file, with values changed for one run."""

import json
from copy import deepcopy
from typing import Any

from gordon import _core, own, parts, presets, quantity, settings
from gordon.errors import GordonError
from gordon.options import Settings
from gordon.options.devices import FlashPreset
from gordon.presets import Config, Device

KIND = "flash"
DEFAULT = FlashPreset.device
#: The key of the victim policy.
VICTIM = "ftl.victim"


def names() -> list[str]:
    """The names of the shipped flash devices."""
    return parts.names(KIND)


def text(name: str) -> str:
    """The TOML text of a preset. Raises GordonError for an unknown name."""
    return presets.text(KIND, name)


def load(device: Device) -> Config:
    """The content of a preset or a TOML file, checked by the core. Raises GordonError."""
    return presets.load(KIND, device)


def name(device: Device) -> str:
    """The name of the device in results."""
    return presets.name(KIND, device)


def changed(
    device: Device,
    set_values: Settings,
    super_page: str | None = None,
    write_points: int | None = None,
    spare: str | float | None = None,
    *,
    check: bool = True,
) -> Config:
    """The device with changed values. Dependent values follow, unless they are set as well.

    A change of the geometry keeps the ratio of the capacity to the raw capacity, and thus the
    over-provisioning. A change of the capacity changes the blocks of each plane. With `spare`, or
    if the device has it, the capacity and this share of it make the array. A change of the size of
    super-pages drops their shape. With `check`, raises GordonError if the resized device is too
    small.
    """
    base = load(device)
    made, capacity, keys = deepcopy(base), None, set()
    options = {"spare": spare, "ftl.write_points": write_points, "super_page.size": super_page}
    given = [f"{key}={value}" for key, value in options.items() if value is not None]
    for setting in [*given, *settings.listed(set_values)]:
        key, value = settings.split(setting, "ftl.write_points=4")
        keys.add(key)
        if key == VICTIM and own.is_place(value):
            raise GordonError(
                f"{key}: a policy of your own chooses in `flash replay`, `bench`, `compare` and "
                "`wa` only",
                "a built-in policy, such as greedy",
                kind="own-policy-elsewhere",
            )
        settings.change(KIND, made, key, value)
        if key == "capacity":
            try:
                _core.parse_bytes(value)
            except GordonError as error:
                raise GordonError(
                    f"--set capacity: {error.message}", "--set capacity=8GiB", kind=error.kind
                ) from None
            capacity = value
    if "super_page.size" in keys and not any(key.startswith("super_page.shape.") for key in keys):
        made["super_page"].pop("shape", None)
    if VICTIM in keys and "ftl.choices" not in keys and _victim(made) != "d-choices":
        made["ftl"].pop("choices", None)
    if "spare" in made:
        _one_array(keys)
        return made
    resized = capacity is not None or any(key.startswith("geometry.") for key in keys)
    if resized and not {"capacity", "geometry.blocks_per_plane"} <= keys:
        texts = json.dumps(base), json.dumps(made)
        unused = made["geometry"].get("unused_blocks")
        made = json.loads(_core.flash_provision(*texts, capacity, check))
        if "geometry.unused_blocks" in keys:
            made["geometry"]["unused_blocks"] = unused
    return made


def _one_array(keys: set[str]) -> None:
    """Raises GordonError if the size of the array is set next to the over-provisioning that gives
    it."""
    for key in ("geometry.blocks_per_plane", "geometry.unused_blocks"):
        if key in keys:
            raise GordonError(
                f"{key}: the capacity and `spare` already say how large the array is",
                f"leave out {key}, or spare",
                kind="two-sizes",
            )


def _victim(made: Config) -> Any:
    return quantity.value(made["ftl"]["victim"])
