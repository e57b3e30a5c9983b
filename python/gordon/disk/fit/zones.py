"""Infers the zones (tracks with the same number of sectors), and heads and skews of one zone."""

from dataclasses import dataclass
from itertools import pairwise

from gordon.arrays import NDArray, np
from gordon.disk.fit.asking import Asking, Floats
from gordon.disk.fit.spindle import POINTS, Spindle, track_start, tracks
from gordon.errors import GordonError

# Places that are looked at first; between two that differ the zones' ends are searched.
PLACES = 33
# Of the disk: how exactly a zone's end is searched.
RESOLUTION = 1 / 4096
# A disk has fewer.
MOST_HEADS = 33

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Zone:
    """A band."""

    first: int
    end: int
    """Sectors from `first` on, without `end`."""
    per_track: float
    """Sectors per revolution; not a whole number if a track is not a whole number of the sectors
    that the disk is addressed by."""

    def cylinders(self, heads: int) -> int:
        """Whole ones in it."""
        return int((self.end - self.first) / (self.per_track * heads))


@dataclass(frozen=True)
class Cylinder:
    """The inner structure of a zone, and where one of its cylinders begins."""

    zone: Zone
    start: int
    pitch: float
    """Sectors from the start of a track to that of the next, on average over many."""
    heads: int
    known: bool
    """Whether skews show where cylinders begin; if not, every track counts as a cylinder."""
    track_skew: float
    cylinder_skew: float
    """Nanoseconds."""

    @property
    def sectors(self) -> float:
        """Sectors of a cylinder."""
        return self.heads * self.pitch


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
            found.append(Zone(first, end, float(np.median(inside))))
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
    walk: list[tuple[int, float]] = []
    period = None
    for count in (6, 6, 12, 24, 48, 96):
        if top - (count + 2) * zone.per_track < zone.first:
            break
        found = yield from tracks(spindle, top, zone.per_track, count, "heads")
        walk += found.skews
        top = found.bottom - 1
        if len(walk) > 1:
            period = _period(*_by_track(walk, zone.per_track), spindle)
        if period is not None:
            break
    if len(walk) < 2:
        raise GordonError(
            "no skew between tracks was found",
            "probe a disk whose tracks are skewed",
            kind="no-skew",
        )
    numbers, sizes = _by_track(walk, zone.per_track)
    heads, first = period or (1, 0)
    own = numbers % heads == first
    cylinder_skew = float(np.median(sizes[own]))
    track_skew = float(np.median(sizes[~own])) if period else cylinder_skew
    # A track of the walk, from below what was read on: there memory has nothing.
    at = walk[-1][0]
    below = int((at - found.bottom) / zone.per_track) + 1
    at -= round(below * zone.per_track)
    least = min(track_skew, cylinder_skew) / 2
    start = yield from track_start(spindle, zone.per_track, least, at - found.step, at)
    at, down = start or (at, 0)
    pitch = (yield from _pitch(spindle, zone, least, at)) if start else zone.per_track
    # On to where a cylinder starts.
    at -= round((first - int(numbers[-1]) - below - down) % heads * pitch)
    return Cylinder(zone, at, pitch, heads, period is not None, track_skew, cylinder_skew)


def _pitch(spindle: Spindle, zone: Zone, least: float, first: int) -> Asking[float]:
    """Sectors from track to track, from two of them that are ever further apart."""
    pitch, within = zone.per_track, round(zone.per_track / 5)
    tracks = 4
    while first - (tracks + 32) * pitch > zone.first:
        guess = first - round(tracks * pitch)
        found = yield from track_start(spindle, pitch, least, guess - within, guess + within)
        if found is None:
            break
        start, down = found
        pitch = (first - start) / (tracks + down)
        # Both are known to a sector or two, and four times as far it is four times as much.
        within = min(within, max(12, round(zone.per_track / 20)))
        tracks *= 4
    return pitch


def _by_track(walk: list[tuple[int, float]], per_track: float) -> tuple[Counts, Floats]:
    """Skews by the number of the track; the parts of one are summed."""
    places = np.array([place for place, _ in walk], dtype=np.float64)
    passed = np.round(-np.diff(places) / per_track).astype(np.int64)
    numbers, index = np.unique(np.concatenate([[0], np.cumsum(passed)]), return_inverse=True)
    sizes = np.bincount(index, weights=[size for _, size in walk])
    return numbers.astype(np.int64), sizes.astype(np.float64)


def _period(numbers: Counts, sizes: Floats, spindle: Spindle) -> tuple[int, int] | None:
    """Every how many tracks the skew is another, and from which on: heads, and where cylinders
    start. A host may be late: some skews may be misjudged, and of few any may look odd."""
    best, off_least, clear = None, np.inf, False
    for heads in range(2, min(MOST_HEADS, len(numbers) // 3 + 1)):
        for first in range(heads):
            own = numbers % heads == first
            count = min(own.sum(), (~own).sum())
            if count < 3:
                continue
            here, other = np.median(sizes[own]), np.median(sizes[~own])
            # Of two skews that take turns the longer is a cylinder's.
            if heads == 2 and here < other:
                continue
            off = np.abs(sizes - np.where(own, here, other))
            if off.sum() >= off_least:
                continue
            best, off_least, apart = (heads, first), off.sum(), abs(here - other)
            wrong = off > apart / 2
            least = max(spindle.revolution / 500, 16 * spindle.spread / np.sqrt(count))
            clear = apart > least and wrong.mean() < 0.25 and wrong[own].mean() < 0.3
    return best if clear else None
