"""Block devices over NBD: flash images, and plain files with the timing of disks.

    from gordon import block
    block.create("flash.img", "gordon-slc-256g", capacity="8GB")
    block.serve("flash.img", sockets=["nbd.sock"])

An image holds the raw pages of simulated NAND under the flash translation layer; flushed data
survive a power cut. A plain file is served with simulated response times and holds the data itself.
A failure raises `gordon.GordonError`.
"""

import http.client
import json
from collections.abc import Callable, Sequence
from http import HTTPStatus
from os import fspath
from urllib.parse import urlsplit

from gordon import _core, settings
from gordon.block import part
from gordon.block.result import (
    CheckResult,
    CreateResult,
    ExportResult,
    RepairResult,
    StatusResult,
    WearResult,
)
from gordon.errors import GordonError
from gordon.flash import device as flash_device
from gordon.options import Path, Progress, Settings, Size, in_bytes, several
from gordon.presets import Config, Device
from gordon.reports.block import BlockStatus, Ready
from gordon.unix_http import UnixConnection

__all__ = [
    "CheckResult",
    "CreateResult",
    "ExportResult",
    "RepairResult",
    "StatusResult",
    "WearResult",
    "check",
    "create",
    "export",
    "repair",
    "serve",
    "stat",
    "wear",
]

#: Time to wait for the status of a device.
_PATIENCE_S = 10.0

FAULTS = (
    "program_failures",
    "erase_failures",
    "bit_errors",
    "bit_error_growth",
    "codeword",
    "correctable",
)


def create(
    image: Path,
    device: Device = flash_device.DEFAULT,
    *,
    capacity: Size | None = None,
    set: Settings = (),
    super_page: Size | None = None,
    write_points: int | None = None,
    faults: Settings = (),
    fill: str | None = None,
    seed: int = 1,
) -> CreateResult:
    """Creates the image of an erased flash array in a new file; returns its properties.

    `capacity` is the exported size (`8GB`); it sets the blocks of each plane. `faults` are
    rates by their names, or texts KEY=VALUE. With `fill="metadata"` every block is closed and has
    its summary, but no data. Raises GordonError.
    """
    if capacity is not None:
        set = [*settings.listed(set), f"capacity={in_bytes(capacity, '--capacity')}"]
    # An image gets more blocks where the layer needs them.
    made = flash_device.changed(
        device, set, in_bytes(super_page, "--super-page"), write_points, check=False
    )
    _keep_own_buffer(made, device, set)
    config = {
        "path": fspath(image),
        "name": flash_device.name(device),
        "device": made,
        "seed": seed,
        "faults": _faults(faults),
        "fill": fill == "metadata",
    }
    return CreateResult(json.loads(_core.block_create(json.dumps(config))))


def _keep_own_buffer(made: Config, device: Device, set: Settings) -> None:
    """Leaves the write buffer of a simulated drive out of an image, which has one of its own: it is
    volatile, and as large as a preset's only if it was set. Raises GordonError for settings that an
    image cannot have."""
    keys = {setting.partition("=")[0].strip() for setting in settings.listed(set)}
    for key in ("ftl.protected", "ftl.drain"):
        if key in keys:
            raise GordonError(
                f"{key}: an image has a volatile write buffer, which it writes out at full speed",
                f"leave out {key}",
                kind="bad-value",
            )
        made["ftl"].pop(key.removeprefix("ftl."), None)
    if "ftl.write_buffer" not in keys and device in flash_device.names():
        made["ftl"].pop("write_buffer", None)


def _faults(given: Settings) -> dict[str, float] | None:
    faults: dict[str, float] = {}
    for setting in settings.listed(given):
        key, equals, value = setting.partition("=")
        if not equals or key not in FAULTS:
            raise GordonError(
                f"--fault {setting}: not KEY=VALUE with a known key",
                f"one of the keys {', '.join(FAULTS)}, as in bit_errors=1e-6",
                kind="bad-fault",
            )
        try:
            whole = key in ("codeword", "correctable")
            faults[key] = int(value) if whole else float(value)
        except ValueError:
            raise GordonError(
                f"--fault {setting}: `{value}` is not a number", f"{key}=1e-6", kind="bad-fault"
            ) from None
    return faults or None


