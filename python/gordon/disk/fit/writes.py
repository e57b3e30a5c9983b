"""What writes take, where it is allowed to write.

A write is followed by a flush: when that is answered it is on the medium, whatever the drive keeps
in memory. What a write and a flush take beside the arm is seen where the arm need not move.
"""

from dataclasses import dataclass

import numpy as np

from gordon.disk.fit.arm import Least, near, seeks
from gordon.disk.fit.asking import FLUSH, WRITE, Asking, Batch
from gordon.disk.fit.spindle import Spindle
from gordon.disk.fit.zones import Cylinder, Zone

# Sectors of what fills the memory by size, and by pieces.
LARGE, SMALL, MOST = 128, 8, 1 << 14
# Writes of a burst: the first that are slower than their like tell the memory full.
BURST = 1500


@dataclass(frozen=True)
class Writes:
    """Write seeks as `Arm` has those of reads; memory in sectors and pieces of it."""

    through: bool
    seeks: list[tuple[int, Least]]
    cache: int
    extents: int


def writes(
    spindle: Spindle, zones: list[Zone], of: Cylinder, rng: np.random.Generator
) -> Asking[Writes]:
    """All that is known of writes. It overwrites what lies in its places."""
    still = yield from near(spindle, of, 0, 0, rng, write=True)
    found = yield from seeks(spindle, zones, of, still.time, rng, write=True)
    sectors = zones[-1].end
    places = rng.integers(0, sectors - 8, 32).tolist()
    single = yield Batch("write cache", places, length=SMALL, op=WRITE)
    through = bool(np.median(single.took) > spindle.revolution / 4)
    if through:
        return Writes(True, found, 0, 0)
    # The first that go to the medium while memory fills go there from anywhere.
    third = min(found, key=lambda seek: abs(seek[0] - found[-1][0] / 3))[1].time

    def burst(length: int) -> Asking[float]:
        pace = third + spindle.revolution * (0.5 + length / of.zone.per_track)
        return (yield from _burst(spindle, sectors, length, pace, rng))

    extents = yield from burst(SMALL)
    length = LARGE
    while (pieces := (yield from burst(length))) > 0.9 * extents and length < MOST:
        # It was full of pieces before it was full.
        length *= 2
    # What comes next shall not wait for these.
    yield Batch("write cache", [0], length=0, op=FLUSH)
    return Writes(False, found, round(pieces * length), round(extents))


def _burst(
    spindle: Spindle, sectors: int, length: int, pace: float, rng: np.random.Generator
) -> Asking[float]:
    """How many writes of a length memory takes before one has to wait for the medium."""
    places = rng.integers(0, sectors - length, BURST).tolist()
    yield Batch("write cache", [0], length=0, op=FLUSH)
    times = yield Batch("write cache", places, length=length, op=WRITE)
    slow = times.took > 4 * np.median(times.took[:3]) + spindle.revolution / 16
    if not slow.any():
        return float(BURST)
    first = int(np.argmax(slow))
    # Meanwhile some have gone to the medium: each later one sooner, for a drive that has more to
    # choose from finds one nearer, by about the root of their number; at last as fast as when
    # memory is full.
    full = (times.completed[-1] - times.completed[first]) / (BURST - 1 - first)
    rates = np.maximum(1 / pace, np.sqrt(np.arange(1, first + 1) / first) / full)
    gone = (times.completed[first - 1] - times.issued[0]) * float(rates.mean())
    return max(1.0, float(first - np.floor(gone)))
