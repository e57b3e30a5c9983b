"""Block devices: flash images, made, served and looked at; plain files in the time of disks.

>>> from gordon import block
>>> block.create("flash.img", "gordon-slc-256g", capacity="8GB")
"""

import http.client
import json
import socket as sockets
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from gordon import _core
from gordon._core import GordonError
from gordon.block import part
from gordon.flash import device as flash_device
from gordon.options import several
from gordon.presets import Device

__all__ = ["check", "create", "export", "repair", "serve", "stat", "wear"]

Json = dict[str, Any]

FAULTS = (
    "program_failures",
    "erase_failures",
    "bit_errors",
    "bit_error_growth",
    "codeword",
    "correctable",
)


def create(
    image: str,
    device: Device = flash_device.DEFAULT,
    *,
    capacity: str | None = None,
    set_values: Sequence[str] = (),
    super_page: str | None = None,
    write_points: int | None = None,
    faults: Sequence[str] = (),
    fill: str | None = None,
    seed: int = 1,
) -> Json:
    """Makes an image of an erased array in a new file; what it is of.

    `capacity` is what the device exports; its planes get blocks in proportion. `fill="metadata"`:
    every block is closed and has its summary. Raises GordonError.
    """
    if capacity is not None:
        set_values = [*set_values, f"capacity={capacity}"]
    # An image gets more blocks where the layer needs them.
    made = flash_device.changed(device, set_values, super_page, write_points, check=False)
    config = {
        "path": image,
        "name": flash_device.name(device),
        "device": made,
        "seed": seed,
        "faults": _faults(faults),
        "fill": fill == "metadata",
    }
    created: Json = json.loads(_core.block_create(json.dumps(config)))
    return created


def _faults(given: Sequence[str]) -> Json | None:
    faults: Json = {}
    for setting in several(given):
        key, equals, value = setting.partition("=")
        if not equals or key not in FAULTS:
            raise GordonError(f"--fault {setting}", f"KEY=VALUE with one of {', '.join(FAULTS)}")
        try:
            whole = key in ("codeword", "correctable")
            faults[key] = int(value) if whole else float(value)
        except ValueError:
            raise GordonError(f"--fault {setting}: {value} is no number", f"{key}=1e-6") from None
    return faults or None


def serve(
    image: str,
    *,
    sockets: Sequence[str] = (),
    listen: Sequence[str] = (),
    export: str = "",
    read_only: bool = False,
    salvage: bool = False,
    timing: str = "full",
    preset: Device | None = None,
    set_values: Sequence[str] = (),
    diskspecs: str | None = None,
    stripe: int | None = None,
    stripe_unit: str | None = None,
    copies: int | None = None,
    bus_rate: str | None = None,
    coalesce: str | None = None,
    scheduler: str | None = None,
    backend: str = "file",
    tls_certificate: str | None = None,
    tls_key: str | None = None,
    tls_clients: str | None = None,
    insecure: bool = False,
    metrics: Sequence[str] = (),
    clients: int | None = None,
    ready: Callable[[Json], None] = lambda _: None,
) -> Json:
    """Serves an image until a signal handler raises; its last status. `ready` hears where.

    `salvage`: serve a damaged image, read-only; what cannot be proved to be current is an I/O
    error.
    With a `preset` of a disk, or `diskspecs`, it serves a plain file: in the time of `stripe` of
    them, with `scheduler` in place of theirs. Raises GordonError.
    """
    array = {
        "stripe": stripe,
        "stripe_unit": stripe_unit,
        "copies": copies,
        "bus_rate": bus_rate,
        "coalesce": coalesce,
    }
    disk = part.disks(preset, diskspecs, set_values, scheduler, array)
    if disk is not None and backend == "direct":
        raise GordonError("--backend direct: for flash images", "without it")
    if disk is not None and salvage:
        raise GordonError("--salvage: for flash images", "without it")
    if salvage and timing == "real":
        raise GordonError("--salvage reads as fast as it can", "without --timing real")
    device = None
    if disk is None:
        device = part.flash(image, preset, set_values, must=timing == "real")
    config = {
        "path": image,
        "direct": backend == "direct",
        "read_only": read_only or salvage,
        "salvage": salvage,
        "real": timing == "real",
        "device": device,
        "disk": disk,
        "sockets": several(sockets),
        "listen": several(listen),
        "insecure": insecure,
        "export": export,
        "clients": clients,
        "certificate": tls_certificate,
        "key": tls_key,
        "authority": tls_clients,
        "metrics": several(metrics),
    }
    tell = lambda where: ready(json.loads(where))  # noqa: E731
    status: Json = json.loads(_core.block_serve(json.dumps(config), tell))
    return status


class _Unix(http.client.HTTPConnection):
    """HTTP over a unix socket."""

    def __init__(self, path: str) -> None:
        super().__init__("localhost", timeout=10)
        self.path = path

    def connect(self) -> None:
        self.sock = sockets.socket(sockets.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def stat(socket: str | None = None, url: str | None = None) -> Json:
    """What a device being served tells of itself: one at a unix socket, or at a URL of its
    `--metrics`."""
    where = url if socket is None else socket
    try:
        if socket is not None:
            connection: http.client.HTTPConnection = _Unix(f"{socket}.stat")
        else:
            parts = urlsplit(str(url))
            connection = http.client.HTTPConnection(parts.netloc or parts.path, timeout=10)
        connection.request("GET", "/status")
        response = connection.getresponse()
        found: Json = json.loads(response.read())
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise GordonError(
            f"no device tells of itself at {where}: {why}", "`gordon block serve` it first"
        ) from None
    return found


def check(image: str) -> Json:
    """Looks at all of an image that is not being served: `clean`, `errors` and counts."""
    report: Json = json.loads(_core.block_check(image))
    return report


def repair(image: str) -> Json:
    """Makes a damaged image servable again, and accepts what that loses.

    `unproven_ranges`: bytes that have the newest version that was found, which may not be the last;
    `zeroed_ranges`: bytes that could not be read; `before`, `after`: what [`check`] finds. Raises
    GordonError.
    """
    repaired: Json = json.loads(_core.block_repair(image))
    return repaired


def export(image: str, out: str, progress: Callable[[int, int], None] | None = None) -> Json:
    """Copies what can be read of an image, however damaged, to the raw file `out`, and writes a map
    of the rest to `out`.map in the format of GNU ddrescue. Returns `bytes`, `bad_bytes`,
    `bad_ranges`, `map`. Raises GordonError.
    """
    exported: Json = json.loads(_core.block_export(image, out, progress))
    return exported


def wear(image: str) -> Json:
    """How often each block was erased, and what is left."""
    report: Json = json.loads(_core.block_wear(image))
    return report
