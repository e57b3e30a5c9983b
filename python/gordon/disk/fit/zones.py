"""Bands of tracks with the same number of sectors; heads and skews of one of them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from gordon._core import GordonError
from gordon.disk.fit.asking import Asking, Floats
from gordon.disk.fit.spindle import POINTS, Spindle, track_start, tracks

# Places that are looked at first; between two that differ the zones' ends are searched.
PLACES = 33
# Of the disk: how exactly a zone's end is searched.
RESOLUTION = 1 / 4096


@dataclass(frozen=True)
class Zone:
    """A band."""

    first: int
    end: int
    """Sectors, the last one excluded."""
    per_track: int


@dataclass(frozen=True)
class Cylinder:
    """The inner structure of a zone, and where one of its cylinders begins."""

    zone: Zone
    start: int
    heads: int
    known: bool
    """Skews tell where cylinders begin; if not, every track counts as one."""
    track_skew: float
    cylinder_skew: float
    """Nanoseconds."""

    @property
    def sectors(self) -> int:
        """Of a cylinder."""
        return self.heads * self.zone.per_track


def zones(spindle: Spindle, capacity: int, guess: float) -> Asking[list[Zone]]:
    """All of them, outermost first."""
    room = round(8 * guess)
    samples: dict[int, float] = {}
    # A host that is late at times blurs the slope over a track; more tracks sharpen it.
    blurred = spindle.spread / spindle.revolution
    count = 2.2 if blurred < 1e-3 else 6.6
    blur = blurred * np.sqrt(12 / (POINTS * count)) / 0.9

    def same(one: float, other: float) -> bool:
        return bool(abs(one - other) < max(0.8, 0.0025 * one, 6 * blur * one))

    def look(at: int) -> Asking[float]:
        nearest = min(samples, key=lambda known: abs(known - at), default=None)
        near = guess if nearest is None else samples[nearest]
        found = yield from tracks(spindle, at, near, count, "zones")
        samples[at] = found.per_track
        return found.per_track

    for i in range(PLACES):
        yield from look(room + round((capacity - 1 - room) * i / (PLACES - 1)))
    known = sorted(samples)
    open_ends = list(pairwise(known))
    ends = []
    while open_ends:
        low, high = open_ends.pop()
        if same(samples[low], samples[high]):
            continue
        if high - low <= max(capacity * RESOLUTION, 2 * room):
            ends.append((low + high) // 2)
            continue
        middle = (low + high) // 2
        yield from look(middle)
        open_ends += [(low, middle), (middle, high)]
    ends = [0, *sorted(ends), capacity]
    found = []
    for first, end in pairwise(ends):
        inside = [samples[at] for at in samples if first + room < at <= end]
        if inside:
            found.append(Zone(first, end, round(float(np.median(inside)))))
    merged: list[Zone] = []
    for zone in found:
        # Tracks looked at over a zone's end are of neither.
        if zone.end - zone.first < 2 * RESOLUTION * capacity:
            continue
        if merged and same(merged[-1].per_track, zone.per_track):
            merged[-1] = Zone(merged[-1].first, zone.end, merged[-1].per_track)
        else:
            first = merged[-1].end if merged else 0
            merged.append(Zone(first, zone.end, zone.per_track))
    merged[-1] = Zone(merged[-1].first, capacity, merged[-1].per_track)
    return merged


def cylinder(spindle: Spindle, zone: Zone) -> Asking[Cylinder]:
    """Heads and skews of a zone, from a walk down over its tracks."""
    top = (zone.first + zone.end) // 2
    skews: list[tuple[int, float]] = []
    heads = None
    for count in (6, 6, 12, 24, 48, 96):
        if top - (count + 2) * zone.per_track < zone.first:
            break
        found = yield from tracks(spindle, top, zone.per_track, count, "heads")
        skews += found.skews
        top = found.bottom - 1
        heads = _period([skew for _, skew in skews], spindle)
        if heads is not None:
            break
    if len(skews) < 2:
        raise GordonError("no skew between tracks was seen", "a disk whose tracks are skewed")
    sizes = np.array([skew for _, skew in skews])
    own = _crossing(sizes) if heads is not None else np.ones(len(sizes), dtype=bool)
    at = skews[int(np.flatnonzero(own)[-1])][0]
    lowest = yield from track_start(spindle, found, at)
    # The same track's start, where the skew was seen.
    start = lowest + (at - lowest) // zone.per_track * zone.per_track
    cylinder_skew = float(np.mean(sizes[own]))
    track_skew = float(np.mean(sizes[~own])) if heads is not None else cylinder_skew
    return Cylinder(zone, start, heads or 1, heads is not None, track_skew, cylinder_skew)


def _crossing(sizes: Floats) -> NDArray[np.bool_]:
    """Which skews are those between cylinders: the rarer, or of equally many the longer."""
    longer = sizes > (sizes.min() + sizes.max()) / 2
    return np.asarray(longer if longer.sum() * 2 <= len(sizes) else ~longer)


def _period(sizes: list[float], spindle: Spindle) -> int | None:
    """Every how many tracks the skew is another: heads."""
    skews = np.array(sizes)
    apart = max(spindle.revolution / 500, 4 * spindle.spread)
    if len(skews) < 4 or np.ptp(skews) < apart:
        return None
    longer = skews > (skews.min() + skews.max()) / 2
    long, short = skews[longer], skews[~longer]
    if long.min() - short.max() < 0.4 * (long.mean() - short.mean()):
        return None
    where = np.flatnonzero(_crossing(skews))
    spacing = np.diff(where)
    if len(where) < 2 or np.ptp(spacing) > 0 or (len(where) < 3 and spacing[0] < 3):
        return None
    return int(spacing[0])
