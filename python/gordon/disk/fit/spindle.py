"""Infers the revolution, tracks and skews of a disk.

The completion time of a read, modulo a revolution, gives the angle of its last sector. Sectors are
read in descending order, as a drive reads ahead in ascending order: lower sectors are not in its
cache. (Worthington, Ganger, Patt and Wilkes, "On-Line Extraction of SCSI Disk Drive Parameters",
SIGMETRICS 1995, use the same method; Schlosser and others, FAST 2005, find tracks by rotation.)
"""

from dataclasses import dataclass
from itertools import pairwise

from gordon.arrays import np
from gordon.disk.fit.asking import Asking, Batch, Floats
from gordon.errors import GordonError

# Points on a track: enough that one is on each side of every skew.
POINTS = 13
# A skew is longer than this part of a revolution; what is less is the noise of a host.
LEAST_SKEW = 0.015


@dataclass(frozen=True)
class Spindle:
    """The revolution of the disk."""

    revolution: float
    """Nanoseconds."""
    spread: float
    """Standard deviation of completions about the revolution without outliers, in nanoseconds."""
    hit: float
    """Time of a read that hits the cache, in nanoseconds; zero without a cache."""

    @property
    def quick(self) -> float:
        """The time below which a read was a cache hit, in nanoseconds."""
        return self.hit and self.hit + max(self.hit / 2, 6 * self.spread)


@dataclass(frozen=True)
class Tracks:
    """A few neighbouring tracks."""

    per_track: float
    """Sectors per revolution."""
    skews: list[tuple[int, float]]
    """Ends of tracks, each at most `step` sectors below this sector, and the skew there in
    nanoseconds."""
    step: int
    bottom: int
    """The lowest sector read."""


def revolution(top: int, rng: np.random.Generator) -> Asking[Spindle]:
    """How long it takes: reads of ever lower sectors at random times are a multiple apart."""
    again = yield Batch("memory", [top, top, top, top])
    down = yield Batch("revolution", list(range(top - 1, top - 34, -1)))
    gap = float(np.median(np.diff(down.completed)))
    think = rng.uniform(0, 5, 200) * gap
    below = range(top - 40, top - 240, -1)
    times = yield Batch("revolution", list(below), think=think.tolist())
    apart = np.diff(times.completed)
    turns = np.round(apart / gap)
    # apart = turns x revolution - a sector, except at the end of a track or for a cache hit: these
    # outliers are recognised by their distance, and the fit continues after them with an offset.
    known = np.stack([turns, np.ones(len(turns))], axis=1)
    off = apart - known @ _robust(known, apart)
    usual = 1.48 * float(np.median(np.abs(off)))
    odd = (np.abs(off) > max(8 * usual, gap / 200)) | (turns < 1)
    count = np.arange(len(turns) + 1, dtype=np.float64)
    passed = np.concatenate([[0.0], np.cumsum(turns)])
    steps = [count > at for at in np.flatnonzero(odd)]
    course = np.stack([passed, count, np.ones(len(count)), *steps], axis=1)
    solution = np.linalg.lstsq(course, times.completed, rcond=None)[0]
    off = times.completed - course @ solution
    # As of a normal distribution; a host that is very late now and then does not count.
    turn, spread = float(solution[0]), 1.48 * float(np.median(np.abs(off - np.median(off))))
    if not (2e6 < turn < 25e6 and odd.mean() < 0.1 and spread < turn / 20):
        raise GordonError(
            f"the response times are not those of a rotating disk: reads of descending sectors "
            f"complete {gap / 1e6:.3f} ms apart, which no revolution explains (best fit "
            f"{turn / 1e6:.3f} ms, deviation {spread / 1e6:.3f} ms)",
            "probe a hard disk directly, not a solid-state drive, a virtual disk or a disk behind "
            "a RAID controller",
            kind="not-rotating",
        )
    hit = float(np.median(again.took[1:]))
    return Spindle(turn, spread, hit if hit < turn / 4 else 0.0)