def serve(
    image: Path,
    *,
    sockets: Sequence[str] = (),
    listen: Sequence[str] = (),
    export: str = "",
    read_only: bool = False,
    salvage: bool = False,
    timing: str = "full",
    preset: Device | None = None,
    set: Settings = (),
    diskspecs: str | None = None,
    stripe: int | None = None,
    stripe_unit: Size | None = None,
    copies: int | None = None,
    bus_rate: Size | None = None,
    coalesce: Size | None = None,
    scheduler: str | None = None,
    backend: str = "file",
    tls_certificate: str | None = None,
    tls_key: str | None = None,
    tls_clients: str | None = None,
    insecure: bool = False,
    metrics: Sequence[str] = (),
    clients: int | None = None,
    ready: Callable[[Ready], None] = lambda _: None,
) -> StatusResult:
    """Serves an image over NBD until a signal handler raises; returns the last status.

    `ready` is called with the addresses once clients can connect. `salvage` serves a damaged image
    read-only: data that cannot be proved to be current is an I/O error. With a `preset` of a disk,
    or `diskspecs`, a plain file is served, with the timing of one disk or of `stripe` disks.
    `timing` is `full` for full speed or `real` for the speed of the simulated device. Raises
    GordonError.
    """
    array = {
        "stripe": stripe,
        "stripe_unit": in_bytes(stripe_unit, "--stripe-unit"),
        "copies": copies,
        "bus_rate": in_bytes(bus_rate),
        "coalesce": in_bytes(coalesce, "--coalesce"),
    }
    disk = part.disks(preset, diskspecs, settings.listed(set), scheduler, array)
    if disk is not None and backend == "direct":
        raise GordonError(
            "--backend direct applies to flash images only, not to a disk",
            "leave out --backend",
            kind="flash-only",
        )
    if disk is not None and salvage:
        raise GordonError(
            "--salvage applies to flash images only, not to a disk",
            "leave out --salvage",
            kind="flash-only",
        )
    if salvage and timing == "real":
        raise GordonError(
            "--salvage and --timing real exclude each other: a damaged image is not timed",
            "leave out --timing real",
            kind="exclusive-options",
        )
    device = None
    if disk is None:
        device = part.flash(fspath(image), preset, settings.listed(set), must=timing == "real")
    config = {
        "path": fspath(image),
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
    announce = lambda where: ready(json.loads(where))  # noqa: E731
    return StatusResult(json.loads(_core.block_serve(json.dumps(config), announce)))


def stat(socket: str | None = None, url: str | None = None) -> StatusResult:
    """The status of a served device, read from its Unix socket or from the URL of `--metrics`.

    Keys are in snake_case and carry their units. Raises GordonError if no device answers.
    """
    if (socket is None) == (url is None):
        raise GordonError(
            "a served device has a socket or a URL, and exactly one of them is to be given",
            "socket='flash.sock', or url='http://localhost:9000'",
            kind="exclusive-options",
        )
    where = url if socket is None else socket
    try:
        if socket is not None:
            connection: http.client.HTTPConnection = UnixConnection(f"{socket}.stat", _PATIENCE_S)
        else:
            parts = urlsplit(str(url))
            address = parts.netloc or parts.path
            connection = http.client.HTTPConnection(address, timeout=_PATIENCE_S)
        connection.request("GET", "/status")
        response = connection.getresponse()
        body = response.read()
        if response.status != HTTPStatus.OK:
            raise ValueError(f"{response.status} {response.reason}")
        found: BlockStatus = json.loads(body)
        if not isinstance(found, dict) or "kind" not in found:
            raise ValueError("the answer is not of a served device")
    except (OSError, http.client.HTTPException, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise GordonError(
            f"cannot read the status of a device at {where}: {why}",
            "start `gordon block serve` with this --socket, or with --metrics for a URL",
            kind="not-served",
        ) from None
    return StatusResult(found)


def check(image: Path) -> CheckResult:
    """Checks an image that is not being served; returns `clean`, `errors` and counts.

    The image is not changed. Damage is a result, not an error. Raises GordonError if the image is
    in use or cannot be read.
    """
    return CheckResult(json.loads(_core.block_check(fspath(image))))


def repair(image: Path) -> RepairResult:
    """Makes a damaged image servable again and accepts the loss of data.

    Returns `unproven_ranges`, bytes whose newest version found may not be the last one written;
    `zeroed_ranges`, bytes that could not be read and are now zeros; and `before` and `after`, the
    reports of `check`. Raises GordonError.
    """
    return RepairResult(json.loads(_core.block_repair(fspath(image))))


def export(image: Path, out: Path, progress: Progress | None = None) -> ExportResult:
    """Copies the readable data of an image, damaged or not, to the raw file `out`.

    The file `out`.map lists the missing ranges in the format of GNU ddrescue. Returns `bytes`,
    `bad_bytes`, `bad_ranges` and `map`. `progress` is called with (done, total). Raises
    GordonError.
    """
    return ExportResult(json.loads(_core.block_export(fspath(image), fspath(out), progress)))


def wear(image: Path) -> WearResult:
    """The number of erases of each block, and the remaining endurance. Raises GordonError."""
    return WearResult(json.loads(_core.block_wear(fspath(image))))


def __dir__() -> list[str]:
    return __all__
