"""Infers the seek times of the arm.

After a seek, a sector is either reached in time or passes under the head a revolution later. The
times of reads over one seek distance, to sectors at all angles, therefore lie between a minimum and
that minimum plus a revolution. The minimum is command overhead plus seek. (Worthington and others,
SIGMETRICS 1995: minimum time between request completions.)
"""

from dataclasses import dataclass

from gordon.arrays import np
from gordon.disk.fit.asking import FLUSH, READ, WRITE, Asking, Batch, Floats
from gordon.disk.fit.spindle import Spindle
from gordon.disk.fit.zones import MOST_HEADS, Cylinder, Zone

# Pairs of reads over a long seek.
PAIRS = 128


@dataclass(frozen=True)
class Least:
    """The least time from the end of one read to that of another, in nanoseconds."""

    time: float
    within: float
    """Maximum error of `time`, apart from noise."""


@dataclass(frozen=True)
class Arm:
    """Seek times without the command overhead, in nanoseconds."""

    head_switch: Least | None
    seeks: list[tuple[int, Least]]
    """Seek distance in cylinders, and the time."""


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
    lowest = cylinders + 1 - int((of.start - of.zone.first) / of.sectors)
    highest = int((of.zone.end - of.start) / of.sectors) - 2

    def pairs(aims: Floats, off: float) -> Asking[Floats]:
        """To sectors that come by so long after the first of the pair, but for what it is off."""
        places = []
        for aim, at in zip(aims, rng.integers(lowest, highest + 1, len(aims)), strict=True):
            base = of.start + int(at) * of.sectors
            to = (0.5 + (aim - off + away) / turn) % 1.0 * per_track
            places += [
                round(base + heads * of.pitch + per_track / 2),
                round(base - cylinders * of.sectors + to),
            ]
        return (yield from _pairs(spindle, places, write))

    aims: Floats = turn * (np.arange(24) + 0.5) / 24
    times = yield from pairs(aims, 0.0)
    # Skews are not known to the nanosecond, and add up over cylinders.
    off = float(np.angle(np.nanmean(np.exp(2j * np.pi * (times - aims) / turn)))) / (2 * np.pi)
    known = least(times[~np.isnan(times)], turn)
    for _ in range(3):
        closer = _about(known.time, 1.2 * known.within, 10)
        times = np.concatenate([times, (yield from pairs(closer, off * turn))])
        known = least(times[~np.isnan(times)], turn)
        if known.within < turn / 1000:
            break
    if spindle.spread < turn / 3000:
        return known
    around = _about(known.time, 6 * spindle.spread, 48)
    return _blurred(around, (yield from pairs(around, off * turn)), spindle)


def _about(middle: float, within: float, count: int) -> Floats:
    return np.array([middle + within * (2 * i / (count - 1) - 1) for i in range(count)])


def _blurred(aims: Floats, times: Floats, spindle: Spindle) -> Least:
    """The arm where a host is late, and so asks late: what comes by soon after the least is
    missed then. The likeliest, where lateness is exponential; one in fifty may be anything."""
    turn, late = spindle.revolution, 1.4 * spindle.spread
    offsets = (times - aims + turn / 2) % turn - turn / 2
    aims = (aims + np.nanmedian(offsets))[~np.isnan(times)]
    missed = times[~np.isnan(times)] - aims > turn / 2
    tried = np.linspace(aims[0], aims[-1], 300)
    after = np.maximum(aims - tried[:, None], 0.0)
    caught = np.clip(1 - np.exp(-after / late), 0.02, 0.98)
    likely = np.log(np.where(missed, 1 - caught, caught)).sum(axis=1)
    return Least(float(tried[np.argmax(likely)]), spindle.spread / 2)


def far(
    spindle: Spindle,
    zones: list[Zone],
    heads: int,
    cylinders: int,
    rng: np.random.Generator,
    write: bool = False,
) -> Asking[Least]:
    """Over a distance anywhere, between sectors at random."""
    total = sum(zone.cylinders(heads) for zone in zones)
    places = []
    for _ in range(PAIRS):
        one = int(rng.integers(0, total - cylinders))
        pair = [_in_cylinder(zones, heads, at, rng) for at in (one, one + cylinders)]
        places += pair if rng.random() < 0.5 else pair[::-1]
    took = yield from _pairs(spindle, places, write)
    return least(took[~np.isnan(took)], spindle.revolution)


def _in_cylinder(zones: list[Zone], heads: int, at: int, rng: np.random.Generator) -> int:
    for zone in zones:
        count = zone.cylinders(heads)
        if at < count:
            break
        at -= count
    size = zone.per_track * heads
    return zone.first + int((min(at, count - 1) + rng.random()) * size)


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
    total = sum(zone.cylinders(of.heads) for zone in zones)
    near_by = min(of.zone.cylinders(of.heads) // 8, 400)
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
    """Heads, if skews do not show them: a seek over a whole number of cylinders needs no head
    switch and is shorter than over a track more or less. None if it is not."""

    def over(tracks: int) -> Asking[Least]:
        return (yield from near(spindle, of, tracks, 0, rng))

    def shorter(one: Least, other: Least) -> bool:
        """By more than both may be off, and a host late."""
        off = max(spindle.revolution / 500, one.within + other.within, 8 * spindle.spread)
        return one.time < other.time - off

    before = yield from over(1)
    for tracks in range(2, MOST_HEADS):
        this = yield from over(tracks)
        if shorter(this, before):
            for whole in (2 * tracks, 3 * tracks):
                this = yield from over(whole)
                less, more = (yield from over(whole - 1)), (yield from over(whole + 1))
                if not (shorter(this, less) and shorter(this, more)):
                    return None
            return tracks
        before = this
    return None


def _distances(near_by: int, total: int) -> list[int]:
    """Cylinders: some small ones, then evenly by their roots and logarithms to the full stroke."""
    short = {1, 2, 3, 5, 8, 13, 21, 34, 60, 100, 200, 400}
    longest = int(total * 0.98)
    long = np.geomspace(max(near_by, 2), longest, 8).tolist()
    long += (np.linspace(np.sqrt(near_by), np.sqrt(longest), 12) ** 2).tolist()
    kept = {d for d in short if d <= near_by} | {round(d) for d in long if d > near_by}
    return sorted(kept)
