"""Simulated devices: the options of flash, of disks, and of the storage that either is."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gordon.options import Device, Path, Settings
from gordon.options.kinds import (
    COUNT,
    FILE,
    PATH,
    PRESET,
    SEED,
    SETTING,
    SHARE,
    SIZE,
    SIZES,
    TIME,
    Choice,
    Named,
    Seconds,
    Share,
    Text,
    Whole,
    Wholes,
    Words,
)
from gordon.options.loads import Host

SCHEDULERS = ("fcfs", "sstf", "look", "c-look", "v-scan", "sptf")
#: `VictimPolicy` of the core, as its schema has it; a test compares them.
POLICIES = ("greedy", "fifo", "random", "d-choices", "cost-benefit")


@dataclass(frozen=True, kw_only=True)
class FlashPreset:
    """Which flash device."""

    GROUP: ClassVar = "Device"
    device: Annotated[Device, Named("--preset"), PRESET] = "gordon-slc-256g"
    """Device: a preset (`gordon flash presets`) or a TOML file."""


@dataclass(frozen=True, kw_only=True)
class FlashDevice:
    """Changes of a flash device."""

    GROUP: ClassVar = "Device"
    set: Annotated[Settings, SETTING] = ()
    """Override a value of the device: ftl.victim=fifo (or mine.py:Greedy, a class of yours),
    timing.read=50us; capacity=8GiB makes a smaller array with the same share of spare
    capacity."""
    spare: Annotated[str | float | None, Text("SHARE")] = None
    """Over-provisioning: with 18%, the array has 118% of the exported capacity, which does not
    change. Default: the device's."""
    super_page: Annotated[str | None, SIZE] = None
    """Size of a super-page, such as 64KiB. Default: the device's."""
    write_points: Annotated[int | None, COUNT] = None
    """Number of write points, each with an open block. Default: the device's."""
    precondition: Annotated[float | None, Share("FRACTION")] = None
    """Fraction of the capacity to map before the run, such as 0.8 or 80%, in the steady state of
    random overwrites. Default: an empty device."""


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """Devices in files."""

    GROUP: ClassVar = "Device"
    from_checkpoint: Annotated[Path | None, FILE] = None
    """Restore the device from a file that --checkpoint wrote."""
    checkpoint: Annotated[Path | None, FILE] = None
    """Write the state of the device at the end to FILE."""


@dataclass(frozen=True, kw_only=True)
class FlashRun(FlashDevice, Host, Checkpoints):
    """A run on a flash device."""


@dataclass(frozen=True, kw_only=True)
class Amplification:
    """Random overwrites of single pages in the steady state."""

    policy: Annotated[str, Choice(POLICIES, or_class=True)] = "greedy"
    """Victim selection of garbage collection; mine.py:Greedy is a class of yours."""
    rho: Annotated[float, Share(is_checked=True)] = 0.8
    """Logical pages / physical pages of the closed blocks: 1 - over-provisioning."""
    pages_per_block: Annotated[int, COUNT] = 64
    """Number of pages per block."""
    blocks: Annotated[int, COUNT] = 2048
    """Number of closed blocks."""
    choices: Annotated[int | None, Whole(1, "D")] = None
    """d-choices: number of candidate blocks."""
    separate: bool = False
    """Write copies of garbage collection through a separate write point."""
    hot_space: Annotated[float | None, SHARE] = None
    """Fraction of the pages that is hot. Default: uniform writes, or 0.1 with --hot-share."""
    hot_share: Annotated[float | None, SHARE] = None
    """Fraction of the writes that are to hot pages. Default: 0.9 with --hot-space."""
    seed: Annotated[int, SEED] = 1
    """Random seed of the writes."""


@dataclass(frozen=True, kw_only=True)
class DiskPreset:
    """Which disk."""

    GROUP: ClassVar = "Device"
    device: Annotated[Device, Named("--preset"), PRESET] = "sata-7200-1tb"
    """Disk: a preset (`gordon disk presets`) or a TOML file."""


