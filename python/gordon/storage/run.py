"""Characterises storage: bandwidth, IOPS and latencies per pattern, queue depth and size."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from dataclasses import fields as fields_of
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path as File
from typing import ClassVar, Unpack

from gordon import __version__, _core, fields
from gordon.disk.device import array
from gordon.errors import GordonError
from gordon.options import Device, Path, Progress, dealt, keywords, several
from gordon.options.devices import (
    STORAGE_PATTERNS,
    RealStorage,
    SimulatedStorage,
    StorageLoad,
)
from gordon.options.explicit import explicit
from gordon.parts import unknown
from gordon.reports.storage import MeasuredStorage
from gordon.reports.storage import SimulatedStorage as Simulated
from gordon.sizes import doubling
from gordon.storage import device as devices
from gordon.storage.point import Point, series
from gordon.untyped import Config


class Result(fields.StorageResult):
    """A characterisation."""

    ROWS: ClassVar = "points"

    def point(self, pattern: str, size: str | int, depth: int) -> Point:
        """The point of a pattern (`random-read`), a size (`4KiB` or bytes) and a queue depth.

        Raises GordonError if it was not measured.
        """
        size_bytes = _core.parse_bytes(size) if isinstance(size, str) else size
        for point in self["points"]:
            if (series(point), point["size_bytes"]) == ((pattern, depth), size_bytes):
                return point.copy()
        raise GordonError(
            f"there is no point for {pattern}, size {size}, queue depth {depth}",
            "one of the patterns, sizes and depths that were measured",
            kind="unknown-point",
        )

    def plot(self, path: str | PathLike[str]) -> None:
        """Draws bandwidth against transfer size into a .png, .svg or .pdf file."""
        from gordon.storage.plot import draw

        draw(self.report, fspath(path))

    def says(self) -> str:
        word = self["kind"].partition(":")[0]
        return f"{self['storage']}, {len(self['points'])} points, {word}"


def is_kept(target: Path, write: bool) -> bool:
    """Whether the target is only read: not a directory, and `write` was not given."""
    return not File(target).is_dir() and not write


@explicit(StorageLoad, RealStorage, SimulatedStorage)
def characterise(
    target: Path | None = None,
    *,
    preset: Device | None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.Characterise],
) -> Result:
    """Measures bandwidth, IOPS and latencies for each pattern, queue depth and size.

    Exactly one of `target` and `preset` is given. `target` is a file, a block device, or a
    directory, in which a scratch file is made and removed. `preset` is a simulated disk or flash
    device: the name of a preset, a TOML file, or the content of such a file. Some options are for
    real storage only, and some for simulated storage. `progress` is called with the numbers of
    points (done, total). Raises GordonError.
    """
    if (target is None) == (preset is None):
        raise GordonError(
            "exactly one storage is needed",
            "give either a path, or --preset NAME for simulated storage",
            kind="one-storage",
        )
    real, simulated = RealStorage, SimulatedStorage
    how, other = (real, simulated) if preset is None else (simulated, real)
    for name in options:
        if name in {field.name for field in fields_of(other)}:
            option = name.replace("_", "-")
            here, there = ("real", "simulated") if preset is None else ("simulated", "real")
            raise GordonError(
                f"--{option} applies to {there} storage, not to {here} storage",
                f"leave out --{option}",
                kind="other-storage-only",
            )
    load, rest = dealt({**options}, StorageLoad, how)
    if target is not None:
        return _measured(target, load, rest, progress)
    assert preset is not None
    return _modelled(preset, load, rest, progress)


def _measured(
    target: Path, load: StorageLoad, how: RealStorage, progress: Progress | None
) -> Result:
    if not 0 < how.seconds < 86400:
        raise GordonError(
            f"--seconds {how.seconds}: not between 0 and 86400", "--seconds 0.5", kind="bad-number"
        )
    kept = is_kept(target, how.write)
    points = _points(load, [p for p in STORAGE_PATTERNS if not (kept and p.endswith("write"))])
    time_ns = round(how.seconds * 1e9)
    config = {
        "path": fspath(target),
        "write": how.write,
        "span": load.span,
        "points": points,
        "time": f"{time_ns}ns",
        "warm_up": f"{time_ns // 5}ns",
        "bytes": load.bytes or "4GiB",
        "seed": load.seed,
    }
    began = datetime.now(UTC).isoformat(timespec="seconds")
    report: MeasuredStorage = json.loads(_core.io_characterise(json.dumps(config), progress))
    warnings = []
    if kept:
        warnings.append(
            f"{fspath(target)} was only read; --write also measures writes, and destroys the data"
        )
    if report["target"]["sparse"]:
        warnings.append(
            f"{fspath(target)} is sparse or compressed: some reads may not reach the disk"
        )
    return Result(
        {
            "kind": "measured: every value was timed on this machine",
            "storage": fspath(target),
            **report,
            "warnings": warnings,
            "provenance": {
                "version": __version__,
                "seed": load.seed,
                "config": config,
                "time": began,
            },
        }
    )


def _modelled(
    device: Device, load: StorageLoad, how: SimulatedStorage, progress: Progress | None
) -> Result:
    name, made = devices.config(device, how)
    stripe = array(how.stripe, how.stripe_unit, how.copies, how.bus_rate, how.coalesce)
    config = {
        "device": made,
        "stripe": stripe,
        "span": load.span,
        "points": _points(load, STORAGE_PATTERNS),
        "bytes": load.bytes or "256MiB",
        "requests": 20_000,
        "seed": load.seed,
    }
    report: Simulated = json.loads(_core.device_characterise(json.dumps(config), progress))
    return Result(
        {
            "kind": "modelled: every value comes from the simulated device",
            "storage": f"{stripe['disks']} x {name}" if stripe and stripe["disks"] > 1 else name,
            **report,
            "warnings": [],
            "provenance": {"version": __version__, "seed": load.seed, "config": config},
        }
    )


def _points(load: StorageLoad, may: Sequence[str]) -> list[Config]:
    """One for each pattern, depth and size, in that order."""
    chosen = asdict(load)
    patterns = may if load.patterns is None else several(load.patterns)
    for pattern in patterns:
        if pattern not in STORAGE_PATTERNS:
            raise unknown("pattern", pattern, list(STORAGE_PATTERNS))
    for name in ("patterns", "depths", "sizes"):
        if chosen[name] is not None and len(chosen[name]) == 0:
            raise GordonError(
                f"the list of {name} is empty",
                f"leave out {name} for the default",
                kind="empty-list",
            )
    points = []
    for name in patterns:
        pattern, _, op = name.partition("-")
        for depth in load.depths:
            for size in doubling(load.sizes, "--sizes"):
                point = {"pattern": pattern, "op": op, "size": f"{size}B", "depth": depth}
                points.append(point)
    return points
