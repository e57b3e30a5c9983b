"""From what was found to a disk of ours: its file, and how well it answers as the unknown one did."""

import json
from dataclasses import dataclass
from typing import Any

import numpy as np

from gordon import _core
from gordon.disk.fit.arm import Least
from gordon.disk.fit.asking import SECTOR, Floats
from gordon.disk.fit.extract import Found

# A curve of three times is taken where it is as close to the seeks as this, else their table.
CLOSE = 0.03


@dataclass(frozen=True)
class Curve:
    """a + b sqrt(d) + c d through the seeks, in nanoseconds; `off` is the weighted mean distance, relative."""

    a: float
    b: float
    c: float
    off: float

    def time(self, distance: Floats | float) -> Floats:
        return np.asarray(self.a + self.b * np.sqrt(distance) + self.c * np.asarray(distance))


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

    config: dict[str, Any]
    parameters: dict[str, Any]
    """In words of the field, as reports have them."""


def model(found: Found, like: dict[str, Any], like_name: str, origin: str) -> Model:
    """The disk; what times of single reads do not tell is that of `like`."""

    def measured(value: Any, how: str = "") -> dict[str, Any]:
        return {"value": value, "source": f"measured, {origin}{how}"}

    def inferred(value: Any, why: str) -> dict[str, Any]:
        return {"value": value, "assumed": why}

    def borrowed(field: Any) -> dict[str, Any]:
        value = field["value"] if isinstance(field, dict) else field
        return inferred(value, f"not to be seen by single reads: that of {like_name}")

    inner, heads = found.cylinder, found.cylinder.heads
    table, held = [], 0
    for zone in found.zones[:-1]:
        cylinders = round((zone.end - zone.first) / (zone.per_track * heads))
        table.append({"cylinders": cylinders, "sectors_per_track": zone.per_track})
        held += cylinders * zone.per_track * heads
    last = found.zones[-1].per_track
    table.append(
        {"cylinders": -(-(found.sectors - held) // (last * heads)), "sectors_per_track": last}
    )
    total = sum(zone["cylinders"] for zone in table)

    through = curve(found.arm.seeks)
    distances = np.arange(1, total, dtype=np.float64)
    pairs = total - distances
    three = {
        "track_to_track": float(through.time(1)),
        "average": float((pairs * through.time(distances)).sum() / pairs.sum()),
        "full_stroke": float(through.time(total - 1)),
    }
    rising = bool(np.all(np.diff(through.time(distances)) >= 0)) and three["track_to_track"] > 0
    if through.off < CLOSE and rising:
        note = f"; within {through.off:.1%} of {len(found.arm.seeks)} distances"
        read: dict[str, Any] = {k: measured(_time(v), note) for k, v in three.items()}
        first = three["track_to_track"]
    else:
        read = {"table": [[distance, _time(seek.time)] for distance, seek in found.arm.seeks]}
        first = found.arm.seeks[0][1].time

    track_skew, cylinder_skew = inner.track_skew, inner.cylinder_skew
    switch = found.arm.head_switch
    switch_time = min(switch.time if switch else first, track_skew - 1e3)
    # A skew is what a write needs to go on, and little more. A microsecond for rounding.
    cylinder_skew = max(cylinder_skew, first + 1e3)
    settle = min(track_skew - switch_time, cylinder_skew - max(first, switch_time)) - 1e3
    settle = max(0.0, settle)
    memory = found.memory
    ahead = memory.read_ahead * SECTOR if memory else 0
    reads = memory.segments * memory.segment * SECTOR if memory else SECTOR
    rate = memory.rate if memory else 300e6
    because = "skews that leave just room for it: reads do not show writes"
    heads_of = (
        measured(heads)
        if inner.known
        else inferred(1, "skews do not tell cylinders apart: each track counts as one")
    )
    config = {
        "summary": f"disk fitted to {origin}",
        "geometry": {
            "sectors": measured(found.sectors),
            "heads": heads_of,
            "rpm": measured(round(60e9 / found.spindle.revolution)),
            "track_skew": measured(_time(track_skew)),
            "cylinder_skew": measured(_time(cylinder_skew)),
            "zones": {"table": table},
        },
        "seek": {
            "head_switch": measured(_time(switch_time))
            if switch
            else inferred(_time(switch_time), "one head: there is none"),
            "read": read,
            "write_settle_ms": inferred(round(settle / 1e6, 4), because),
        },
        "interface": {
            "rate_per_s": measured(f"{round(rate)}B")
            if memory
            else inferred("300MB", "nothing came from memory"),
            "overhead": measured(_time(memory.overhead if memory else 0.0)),
            "queue_depth": borrowed(like["interface"]["queue_depth"]),
        },
        "cache": {
            "size": inferred(
                f"{2 * reads}B", "what was seen to be kept of reads, and as much for writes"
            ),
            "write_limit": inferred(f"{reads}B", "as much as for reads: reads do not show it"),
            "write_extents": borrowed(like["cache"]["write_extents"]),
            "segments": measured(memory.segments if memory else 1),
            "read_ahead": measured(f"{ahead}B"),
            "destage": borrowed(like["cache"]["destage"]),
        },
        "scheduler": {"ageing": borrowed(like["scheduler"].get("ageing", 0.0))},
        "power": {state: borrowed(like["power"][state]) for state in ("idle", "read", "write")},
    }
    parameters = {
        "sectors": found.sectors,
        "revolution_ms": found.spindle.revolution / 1e6,
        "rpm": round(60e9 / found.spindle.revolution),
        "heads": heads if inner.known else None,
        "zones": [
            {"first_sector": zone.first, "sectors_per_track": zone.per_track}
            for zone in found.zones
        ],
        "cylinders": total,
        "track_skew_ms": track_skew / 1e6,
        "cylinder_skew_ms": cylinder_skew / 1e6,
        "head_switch_ms": switch.time / 1e6 if switch else None,
        "seek_ms": {name: time / 1e6 for name, time in three.items()},
        "seek_curve_off": through.off,
        "seeks": [
            {"cylinders": d, "ms": seek.time / 1e6, "within_ms": seek.within / 1e6}
            for d, seek in found.arm.seeks
        ],
        "overhead_us": memory.overhead / 1e3 if memory else None,
        "interface_mb_s": memory.rate / 1e6 if memory else None,
        "read_cache": None
        if memory is None
        else {
            "segments": memory.segments,
            "segment_bytes": memory.segment * SECTOR,
            "read_ahead_bytes": ahead,
            "bytes": reads,
        },
    }
    return Model(config, parameters)


def _time(nanoseconds: float) -> str:
    return f"{round(nanoseconds)}ns"


def goodness(found: Found, config: dict[str, Any]) -> dict[str, float]:
    """The reads at the end, asked of the fitted disk too: how far their times lie from the unknown's.

    The demerit is the RMS distance of the two distributions (Ruemmler and Wilkes, IEEE Computer 27(3),
    1994): both in order, and the differences in pairs.
    """
    prober = _core.DiskProber(json.dumps({"device": {"config": config}}))
    fitted = np.array(prober.probe(found.check.batch.columns()), dtype=np.float64)
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
