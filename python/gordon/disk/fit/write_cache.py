"""Infers the size of the write cache, and its maximum number of extents.

The cache is full when a write has to wait for the medium. A drive destages meanwhile, so that more
writes fit than the cache holds. Reads between the writes prevent this: a drive serves reads before
it destages and then reads ahead for a while, until the next writes and the next read arrive. Many
scattered writes of one sector give the number of extents; one sequential run, written in smaller
and smaller steps, gives the size.

A drive that destages nevertheless accepts more writes the more reads there are. In this case, and
if read-ahead leaves no time, size and extents are unknown. The size is also unknown if each step is
an extent of its own and extents run out first.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from gordon.arrays import np
from gordon.disk.fit.asking import FLUSH, READ, WRITE, Asking, Batch
from gordon.disk.fit.memory import Memory
from gordon.disk.fit.spindle import Spindle

# Pieces, and sectors, that are tried at most.
MOST_PIECES, MOST_SECTORS = 1 << 13, 1 << 21
# Number of counts of each value, because a host may be late once.
REPEATS = 3
# How far two counts of one number may be apart.
APART = 0.02


@dataclass(frozen=True)
class WriteCache:
    """The write cache and the rate of writes; None where unknown."""

    sectors: int | None
    pieces: int | None


def find_write_cache(
    spindle: Spindle, memory: Memory | None, sectors: int, per_track: float,
    rng: np.random.Generator,
) -> Asking[WriteCache]:  # fmt: skip
    """The write cache of a disk; `per_track` is the number of sectors of its largest tracks."""
    if memory is None:
        return WriteCache(None, None)
    busy = _Busy(spindle, memory, sectors, per_track, rng)
    if busy.chunk < 1:
        return WriteCache(None, None)
    held = yield from _agreed(busy.run)
    pieces = yield from _agreed(busy.pieces)
    if pieces and held and pieces > held * (1 - APART):
        # As many as the sectors that the cache holds: nothing else ended them.
        pieces = None
    if pieces and held and held / busy.chunk > pieces * (1 - APART):
        held = held if (yield from busy.joins(pieces)) else None
    return WriteCache(held, pieces)


def _agreed(count: Callable[[int], Asking[int | None]]) -> Asking[int | None]:
    """The count with few reads in between, if it is the same with more reads; else None."""
    few = yield from count(1)
    many = yield from count(3)
    return few if few and many and abs(many - few) <= APART * few else None


class _Busy:
    """A drive that reads keep from writing to the medium."""

    def __init__(
        self, spindle: Spindle, memory: Memory, sectors: int, per_track: float,
        rng: np.random.Generator,
    ) -> None:  # fmt: skip
        self._spindle, self._memory, self._rng = spindle, memory, rng
        self._most = min(MOST_SECTORS, sectors // 8)
        self._places = sectors - max(memory.read_ahead, 2 * self._most)
        # Half of the time for which it reads ahead.
        self._window = memory.read_ahead / per_track * spindle.revolution / 2
        #: Sectors that come over the link meanwhile.
        self.chunk = int((self._window - memory.overhead) * memory.sectors_a_second / 1e9)

    def pieces(self, reads: int) -> Asking[int | None]:
        """The number of extents that the cache accepts, with `reads` reads between the writes."""
        found = []
        for _ in range(REPEATS):
            places = self._rng.integers(0, self._places, MOST_PIECES).tolist()
            found.append((yield from self._taken([(at, 1) for at in places], reads)))
        count = sorted(found)[REPEATS // 2]
        return count if count < MOST_PIECES else None

    def joins(self, pieces: int) -> Asking[bool]:
        """Whether writes side by side are one piece: it takes more of them than that."""
        at = int(self._rng.integers(0, self._places))
        more = [(at + i, 1) for i in range(2 * pieces)]
        return (yield from self._taken(more, 1)) > 1.5 * pieces

    def run(self, reads: int) -> Asking[int | None]:
        """How many sectors it takes of a run."""
        end, beyond, step = 0, self._most, self.chunk
        while True:
            # Up to what it takes in chunks, then on in steps.
            ends = [*range(0, end, self.chunk), *range(end, beyond + step + 1, step)]
            found = []
            for _ in range(REPEATS):
                at = int(self._rng.integers(0, self._places))
                writes = [(at + one, two - one) for one, two in pairwise(ends)]
                found.append((yield from self._taken(writes, reads)))
            count = sorted(found)[REPEATS // 2]
            if count == len(ends) - 1:
                return None
            end, beyond = ends[count], ends[count + 1]
            if step == 1:
                return int(end)
            step = max(1, step // 8)

    def _taken(self, writes: list[tuple[int, int]], reads: int) -> Asking[int]:
        """How many of these, places and lengths, it takes before one waits for the medium."""
        yield Batch("write cache", [0], length=0, op=FLUSH)
        lengths = np.array([length for _, length in writes], dtype=np.float64)
        takes = self._memory.overhead + lengths / self._memory.sectors_a_second * 1e9
        done = 0
        while done < len(writes):
            in_time = int((np.cumsum(takes[done : done + 4096]) < self._window).sum())
            now = writes[done : done + max(1, in_time)]
            places = self._rng.integers(0, self._places, reads).tolist()
            times = yield Batch(
                "write cache",
                [*places, *(at for at, _ in now)],
                length=[1] * reads + [length for _, length in now],
                op=[READ] * reads + [WRITE] * len(now),
            )
            usual = takes[done : done + len(now)]
            waited = times.took[reads:] > 1.25 * usual + self._spindle.revolution / 16
            if waited.any():
                return done + int(np.argmax(waited))
            done += len(now)
        return done
