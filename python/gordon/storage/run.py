"""From options to points, and what they come to."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from os import PathLike, fspath
from pathlib import Path as File
from typing import Any

from gordon import __version__, _core
from gordon.disk.device import array
from gordon.options import Path, Progress, dealt
from gordon.parts import unknown
from gordon.presets import Device
from gordon.sizes import doubling
from gordon.storage import device as devices

#: Pattern and operation, by name; reads come first, so that no cache of writes is in their way.
PATTERNS = ("sequential-read", "random-read", "sequential-write", "random-write")
SIZES = "4KiB..64MiB"
DEPTHS = (1, 32)


@dataclass(frozen=True, kw_only=True)
class Load:
    """What is asked of any storage. Sizes are text (`64KiB`)."""

    sizes: str | Sequence[str] = SIZES
    """Transfer sizes: the powers of two from one to another, or those that are listed."""
    depths: Sequence[int] = DEPTHS
    """Requests outstanding."""
    patterns: Sequence[str] | None = None
    """Some of `PATTERNS`; without it, all that may be done."""
    span: str | None = None
    """Bytes that requests go to, from the first on."""
    bytes: str | None = None
    """The most bytes of a point, as far as its queue is filled; 4 GiB of real storage, 256 MiB of
    simulated."""
    seed: int = 1
    """Of random places."""


@dataclass(frozen=True, kw_only=True)
class Real:
    """What is told of real storage."""

    write: bool = False
    """What exists may be written to, and is lost."""
    seconds: float = 0.5
    """Of each point, after a fifth of that to warm up."""


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """What is told of simulated storage."""

    set_values: Sequence[str] = ()
    """`KEY=VALUE` each: any value of the device."""
    stripe: int | None = None
    """Stripe over N devices (RAID-0)."""
    stripe_unit: str | None = None
    """Stripe unit, as `64KiB`; 64 KiB unless given."""
    copies: int | None = None
    """Disks: mirror each stripe member on N disks."""
    bus_rate: str | None = None
    """Disks: bytes per second of the bus or host adapter that they share."""
    coalesce: str | None = None
    """Disks: merge queued requests with adjacent ones, up to this size."""
    scheduler: str | None = None
    """Disks: which request comes next, where several wait."""
    precondition: float | None = None
    """Flash: part of the capacity that is mapped before, in the steady state of random
    overwrites."""


class Result:
    """`report` is what was measured, or modelled: keys are in snake_case and carry their units."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.report = report

    def point(self, pattern: str, size: str | int, depth: int) -> dict[str, Any]:
        """One of the points, by its pattern (`random-read`), size (`4KiB`) and depth."""
        size_bytes = _core.parse_bytes(size) if isinstance(size, str) else size
        for point in self.report["points"]:
            if (series(point), point["size_bytes"]) == ((pattern, depth), size_bytes):
                return dict(point)
        raise _core.GordonError(f"no point {pattern} of {size} at depth {depth}", "what was asked")

    def plot(self, path: str | PathLike[str]) -> None:
        """Draws bandwidth against size into a .png, .svg or .pdf."""
        from gordon.storage.plot import draw

        draw(self.report, fspath(path))

    def __repr__(self) -> str:
        word = self.report["kind"].partition(":")[0]
        return (
            f"<gordon.storage.Result {self.report['storage']}: "
            f"{len(self.report['points'])} points, {word}>"
        )


def series(point: dict[str, Any]) -> tuple[str, int]:
    """The line that a point is on: pattern and depth."""
    return f"{point['pattern']}-{point['op']}", point["queue_depth"]


def is_kept(target: Path, write: bool) -> bool:
    """Whether the target is only read: it is no directory, and was not released for writing."""
    return not File(target).is_dir() and not write


def characterise(
    target: Path | None = None,
    *,
    preset: Device | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> Result:
    """Bandwidth, requests a second and latencies for each pattern, depth and size.

    Either of `target`, a file, a block device, or a directory (a scratch file is made there, and
    removed), or of `preset`, a simulated disk or flash device: its name, a TOML file, or its
    content. Options are those of `Load`, and of `Real` or `Simulated`. `progress` is called with
    (done, total).
    """
    if (target is None) == (preset is None):
        raise _core.GordonError(
            "one storage at a time", "a path, or --preset NAME for simulated storage"
        )
    how, other = (Real, Simulated) if preset is None else (Simulated, Real)
    for name in options:
        if name in {field.name for field in fields(other)}:
            option = "set" if name == "set_values" else name.replace("_", "-")
            here, there = ("real", "simulated") if preset is None else ("simulated", "real")
            raise _core.GordonError(f"--{option} is of {there} storage, not of {here}", "without")
    load, rest = dealt(options, Load, how)
    if target is not None:
        return _measured(target, load, rest, progress)
    assert preset is not None
    return _modelled(preset, load, rest, progress)


def _measured(target: Path, load: Load, how: Real, progress: Progress | None) -> Result:
    if not 0 < how.seconds < 86400:
        raise _core.GordonError(f"{how.seconds} seconds for each point", "0.5")
    kept = is_kept(target, how.write)
    points = _points(load, [p for p in PATTERNS if not (kept and p.endswith("write"))])
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
    told = json.loads(_core.io_characterise(json.dumps(config), progress))
    warnings = []
    if kept:
        warnings.append(f"{fspath(target)} was only read: writes destroy what is there (--write)")
    if told["target"]["sparse"]:
        warnings.append(
            f"{fspath(target)} has holes or is kept compressed: reads of it may not reach the disk"
        )
    return _result(
        "measured: every value was timed on this machine",
        fspath(target),
        told | {"warnings": warnings},
        {"seed": load.seed, "config": config, "time": began},
    )


def _modelled(device: Device, load: Load, how: Simulated, progress: Progress | None) -> Result:
    name, made = devices.config(device, how)
    stripe = array(how.stripe, how.stripe_unit, how.copies, how.bus_rate, how.coalesce)
    config = {
        "device": made,
        "stripe": stripe,
        "span": load.span,
        "points": _points(load, PATTERNS),
        "bytes": load.bytes or "256MiB",
        "requests": 20_000,
        "seed": load.seed,
    }
    told = json.loads(_core.device_characterise(json.dumps(config), progress))
    return _result(
        "modelled: every value comes from the simulated device",
        f"{stripe['disks']} times {name}" if stripe and stripe["disks"] > 1 else name,
        told | {"warnings": []},
        # No time: the same seed gives the same bytes.
        {"seed": load.seed, "config": config},
    )


def _result(kind: str, storage: str, told: dict[str, Any], source: dict[str, Any]) -> Result:
    provenance = {"version": __version__} | source
    return Result({"kind": kind, "storage": storage} | told | {"provenance": provenance})


def _points(load: Load, may: Sequence[str]) -> list[dict[str, Any]]:
    """One for each pattern, depth and size, in that order."""
    asked = asdict(load)
    patterns = may if load.patterns is None else load.patterns
    for pattern in patterns:
        if pattern not in PATTERNS:
            raise unknown("pattern", pattern, list(PATTERNS))
    for name in ("patterns", "depths", "sizes"):
        if asked[name] is not None and len(asked[name]) == 0:
            raise _core.GordonError(f"no {name} to ask for", "leave it out for the default")
    points = []
    for name in patterns:
        pattern, _, op = name.partition("-")
        for depth in load.depths:
            for size in doubling(load.sizes, "--sizes"):
                point = {"pattern": pattern, "op": op, "size": f"{size}B", "depth": depth}
                points.append(point)
    return points