@dataclass(frozen=True, kw_only=True)
class DiskDevice:
    """Changes of a disk."""

    GROUP: ClassVar = "Device"
    diskspecs: Annotated[Path | None, FILE] = None
    """Disk in DiskSim 4.0's format, in place of --preset. Files that it names are looked up in its
    folder."""
    set: Annotated[Settings, SETTING] = ()
    """Override a value of the disk: interface.queue_depth=1, cache.read_ahead=0B."""


@dataclass(frozen=True, kw_only=True)
class Probes:
    """How a disk is probed."""

    log: Annotated[Path, Named("-o", ("--out",)), FILE]
    """Log of the probes (Parquet)."""
    device: Annotated[Device | None, Named("--preset"), PRESET] = None
    """Probe a simulated disk in place of TARGET, to test a fit."""
    diskspecs: Annotated[Path | None, FILE] = None
    """Probe a simulated disk in DiskSim 4.0's format."""
    set: Annotated[Settings, SETTING] = ()
    """Override a value of the simulated disk."""
    lateness: Annotated[str, TIME] = "0ns"
    """Mean delay until the host of a simulated disk sees a completion. Default: 0."""
    write: bool = False
    """Write too, to measure write seeks and the write cache. DESTROYS THE DATA ON TARGET."""
    seed: Annotated[int, SEED] = 1
    """Random seed of the probed addresses."""


@dataclass(frozen=True, kw_only=True)
class DiskFit:
    """A fit of a disk to probes."""

    out: Annotated[str | None, Named("-o", ("--out",)), Text("FILE.toml")] = None
    """Disk file to write, for use with --preset."""
    like: Annotated[Device, PRESET] = DiskPreset.device
    """Disk from which to take what probes cannot measure: queue and power."""
    plot: Annotated[str | None, FILE] = None
    """Plot seek curve and zones: .png, .svg or .pdf."""


@dataclass(frozen=True, kw_only=True)
class FlashProbes:
    """The storage that a flash device is fitted to."""

    log: Annotated[Path, Named("-o", ("--out",)), FILE]
    """Log of the points (Parquet)."""
    device: Annotated[Device | None, Named("--preset"), PRESET] = None
    """Probe a simulated device in place of TARGET, to test a fit."""
    set: Annotated[Settings, SETTING] = ()
    """Override a value of the simulated device."""


@dataclass(frozen=True, kw_only=True)
class FlashFit:
    """A fit of a flash device to points."""

    out: Annotated[str | None, Named("-o", ("--out",)), Text("FILE.toml")] = None
    """Flash file to write, for use with --preset."""
    like: Annotated[Device, PRESET] = "nvme-tlc-1tb"
    """Device from which the search starts, and from which to take what bandwidths do not show:
    geometry, endurance and power."""
    seed: Annotated[int, SEED] = 1
    """Random seed of the simulated addresses."""


@dataclass(frozen=True, kw_only=True)
class Array:
    """Disks side by side."""

    GROUP: ClassVar = "Device"
    stripe: Annotated[int | None, COUNT] = None
    """Stripe over N disks (RAID-0), mirrors included. Default: no striping."""
    stripe_unit: Annotated[str | None, SIZE] = None
    """Stripe unit. Default: 64KiB."""
    copies: Annotated[int | None, COUNT] = None
    """Mirror each stripe member on N disks: --copies 2 is RAID-1 of two disks, --stripe 4
    --copies 2 is RAID-10 of two pairs. Default: 1."""
    bus_rate: Annotated[str | None, SIZE] = None
    """Bytes per second of the bus or host adapter that the disks share: 300MB. Default: not
    shared."""
    coalesce: Annotated[str | None, SIZE] = None
    """Merge queued requests with adjacent ones, up to this size. Default: do not merge."""
    scheduler: Annotated[str | None, Choice(SCHEDULERS)] = None
    """Order in which queued requests are served, by the drive or, if the drive has no queue, by the
    host. Default: the disk's."""


