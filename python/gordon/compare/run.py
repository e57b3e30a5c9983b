"""Runs a trace on devices of all kinds."""

import json
from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path as File
from typing import Unpack

from gordon import _core
from gordon.compare.result import Estimate, Result
from gordon.disk.run import DISK
from gordon.disk.run import Options as DiskOptions
from gordon.errors import GordonError
from gordon.flash.run import FLASH
from gordon.flash.run import Options as FlashOptions
from gordon.options import Device, Path, Progress, dealt, keywords
from gordon.options.devices import Preconditioned
from gordon.options.explicit import explicit
from gordon.options.loads import Host, TraceLoad
from gordon.reports.storage import MeasuredTimes
from gordon.results import DeviceRun, Run
from gordon.runs import as_json, check_names
from gordon.simulated import is_disk
from gordon.storage import saved
from gordon.untyped import Config


@explicit(TraceLoad, Preconditioned, Host, without=["requests_out"])
def run(
    trace: Path,
    devices: Sequence[Device],
    *,
    progress: Progress | None = None,
    **options: Unpack[keywords.Compare],
) -> Result:
    """Runs a block trace on each of the devices.

    A device is a preset of flash or of a disk, a TOML file or its content, or a result of
    `gordon storage characterise --json`, a file that ends in `.json`. `precondition` is the
    fraction of flash that is mapped before the run. `progress` is called with the numbers of
    requests (done, total). Raises GordonError.
    """
    load, state, host = dealt({**options}, TraceLoad, Preconditioned, Host)
    if host.requests_out is not None:
        raise GordonError(
            "a comparison cannot write requests_out, the file of a single run",
            "run `gordon flash replay` or `gordon disk replay` for each device",
            kind="file-of-one-run",
        )
    about = load.config(trace)
    flash = FlashOptions(**vars(host), precondition=state.precondition)
    disk = DiskOptions(**vars(host))
    # A single name is one device, not one for each of its letters.
    devices = [devices] if isinstance(devices, str | PathLike) else list(devices)
    kinds = [_kind(device) for device in devices]
    of_kind = {"flash": flash.name, "disk": disk.name, "measured": _stem}
    names = [of_kind[kind](device) for kind, device in zip(kinds, devices, strict=True)]
    check_names(names)
    if state.precondition is not None and "flash" not in kinds:
        raise GordonError(
            "--precondition applies to flash, and none of the devices is flash",
            "leave out --precondition",
            kind="flash-only",
        )

    def of(kind: str) -> list[Device]:
        return [device for device, its in zip(devices, kinds, strict=True) if its == kind]

    try:
        ran: list[Run[DeviceRun] | Estimate] = [
            *(_estimate(device, about, host, progress) for device in of("measured")),
            *FLASH.run_all(about, flash, of("flash"), progress),
            *DISK.run_all(about, disk, of("disk"), progress),
        ]
    except GordonError as error:
        raise _with_hint(error) from None
    found = {one.name: one for one in ran}
    return Result(fspath(trace), host.seed, [found[name] for name in names])


def _kind(device: Device) -> str:
    """Whether a device is flash, a disk, or measured. Raises GordonError."""
    if not isinstance(device, dict) and fspath(device).endswith(".json"):
        return "measured"
    return "disk" if is_disk(device) else "flash"


def _stem(device: Device) -> str:
    assert not isinstance(device, dict)
    return File(fspath(device)).stem


def _estimate(device: Device, load: Config, host: Host, progress: Progress | None) -> Estimate:
    """The time on measured storage."""
    assert not isinstance(device, dict)
    file = fspath(device)
    storage = saved.read(file, "a device of the comparison", may_be_modelled=False)
    report: MeasuredTimes = json.loads(
        _core.measured_times(
            as_json(storage), file, as_json(host.host()), as_json(load["trace"]), progress
        )
    )
    return Estimate(_stem(device), report)


def _with_hint(error: GordonError) -> GordonError:
    """An error with another hint, if its own names an option that a comparison does not have."""
    if "--set capacity" not in error.hint:
        return error
    try_instead = "larger devices, or --fit wrap, which takes addresses modulo the capacity"
    return GordonError(error.message, try_instead, kind=error.kind)
