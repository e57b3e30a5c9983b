"""What the arm takes.

A sector that passes under the head a moment after the one before is either reached in time or comes
a revolution later. So of reads that follow another over the same distance, to sectors at all
angles, the times lie between the least the drive can do and a revolution more: that least is
command overhead and seek. (The minimum time between request completions of Worthington and others,
SIGMETRICS 1995.)
"""

from dataclasses import dataclass

import numpy as np

from gordon.disk.fit.asking import FLUSH, READ, WRITE, Asking, Batch, Floats
from gordon.disk.fit.spindle import Spindle
from gordon.disk.fit.zones import Cylinder, Zone

# A disk has fewer.
MOST_HEADS = 33
# Pairs of reads over a long seek.
PAIRS = 128


@dataclass(frozen=True)
class Least:
    """The least time from the end of one read to that of another, in nanoseconds."""

    time: float
    within: float
    """It is so far off at most, but for noise."""


@dataclass(frozen=True)
class Arm:
    """Seek times, command overhead taken off; nanoseconds."""

    head_switch: Least | None
    seeks: list[tuple[int, Least]]
    """By distance in cylinders."""


def least(times: Floats, revolution: float) -> Least:
    """Where the revolution begins that holds most of the times."""
    ordered = np.sort(times)
    held = np.searchsorted(ordered, ordered + revolution, side="left") - np.arange(len(ordered))
    first = int(np.argmax(held))
    low, high = ordered[first + held[first] - 1] - revolution, ordered[first]
    return Least((low + high) / 2, (high - low) / 2)