@dataclass(frozen=True, kw_only=True)
class Responses:
    """Times of requests in a file."""

    GROUP: ClassVar = "Output"
    responses_out: Annotated[Path | None, Named("--responses"), Text("FILE.csv")] = None
    """Write the response time of each request in ms, one per line."""


@dataclass(frozen=True, kw_only=True)
class DiskRun(DiskDevice, Array, Host, Responses):
    """A run on disks."""


#: Patterns with their operations; reads come first, so that no cache of writes is in their way.
STORAGE_PATTERNS = ("sequential-read", "random-read", "sequential-write", "random-write")
SIZES_RANGE = "4KiB..64MiB"
DEPTHS = (1, 32)


@dataclass(frozen=True, kw_only=True)
class StoragePreset:
    """Which simulated storage."""

    GROUP: ClassVar = "Device"
    preset: Annotated[Device | None, PRESET] = None
    """Simulated storage in place of TARGET: `gordon disk presets`, `gordon flash presets`, or a
    TOML file."""


@dataclass(frozen=True, kw_only=True)
class StorageGrid:
    """The points of a characterisation."""

    GROUP: ClassVar = "Load"
    sizes: Annotated[str | Sequence[str], SIZES] = SIZES_RANGE
    """Transfer sizes: the powers of two of a range, or a list with commas."""
    depths: Annotated[Sequence[int], Wholes()] = DEPTHS
    """Numbers of outstanding requests. Default: 1,32."""
    patterns: Annotated[Sequence[str] | None, Words("P,P...")] = None
    """Patterns: sequential-read, random-read, sequential-write, random-write. Default: all that are
    allowed."""


@dataclass(frozen=True, kw_only=True)
class StorageExtent:
    """The addresses and the amount of the requests of a point."""

    GROUP: ClassVar = "Load"
    span: Annotated[str | None, SIZE] = None
    """Size of the address range of the requests. Default: the whole target; 1 GiB for a scratch
    file or empty flash."""
    bytes: Annotated[str | None, SIZE] = None
    """Maximum bytes moved per point, but at least one full queue. Default: 4GiB; simulated
    256MiB."""
    seed: Annotated[int, SEED] = 1
    """Random seed of the request addresses."""


@dataclass(frozen=True, kw_only=True)
class StorageLoad(StorageExtent, StorageGrid):
    """Load of a characterisation, real or simulated."""

    GROUP: ClassVar = "Load"


@dataclass(frozen=True, kw_only=True)
class RealStorage:
    """How real storage is measured."""

    GROUP: ClassVar = "Real storage"
    seconds: Annotated[float, Seconds()] = 0.5
    """Real storage: seconds per point, after a warm-up of a fifth of that."""
    write: bool = False
    """Real storage: write to an existing file or device. DESTROYS ITS DATA."""


@dataclass(frozen=True, kw_only=True)
class SimulatedStorage(Array):
    """Changes of simulated storage."""

    GROUP: ClassVar = "Device"
    precondition: Annotated[float | None, Share("FRACTION")] = None
    """Simulated flash: fraction of the capacity to map before the run, in the steady state of
    random overwrites. Default: an empty device."""
    set: Annotated[Settings, SETTING] = ()
    """Simulated: override a value of the device."""


@dataclass(frozen=True, kw_only=True)
class BandwidthPlot:
    """A picture of a characterisation."""

    GROUP: ClassVar = "Output"
    plot: Annotated[str | None, PATH] = None
    """Plot bandwidth against transfer size: .png, .svg or .pdf."""


@dataclass(frozen=True, kw_only=True)
class Preconditioned:
    """The state of compared flash devices."""

    GROUP: ClassVar = "Device"
    precondition: Annotated[float | None, Share("FRACTION")] = None
    """Flash: fraction of the capacity to map before the run, in the steady state of random
    overwrites. Default: an empty device."""
