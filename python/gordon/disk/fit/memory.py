"""Infers the read cache of a disk and the speed of its interface.

A read from the cache is recognised by its time, as it waits for no sector. Every probe uses an area
that was not read before.
"""

from collections.abc import Callable
from dataclasses import dataclass

from gordon.arrays import np
from gordon.disk.fit.asking import Asking, Batch
from gordon.disk.fit.spindle import Spindle

LENGTHS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
# Long enough to read ahead as far as a drive goes.
IDLE = 3e8
REPEATS = 3
# Repeats of a timed read: the minimum of them is not affected by a late host.
TIMED = 8


@dataclass(frozen=True)
class Memory:
    """The read cache: sectors, nanoseconds."""

    overhead: float
    sectors_a_second: float
    read_ahead: int
    segments: int
    segment: int


class _Fresh:
    """Places where nothing was read yet: at random, for a disk is large."""

    def __init__(self, capacity: int, rng: np.random.Generator) -> None:
        self._capacity, self._rng = capacity, rng

    def take(self, room: int) -> int:
        return int(self._rng.integers(0, self._capacity - room - 1))


def memory(spindle: Spindle, capacity: int, rng: np.random.Generator) -> Asking[Memory | None]:
    """Its parameters; none where nothing is ever read from memory."""
    if spindle.hit == 0:
        return None
    fresh = _Fresh(capacity, rng)
    overhead, rate = yield from interface(spindle, fresh)
    quick = spindle.quick

    def ahead(distance: int) -> Asking[bool]:
        at = fresh.take(distance)
        times = yield Batch("read-ahead", [at, at + distance], think=[0.0, IDLE])
        return bool(times.took[1] < quick)

    def held(count: int) -> Asking[bool]:
        places = [fresh.take(0) for _ in range(count)]
        times = yield Batch("segments", [*places, places[0]])
        return bool(times.took[-1] < quick)

    def kept(length: int) -> Asking[bool]:
        at = fresh.take(length + 64)
        chunk = 64
        starts = list(range(at, at + length, chunk))
        lengths = [min(chunk, at + length - start) for start in starts]
        times = yield Batch("segments", [*starts, at], length=[*lengths, 1])
        return bool(times.took[-1] < quick)

    read_ahead = yield from _most(ahead, min(1 << 20, capacity // 64))
    segments = max(1, (yield from _most(held, 2048)))
    segment = yield from _most(kept, min(1 << 18, capacity // 64))
    return Memory(overhead, rate, read_ahead, segments, max(segment, read_ahead, 1))


def interface(spindle: Spindle, fresh: _Fresh) -> Asking[tuple[float, float]]:
    """Overhead and rate: what is read again comes from memory, longer reads take longer."""
    lengths, places = [], []
    for length in LENGTHS:
        for _ in range(TIMED):
            at = fresh.take(length)
            places += [at, at]
            lengths += [length, length]
    times = yield Batch("interface", places, length=lengths)
    again = times.took[1::2].reshape(-1, TIMED)
    least = again.min(axis=1)
    sectors = np.array(LENGTHS, dtype=np.float64)
    hits = least < spindle.revolution / 2
    slope, start = np.polyfit(sectors[hits], least[hits], 1)
    return max(0.0, float(start)), 1e9 / float(slope)


def _most(test: Callable[[int], Asking[bool]], limit: int) -> Asking[int]:
    """The largest number that passes most of `REPEATS` tests, to 1 %; larger ones do not."""

    def passes(number: int) -> Asking[bool]:
        hits = 0
        for _ in range(REPEATS):
            hits += yield from test(number)
        return hits * 2 > REPEATS

    low, high = 0, 1
    while high <= limit:
        if not (yield from passes(high)):
            break
        low, high = high, high * 2
    else:
        return low
    while high - low > max(1, low // 100):
        middle = (low + high) // 2
        if (yield from passes(middle)):
            low = middle
        else:
            high = middle
    return low
