"""Extracts the parameters of an unknown disk from the times of probes."""

from dataclasses import dataclass, replace

from gordon.arrays import np
from gordon.disk.fit.arm import Arm, arm, heads_by_switch
from gordon.disk.fit.asking import Asking, Batch, Timed
from gordon.disk.fit.memory import Memory, memory
from gordon.disk.fit.spindle import Spindle, first_guess, revolution
from gordon.disk.fit.writes import Writes, writes
from gordon.disk.fit.zones import Cylinder, Zone, cylinder, zones
from gordon.errors import GordonError

# Reads at the end, which nothing is learned from: against them the parameters are held.
CHECKS = 4000


@dataclass(frozen=True)
class Check:
    """Reads at random, and their times."""

    batch: Batch
    times: Timed


@dataclass(frozen=True)
class Found:
    """The parameters inferred from the times."""

    sectors: int
    spindle: Spindle
    zones: list[Zone]
    cylinder: Cylinder
    arm: Arm
    memory: Memory | None
    writes: Writes | None
    check: Check


def extract(sectors: int, seed: int, write: bool) -> Asking[Found]:
    """Probes a disk of `sectors` sectors and infers its parameters; only `write` writes."""
    if sectors < 1 << 20:
        raise GordonError(
            f"{sectors} sectors are too few to distinguish tracks, zones and seeks",
            "probe a whole disk",
            kind="disk-too-small",
        )
    rng = np.random.default_rng(seed)
    spindle = yield from revolution(sectors // 2 + int(rng.integers(0, 1000)), rng)
    guess = yield from first_guess(spindle, sectors // 2 - 2000)
    bands = yield from zones(spindle, sectors, guess)
    largest = max(bands, key=lambda zone: zone.end - zone.first)
    inner = yield from cylinder(spindle, largest)
    of_memory = yield from memory(spindle, sectors, rng)
    # The link's part is at the end of both reads, between whose ends a seek lies.
    overhead = of_memory.overhead if of_memory else spindle.hit
    sector = spindle.revolution / largest.per_track
    if not inner.known:
        heads = yield from heads_by_switch(spindle, inner, rng)
        if heads is not None:
            inner = replace(inner, heads=heads, known=True)
    of_arm = yield from arm(spindle, bands, inner, overhead + sector, rng)
    of_writes = None
    if write:
        of_writes = yield from writes(spindle, bands, inner, of_memory, rng)
    check = yield from _check(sectors, spindle, rng)
    return Found(sectors, spindle, bands, inner, of_arm, of_memory, of_writes, check)


def _check(sectors: int, spindle: Spindle, rng: np.random.Generator) -> Asking[Check]:
    lengths = rng.choice([8, 16, 64, 128], CHECKS)
    places = [int(rng.integers(0, sectors - length)) for length in lengths]
    think = rng.exponential(spindle.revolution, CHECKS)
    batch = Batch("check", places, length=[int(x) for x in lengths], think=think.tolist())
    times = yield batch
    return Check(batch, times)
