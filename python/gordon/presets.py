"""A simulated device: a preset of the catalogue, a TOML file, or the content of such a file."""

import json
from copy import deepcopy
from os import fspath
from pathlib import Path

from gordon import _core, parts
from gordon.errors import GordonError
from gordon.files import read_text
from gordon.options import Device as Device
from gordon.untyped import Config as Config


def text(kind: str, name: str) -> str:
    """The TOML text of a preset. Raises GordonError for an unknown name."""
    if name not in parts.names(kind):
        raise unknown(kind, name, parts.names(kind))
    return parts.text(kind, name)


def unknown(kind: str, name: str, known: list[str]) -> GordonError:
    """The error for an unknown preset, which may be one of another kind."""
    error = parts.unknown(f"{kind} preset", name, known)
    for other, what in (("flash", "flash device"), ("disk", "disk")):
        if name in parts.names(other):
            hint = f"`gordon {other}`, or `gordon compare`, which takes both: {name} is a {what}"
            return GordonError(error.message, hint, kind=error.kind)
    return error


def load(kind: str, device: Device) -> Config:
    """The content of the device, checked by the core. Raises GordonError."""
    if isinstance(device, dict):
        return deepcopy(device)
    path = fspath(device)
    names = parts.names(kind)
    if path in names:
        return parts.load(kind, path)
    if not ("/" in path or path.endswith(".toml") or Path(path).is_file()):
        raise unknown(kind, path, names)
    hint = f"`gordon {kind} presets` lists the shipped devices"
    content = read_text(path, "the device file", hint)
    loaded: Config = json.loads(_core.load_toml(kind, content, path))
    return loaded


def name(kind: str, device: Device) -> str:
    """The name of the device in results."""
    if isinstance(device, dict):
        return str(device.get("summary", "device"))
    path = fspath(device)
    return path if path in parts.names(kind) else Path(path).stem
