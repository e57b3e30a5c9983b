"""Builds the config of a disk from the extracted parameters, and measures the goodness of fit."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gordon import _core
from gordon.arrays import np
from gordon.disk.fit.arm import Least
from gordon.disk.fit.asking import Floats
from gordon.disk.fit.extract import Found
from gordon.disk.fit.report import Goodness, Parameters
from gordon.untyped import Config

# Bytes of a sector of ours.
SECTOR = 512
# A curve of three times is taken where it is as close to the seeks as this, else their table.
CLOSE = 0.03


@dataclass(frozen=True)
class Curve:
    """a + b sqrt(d) + c d through the seeks, in nanoseconds; `off` is the weighted mean distance,
    relative."""

    a: float
    b: float
    c: float
    off: float

    def time(self, distance: Floats | float) -> Floats:
        return np.asarray(self.a + self.b * np.sqrt(distance) + self.c * np.asarray(distance))

    def three(self, cylinders: int) -> dict[str, float]:
        """The three seek times of data sheets, for a disk with this number of cylinders."""
        distances = np.arange(1, cylinders, dtype=np.float64)
        pairs = cylinders - distances
        return {
            "track_to_track": float(self.time(1)),
            "average": float((pairs * self.time(distances)).sum() / pairs.sum()),
            "full_stroke": float(self.time(cylinders - 1)),
        }


def curve(seeks: list[tuple[int, Least]]) -> Curve:
    """Least squares, each seek by how well it is known."""
    distances = np.array([distance for distance, _ in seeks], dtype=np.float64)
    times = np.array([seek.time for _, seek in seeks])
    weight = 1 / (np.array([seek.within for _, seek in seeks]) + 0.005 * times + 1e3)
    terms = np.stack([np.ones_like(distances), np.sqrt(distances), distances], axis=1)
    a, b, c = np.linalg.lstsq(terms * weight[:, None], times * weight, rcond=None)[0]
    off = np.abs(terms @ [a, b, c] - times) / np.maximum(times, 1.0)
    return Curve(float(a), float(b), float(c), float(np.average(off, weights=weight)))


@dataclass(frozen=True)
class Model:
    """A disk as `gordon disk` takes it."""

    config: Config
    curve: Curve
    """The seek curve of reads."""
    parameters: Parameters
    """The parameters for reports, with units in their keys."""


def model(found: Found, like: Config, like_name: str, origin: str, sector: int = SECTOR) -> Model:
    """The model of the disk. Parameters that times of single reads do not show are those of `like`.
    `sector` is the sector size of the probed disk in bytes; the config has sectors of 512."""
    unit = sector // SECTOR

    def measured(value: Any, how: str = "") -> Config:
        return {"value": value, "source": f"times of {origin}{how}"}

    def inferred(value: Any, why: str) -> Config:
        return {"value": value, "assumed": why}

    def borrowed(field: Any) -> Config:
        value = field["value"] if isinstance(field, dict) else field
        return inferred(value, f"cannot be inferred from times: that of {like_name}")

    inner, heads = found.cylinder, found.cylinder.heads
    table = _zones(found, unit)
    total = sum(zone["cylinders"] for zone in table)

    through = curve(found.arm.seeks)
    read, first = _seek(found.arm.seeks, through, total, measured)
    # A microsecond each for rounding: a skew is never less than what a write needs to go on.
    track_skew, cylinder_skew = inner.track_skew, max(inner.cylinder_skew, first + 1e3)
    switch = found.arm.head_switch
    switch_time = min(switch.time if switch else first, track_skew - 1e3)
    written = found.writes
    write: Config
    if written is None:
        settle = min(track_skew - switch_time, cylinder_skew - max(first, switch_time)) - 1e3
        why = "the longest settle time that the skews allow: reads do not show that of writes"
        write = {"write_settle_ms": inferred(round(max(0.0, settle) / 1e6, 4), why)}
    else:
        times, longer = _seek(written.seeks, curve(written.seeks), total, measured, least=first)
        track_skew = max(track_skew, switch_time + longer - first + 1e3)
        cylinder_skew = max(cylinder_skew, longer + 1e3, switch_time + longer - first + 1e3)
        write = {"write": times}
    memory = found.memory
    ahead = memory.read_ahead * sector if memory else 0
    reads = memory.segments * memory.segment * sector if memory else SECTOR
    rate = memory.sectors_a_second * sector if memory else 300e6
    cache = written.cache if written else None
    kept = cache.sectors * sector if cache and cache.sectors else None
    heads_of = (
        measured(heads)
        if inner.known
        else inferred(1, "cylinders cannot be inferred from times: each track counts as a cylinder")
    )
    config = {
        "summary": f"disk fitted to {origin}",
        "geometry": {
            "sectors": measured(found.sectors * unit),
            "heads": heads_of,
            "rpm": measured(round(60e9 / found.spindle.revolution)),
            "track_skew": measured(_time(track_skew)),
            "cylinder_skew": measured(_time(cylinder_skew)),
            "zones": {"table": table},
        },
        "seek": {
            "head_switch": measured(_time(switch_time))
            if switch
            else inferred(_time(switch_time), "one head: there is no head switch"),
            "read": read,
            **write,
        },
        "interface": {
            "rate_per_s": measured(f"{rate / 1e6:.4g}MB")
            if memory
            else inferred("300MB", "no read was served from memory"),
            "overhead": measured(_time(memory.overhead if memory else 0.0)),
            "queue_depth": borrowed(like["interface"]["queue_depth"]),
        },
        "cache": {
            "size": measured(_size(reads + kept))
            if kept
            else inferred(
                _size(2 * reads), "the read cache that was seen, and as much again for writes"
            ),
            "write_limit": measured(_size(kept))
            if kept
            else inferred(_size(reads), "unknown, so as much as for reads"),
            **({"write_through": True} if written and not cache else {}),
            "write_extents": measured(cache.pieces)
            if cache and cache.pieces
            else borrowed(like["cache"]["write_extents"]),
            "segments": measured(memory.segments if memory else 1),
            "read_ahead": measured(_size(ahead)),
            "destage": borrowed(like["cache"]["destage"]),
        },
        "scheduler": {"ageing": borrowed(like["scheduler"].get("ageing", 0.0))},
        "power": {state: borrowed(like["power"][state]) for state in ("idle", "read", "write")},
    }
    return Model(config, through, _parameters(found, through, total, sector))


def _zones(found: Found, unit: int) -> list[dict[str, int]]:
    """Zones of whole cylinders; the last has what is left."""
    heads = found.cylinder.heads
    table, held = [], 0
    for zone in found.zones:
        size = round(zone.per_track * unit) * heads
        left = (found.sectors if zone is found.zones[-1] else zone.end) * unit - held
        cylinders = -(-left // size) if zone is found.zones[-1] else round(left / size)
        table.append({"cylinders": cylinders, "sectors_per_track": size // heads})
        held += cylinders * size
    return table


def _parameters(found: Found, through: Curve, cylinders: int, sector: int) -> Parameters:
    """The parameters of a disk with this number of cylinders, for reports."""
    unit, memory, written = sector // SECTOR, found.memory, found.writes
    switch = found.arm.head_switch
    cache = written.cache if written else None
    return {
        "sectors": found.sectors * unit,
        "revolution_ms": found.spindle.revolution / 1e6,
        "rpm": round(60e9 / found.spindle.revolution),
        "heads": found.cylinder.heads if found.cylinder.known else None,
        "zones": [
            {"first_sector": zone.first * unit, "sectors_per_track": round(zone.per_track * unit)}
            for zone in found.zones
        ],
        "cylinders": cylinders,
        "track_skew_ms": found.cylinder.track_skew / 1e6,
        "cylinder_skew_ms": found.cylinder.cylinder_skew / 1e6,
        "head_switch_ms": switch.time / 1e6 if switch else None,
        "seek_ms": {name: time / 1e6 for name, time in through.three(cylinders).items()},
        "seek_curve_off": through.off,
        "seeks": [
            {"cylinders": d, "ms": seek.time / 1e6, "within_ms": seek.within / 1e6}
            for d, seek in found.arm.seeks
        ],
        "overhead_us": memory.overhead / 1e3 if memory else None,
        "interface_mb_s": memory.sectors_a_second * sector / 1e6 if memory else None,
        "read_cache": None
        if memory is None
        else {
            "segments": memory.segments,
            "segment_bytes": memory.segment * sector,
            "read_ahead_bytes": memory.read_ahead * sector,
            "bytes": memory.segments * memory.segment * sector,
        },
        "writes": None
        if written is None
        else {
            "through": cache is None,
            "seek_ms": {
                name: time / 1e6 for name, time in curve(written.seeks).three(cylinders).items()
            },
            "cache_bytes": None
            if cache is None or cache.sectors is None
            else cache.sectors * sector,
            "extents": None if cache is None else cache.pieces,
        },
    }


def _seek(
    seeks: list[tuple[int, Least]],
    through: Curve,
    cylinders: int,
    measured: Callable[[Any, str], Config],
    least: float = 0.0,
) -> tuple[Config, float]:
    """The config of a seek curve, and its time over one cylinder: three times where the curve
    through them is close to all, else the table. None is shorter than `least`."""
    three = through.three(cylinders)
    rising = bool(np.all(np.diff(through.time(np.arange(1, cylinders, dtype=np.float64))) >= 0))
    if through.off < CLOSE and rising and three["track_to_track"] > 0:
        note = f"; within {through.off:.1%} of {len(seeks)} distances"
        three["track_to_track"] = max(three["track_to_track"], least)
        return {k: measured(_time(v), note) for k, v in three.items()}, three["track_to_track"]
    table = [[distance, _time(max(seek.time, least))] for distance, seek in seeks]
    return {"table": table}, max(seeks[0][1].time, least)


def _time(nanoseconds: float) -> str:
    return f"{round(nanoseconds) / 1e6:.6f}".rstrip("0").rstrip(".") + "ms"


def _size(count: int) -> str:
    for factor, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if count % factor == 0:
            return f"{count // factor}{name}"
    return f"{count}B"


def goodness(found: Found, config: Config, sector: int = SECTOR) -> Goodness:
    """The distance between the response times of the probed and of the fitted disk, for the random
    reads at the end of the probes.

    The demerit is the RMS distance of the two distributions (Ruemmler and Wilkes, IEEE Computer
    27(3), 1994): both in order, and the differences in pairs.
    """
    prober = _core.DiskProber(json.dumps({"device": {"config": config}}))
    fitted = np.array(prober.probe(found.check.batch.columns(sector)), dtype=np.float64)
    theirs, ours = np.sort(found.check.times.took), np.sort(fitted[:, 1] - fitted[:, 0])
    demerit = float(np.sqrt(np.mean((theirs - ours) ** 2)))
    # Angles are not the unknown disk's: so far two runs of one disk would be apart.
    halves = np.sort(found.check.times.took[::2]) - np.sort(found.check.times.took[1::2])
    return {
        "reads": len(theirs),
        "demerit_ms": demerit / 1e6,
        "demerit_of_mean": demerit / float(theirs.mean()),
        "chance_ms": float(np.sqrt(np.mean(halves**2) / 2)) / 1e6,
        "mean_response_ms": float(theirs.mean()) / 1e6,
        "fitted_mean_response_ms": float(ours.mean()) / 1e6,
    }