def near(
    spindle: Spindle,
    of: Cylinder,
    cylinders: int,
    heads: int,
    rng: np.random.Generator,
    write: bool = False,
) -> Asking[Least]:
    """Over a distance within a zone: the sector to go to is chosen by its angle, ever closer."""
    turn, per_track = spindle.revolution, of.zone.per_track
    pitch = of.heads * turn + (of.heads - 1) * of.track_skew + of.cylinder_skew
    away = cylinders * pitch + heads * (turn + of.track_skew)
    lowest = -((of.start - of.zone.first) // of.sectors - cylinders - 1)
    highest = (of.zone.end - of.start) // of.sectors - 2
    times = np.empty(0)
    known, off = Least(turn / 2, turn / 2), 0.0
    for round_ in range(4):
        count = 24 if round_ == 0 else 10
        spread = (np.arange(count) + 0.5) / count * 2 - 1
        # At first over all angles; then about what is known, a little wider.
        aims = known.time + spread * known.within * (1.0 if round_ == 0 else 1.3)
        places = []
        for aim, at in zip(aims, rng.integers(lowest, highest + 1, count), strict=True):
            base = of.start + int(at) * of.sectors
            from_track = base + heads * per_track
            ahead = (aim - off + away) / turn % 1.0
            to = (per_track // 2 + round(ahead * per_track)) % per_track
            places += [from_track + per_track // 2, base - cylinders * of.sectors + to]
        took = yield from _pairs(spindle, places, write)
        if round_ == 0:
            # Skews are not known to the nanosecond, and add up over cylinders.
            turns = np.exp(2j * np.pi * (took - aims) / turn)
            off = float(np.angle(np.nanmean(turns))) / (2 * np.pi) * turn
        times = np.concatenate([times, took[~np.isnan(took)]])
        known = least(times, turn)
        if known.within < 2 * turn / per_track:
            break
    return known


def far(
    spindle: Spindle,
    zones: list[Zone],
    heads: int,
    cylinders: int,
    rng: np.random.Generator,
    write: bool = False,
) -> Asking[Least]:
    """Over a distance anywhere, between sectors at random."""
    total = sum((zone.end - zone.first) // (zone.per_track * heads) for zone in zones)
    places = []
    for _ in range(PAIRS):
        one = int(rng.integers(0, total - cylinders))
        pair = [_in_cylinder(zones, heads, at, rng) for at in (one, one + cylinders)]
        places += pair if rng.random() < 0.5 else pair[::-1]
    took = yield from _pairs(spindle, places, write)
    return least(took[~np.isnan(took)], spindle.revolution)


def _in_cylinder(zones: list[Zone], heads: int, at: int, rng: np.random.Generator) -> int:
    for zone in zones:
        size = zone.per_track * heads
        count = (zone.end - zone.first) // size
        if at < count:
            break
        at -= count
    return zone.first + min(at, count - 1) * size + int(rng.integers(0, size))


def _pairs(spindle: Spindle, places: list[int], write: bool) -> Asking[Floats]:
    """From the end of the first of each pair, a read, to that of the second; NaN where memory had
    one.

    The second is a read, or a write and the flush that puts it on the medium.
    """
    if write:
        op = [READ, WRITE, FLUSH] * (len(places) // 2)
        three = [
            at for one, two in zip(places[::2], places[1::2], strict=True) for at in (one, two, 0)
        ]
        length = [1, 1, 0] * (len(places) // 2)
        times = yield Batch("write seeks", three, length=length, op=op)
        took = times.completed[2::3] - times.completed[::3]
        hit = times.took[::3] < spindle.quick
    else:
        times = yield Batch("seeks", places)
        took = times.completed[1::2] - times.completed[::2]
        short = times.took < spindle.quick
        hit = short[::2] | short[1::2]
    took[hit] = np.nan
    return took


def arm(
    spindle: Spindle, zones: list[Zone], of: Cylinder, overhead: float, rng: np.random.Generator
) -> Asking[Arm]:
    """Head switch and seeks; `overhead` is what a read takes that needs neither."""
    switch = None
    if of.heads > 1:
        # Down: up, the drive may be on its way there already, reading ahead.
        found = yield from near(spindle, of, 0, 1, rng)
        switch = _less(found, overhead)
    return Arm(switch, (yield from seeks(spindle, zones, of, overhead, rng)))


def seeks(
    spindle: Spindle,
    zones: list[Zone],
    of: Cylinder,
    overhead: float,
    rng: np.random.Generator,
    write: bool = False,
) -> Asking[list[tuple[int, Least]]]:
    """Over some distances, from a cylinder to the whole stroke."""
    total = sum((zone.end - zone.first) // (zone.per_track * of.heads) for zone in zones)
    near_by = min((of.zone.end - of.zone.first) // of.sectors // 8, 400)
    found = []
    for distance in _distances(near_by, total):
        if distance <= near_by:
            one = yield from near(spindle, of, distance, 0, rng, write)
        else:
            one = yield from far(spindle, zones, of.heads, distance, rng, write)
        found.append((distance, _less(one, overhead)))
    return found


def _less(one: Least, overhead: float) -> Least:
    return Least(max(0.0, one.time - overhead), one.within)


def heads_by_switch(spindle: Spindle, of: Cylinder, rng: np.random.Generator) -> Asking[int | None]:
    """Heads, where skews do not tell: over a cylinder's tracks there is no head to switch, so that
    the way is shorter than over one track more or less. None where it is not."""
    apart = spindle.revolution / 500
    shorter: list[int] = []
    before = (yield from near(spindle, of, 1, 0, rng)).time
    for tracks in range(2, MOST_HEADS):
        time = (yield from near(spindle, of, tracks, 0, rng)).time
        if time < before - apart:
            shorter.append(tracks)
            break
        before = time
    if not shorter:
        return None
    again = (yield from near(spindle, of, 2 * shorter[0], 0, rng)).time
    beside = (yield from near(spindle, of, 2 * shorter[0] + 1, 0, rng)).time
    return shorter[0] if again < beside - apart else None


def _distances(near_by: int, total: int) -> list[int]:
    """Cylinders: some small ones, then evenly by their roots and logarithms to the full stroke."""
    short = {1, 2, 3, 5, 8, 13, 21, 34, 60, 100, 200, 400}
    longest = int(total * 0.98)
    long = np.geomspace(max(near_by, 2), longest, 8).tolist()
    long += (np.linspace(np.sqrt(near_by), np.sqrt(longest), 12) ** 2).tolist()
    kept = {d for d in short if d <= near_by} | {round(d) for d in long if d > near_by}
    return sorted(kept)