def _robust(known: Floats, measured: Floats) -> Floats:
    """Least squares, and again without what lies far off."""
    solution = np.linalg.lstsq(known, measured, rcond=None)[0]
    for _ in range(3):
        off = np.abs(measured - known @ solution)
        near = off <= 4 * np.median(off) + 1
        solution = np.linalg.lstsq(known[near], measured[near], rcond=None)[0]
    return np.asarray(solution)


def increments(spindle: Spindle, about: str, places: list[int]) -> Asking[Floats]:
    """How far, as time, each sector lies before the one read before it, modulo a revolution.

    What came from memory is NaN.
    """
    times = yield Batch(about, places)
    turn = spindle.revolution
    apart = -np.diff(times.completed)
    # A little below zero is noise, not nearly a revolution.
    apart = (apart + turn / 4) % turn - turn / 4
    from_memory = times.took < spindle.quick
    apart[from_memory[1:] | from_memory[:-1]] = np.nan
    return apart


def first_guess(spindle: Spindle, top: int) -> Asking[float]:
    """Sectors on a track, roughly, where nothing is known yet."""
    step, turn = 1, spindle.revolution
    while step < top // 16:
        places = [top - step * i for i in range(10)]
        unit = float(np.nanmedian((yield from increments(spindle, "tracks", places))))
        if unit > turn / 16:
            return step * turn / unit
        top -= 16 * step
        step *= 2
    raise GordonError(
        "no track was found: the device does not behave like a rotating disk",
        "probe a hard disk directly",
        kind="not-rotating",
    )


def tracks(spindle: Spindle, top: int, guess: float, count: float, about: str) -> Asking[Tracks]:
    """Descends over `count` tracks from the sector `top`."""
    step = max(1, round(guess / POINTS))
    points = min(int(count * guess / step) + 2, top // step + 1)
    places = [top - step * i for i in range(points)]
    apart = yield from increments(spindle, about, places)
    unit = float(np.nanmedian(apart))
    noise = 1.48 * float(np.nanmedian(np.abs(apart - unit)))
    skewed = apart > unit + max(LEAST_SKEW * spindle.revolution, 6 * noise)
    # Pieces without a skew have one slope: that of the medium.
    course = -np.concatenate([[0.0], np.cumsum(np.nan_to_num(apart, nan=unit))])
    breaks = [0, *(np.flatnonzero(skewed | np.isnan(apart)) + 1).tolist(), len(course)]
    above, below = 0.0, 0.0
    for start, end in pairwise(breaks):
        if end - start > 2:
            x = np.array(places[start:end], dtype=np.float64)
            x -= x.mean()
            y = course[start:end] - course[start:end].mean()
            above, below = above + float(x @ y), below + float(x @ x)
    slope = above / below if below else unit / step
    skews = [(places[i], float(apart[i] - step * slope)) for i in np.flatnonzero(skewed)]
    return Tracks(spindle.revolution / slope, skews, step, places[-1])


def track_start(
    spindle: Spindle, per_track: float, least: float, low: int, high: int
) -> Asking[tuple[int, int] | None]:
    """The first sector of a track, above `low` and not above `high`; within one sector if tracks
    are not a whole number of sectors. None without a skew of `least` nanoseconds between them.

    Each question halves what is left, on the same place of the next lower track: there memory has
    nothing. So the answer is a sector of a lower track, and how many tracks lower it is.
    """
    unit = spindle.revolution / per_track
    margin = round(per_track / 8)
    middle, down = low, 0
    while True:
        shift = round(down * per_track)
        upper = high + margin
        apart = yield from increments(spindle, "tracks", [upper - shift, middle - shift])
        if float(apart[0]) - (upper - middle) * unit > least:
            low = middle
        elif down == 0:
            return None
        else:
            high = middle
        if high - low <= 1:
            return high - shift, down
        middle, down = (low + high) // 2, down + 1
