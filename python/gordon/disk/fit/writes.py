"""Infers the times of writes, if writing is allowed.

Each write is followed by a flush, whose completion means that the data are on the medium. The
overhead of a write and a flush is measured where the arm does not move.
"""

from dataclasses import dataclass

from gordon.arrays import np
from gordon.disk.fit.arm import Least, near, seeks
from gordon.disk.fit.asking import FLUSH, WRITE, Asking, Batch
from gordon.disk.fit.memory import Memory
from gordon.disk.fit.spindle import Spindle
from gordon.disk.fit.write_cache import WriteCache, find_write_cache
from gordon.disk.fit.zones import Cylinder, Zone


@dataclass(frozen=True)
class Writes:
    """Write seeks as `Arm` has those of reads, and the write cache; none where they are done
    when they are on the medium."""

    seeks: list[tuple[int, Least]]
    cache: WriteCache | None


def writes(
    spindle: Spindle, zones: list[Zone], of: Cylinder, memory: Memory | None,
    rng: np.random.Generator,
) -> Asking[Writes]:  # fmt: skip
    """All that is known of writes. It overwrites what lies in its places."""
    still = yield from near(spindle, of, 0, 0, rng, write=True)
    found = yield from seeks(spindle, zones, of, still.time, rng, write=True)
    sectors = zones[-1].end
    places = rng.integers(0, sectors, 32).tolist()
    places[1::2] = [0] * 16
    alone = yield Batch("write cache", places, length=[1, 0] * 16, op=[WRITE, FLUSH] * 16)
    if np.median(alone.took[::2]) > spindle.revolution / 4:
        return Writes(found, None)
    taken = yield from find_write_cache(
        spindle, memory, sectors, max(zone.per_track for zone in zones), rng
    )
    # What comes next shall not wait for these.
    yield Batch("write cache", [0], length=0, op=FLUSH)
    return Writes(found, taken)
