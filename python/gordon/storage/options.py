"""Options of a characterisation, and the line of a figure that a point is on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

#: Pattern and operation, by name; reads come first, so that no cache of writes is in their way.
PATTERNS = ("sequential-read", "random-read", "sequential-write", "random-write")
SIZES = "4KiB..64MiB"
DEPTHS = (1, 32)


@dataclass(frozen=True, kw_only=True)
class Load:
    """Options for real and simulated storage. Sizes are text (`64KiB`)."""

    sizes: str | Sequence[str] = SIZES
    """Transfer sizes: powers of two from one to another (`4KiB..64MiB`), or a list."""
    depths: Sequence[int] = DEPTHS
    """Numbers of outstanding requests."""
    patterns: Sequence[str] | None = None
    """Some of `PATTERNS`. Default: all that the storage allows."""
    span: str | None = None
    """Size of the address range of the requests, from address 0 on. Default: the whole storage; 1
    GiB for a scratch file or empty flash."""
    bytes: str | None = None
    """Maximum bytes moved per point, but at least one full queue. Default: 4 GiB on real storage,
    256 MiB on simulated storage."""
    seed: int = 1
    """Random seed of the request addresses."""


@dataclass(frozen=True, kw_only=True)
class Real:
    """Options for real storage."""

    write: bool = False
    """Write to an existing file or device, which destroys its data."""
    seconds: float = 0.5
    """Seconds per point, after a warm-up of a fifth of that."""


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Options for simulated storage."""

    set_values: Sequence[str] = ()
    """Values of the device to override, each `KEY=VALUE`."""
    stripe: int | None = None
    """Stripe over N devices (RAID-0)."""
    stripe_unit: str | None = None
    """Stripe unit. Default: `64KiB`."""
    copies: int | None = None
    """Disks: mirror each stripe member on N disks."""
    bus_rate: str | None = None
    """Disks: bytes per second of the bus or host adapter that they share."""
    coalesce: str | None = None
    """Disks: merge queued requests with adjacent ones, up to this size."""
    scheduler: str | None = None
    """Disks: order in which queued requests are served. Default: the disk's."""
    precondition: float | None = None
    """Flash: fraction of the capacity to map before the run, in the steady state of random
    overwrites. Default: an empty device."""


def series(point: dict[str, Any]) -> tuple[str, int]:
    """The line that a point is on: pattern and depth."""
    return f"{point['pattern']}-{point['op']}", point["queue_depth"]
