"""Caches under a trace. Sizes and times are text (`256KiB`, `1ms`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from gordon.options import Device, Path, Settings
from gordon.options.devices import POLICIES
from gordon.options.kinds import (
    COUNT,
    FILE,
    PRESET,
    SEED,
    SETTING,
    SIZE,
    TIME,
    Amount,
    Choice,
    Named,
    Number,
    Share,
    Text,
    Wholes,
    Words,
)

LAYOUTS = ("log", "sets", "log-sets")
#: Latencies of Figure 3 of the FlashCache paper.
LATENCIES = (
    *("0us", "12us", "25us", "50us", "100us"),
    *("200us", "400us", "800us", "1600us", "3300us"),
)


@dataclass(frozen=True, kw_only=True)
class Objects:
    """The unit of a trace that is cached."""

    GROUP: ClassVar = "Trace input"
    objects: bool = False
    """Treat each request of a block trace as one object, identified by its start address."""


@dataclass(frozen=True, kw_only=True)
class Warmup:
    """The requests that are left out of the results."""

    GROUP: ClassVar = "Cache"
    warmup: Annotated[str | None, Text("N|PART|TIME")] = None
    """Start warm: exclude the first requests of the trace from all results: a number (100k), a part
    of the trace (20%) or a time (1h). A part reads the trace twice."""


@dataclass(frozen=True, kw_only=True)
class Cache:
    """A cache."""

    GROUP: ClassVar = "Cache"
    policy: Annotated[str, Text("NAME")] = "lru"
    """Replacement policy: one of `gordon cache policies`, a class in a file of yours
    (mine.py:Fifo), or flashcache for two levels, DRAM and flash."""
    dram: Annotated[str, SIZE]
    """DRAM size. It holds objects or pages only, without metadata; with flashcache it includes
    tables and write buffer."""
    flash: Annotated[str, SIZE] = "0"
    """flashcache: capacity of the flash."""


@dataclass(frozen=True, kw_only=True)
class DramPolicy:
    """The first of two levels."""

    GROUP: ClassVar = "Cache"
    dram_policy: Annotated[str, Text("NAME")] = "lru"
    """flashcache: replacement policy of the primary page cache in DRAM."""


@dataclass(frozen=True, kw_only=True)
class FlashCacheDesign:
    """The second of two levels, and what is below it."""

    GROUP: ClassVar = "Two levels"
    preset: Annotated[Device, PRESET] = "cases-2006"
    """flashcache: a design (`gordon cache presets`) or a TOML file."""
    set: Annotated[Settings, SETTING] = ()
    """flashcache: override a value of the design: cache.ways=8, wear.rules=none."""
    ecc: Annotated[int | None, COUNT] = None
    """flashcache: number of wrong bits corrected in each 512 bytes of flash. The endurance of a
    block and the time of a read depend on it. Default: 1, the code of the rating."""
    backend: Annotated[Device, Text("disk|origin|DISK")] = "disk"
    """flashcache: storage below the cache. disk: a disk with a fixed access time; origin: a server
    over a network; or a simulated disk, a preset (`gordon disk presets`) or a TOML file."""
    speed: Annotated[float | None, Number()] = None
    """flashcache: speed up the trace's arrivals by this factor."""
    rate: Annotated[float | None, Number("N")] = None
    """flashcache: requests per second, evenly spaced, in place of the trace's times. The pages of a
    request arrive together."""
    outstanding: Annotated[int | None, COUNT] = None
    """flashcache: number of outstanding requests in a closed loop, in place of the trace's
    times."""
    think: Annotated[str | None, TIME] = None
    """flashcache: think time between an answer and the next request of a closed loop."""


@dataclass(frozen=True, kw_only=True)
class FlashCacheOptions(DramPolicy, FlashCacheDesign):
    """Caches with two levels."""


@dataclass(frozen=True, kw_only=True)
class Tiers:
    """DRAM and flash for objects."""

    GROUP: ClassVar = "Cache"
    dram: Annotated[str, SIZE]
    """DRAM size, for objects and for the index of flash."""
    flash: Annotated[str, SIZE]
    """Flash size available to the cache."""
    layout: Annotated[str, Choice(LAYOUTS)] = "log-sets"
    """Layout of objects in flash. log: one log of segments; sets: one set per page, chosen by the
    key; log-sets: a log whose objects move to their sets in batches."""


@dataclass(frozen=True, kw_only=True)
class TieredOptions:
    """How objects are kept in flash."""

    GROUP: ClassVar = "Cache"
    admission: Annotated[str, Text("KIND")] = "all"
    """Admission policy of flash: all; random:0.5, a random fraction; hits:2, objects with that many
    hits in DRAM; ghost:64MiB, objects that a ghost list of that size holds; years:5, a random
    fraction such that the flash lasts that long."""
    set_size: Annotated[str, SIZE] = "4KiB"
    """sets, log-sets: size of a set."""
    segment: Annotated[str, SIZE] = "256KiB"
    """log, log-sets: size of a segment."""
    log_share: Annotated[float, Share(is_checked=True)] = 0.05
    """log-sets: fraction of the flash that is the log."""
    threshold: Annotated[int, COUNT] = 2
    """log-sets: minimum number of objects that move to a set together."""
    set_largest: Annotated[str | None, SIZE] = None
    """log-sets: largest object that moves to a set. Default: the size of a set."""
    set_saving: Annotated[str, SIZE] = "0"
    """log-sets: bytes by which an object is smaller in a set than in the trace, as in the trace of
    gordon cache serve."""
    no_reinsert: bool = False
    """log, log-sets: do not reinsert objects with hits in the log when their segment is evicted."""
    journal: Annotated[str, SIZE] = "0"
    """Size of a half of the journal of removals: journal_capacity of gordon cache stat. 0: no
    journal."""
    journal_batch: Annotated[float, Number("N", 1)] = 1.0
    """Mean number of removals in a write of the journal: journal_recorded / journal_writes of
    gordon cache stat; about 1 with one client."""
    spare: Annotated[float, Share(is_checked=True)] = 0.07
    """Over-provisioning: fraction of the flash's pages that the cache cannot use."""
    pages_per_block: Annotated[int, COUNT] = 256
    """Pages of 4 KiB in an erase block."""
    victim: Annotated[str, Choice(POLICIES)] = "greedy"
    """Victim selection of the flash's garbage collection."""
    endurance: Annotated[int, COUNT] = 3000
    """Rated erases per block."""
    seed: Annotated[int, SEED] = 1
    """Random seed."""


@dataclass(frozen=True, kw_only=True)
class CacheSweep:
    """Caches of many sizes."""

    GROUP: ClassVar = "Cache"
    policies: Annotated[str | Sequence[str], Named("--policy"), Text("NAME,NAME...")] = "lru"
    """Replacement policies (`gordon cache policies`), or all; mine.py:Fifo is a class of yours."""
    dram: Annotated[str | Sequence[str], Text("SIZES")]
    """Cache sizes: 32MiB..1GiB doubles from the first to the last; or a list with commas."""
    flash: Annotated[str | Sequence[str] | None, Text("SIZES")] = None
    """flashcache: sizes of the flash, 0,128MiB..2GiB. 0 is DRAM alone, with the same model of time
    and power."""
    cores: Annotated[Sequence[int], Wholes()] = ()
    """Also compute the network bandwidth of web servers with these numbers of cores: 4,8,12. Each
    request of the trace is then a request for a file, cached by pages, or whole with --objects."""


@dataclass(frozen=True, kw_only=True)
class WebLoad:
    """Requests of a web server."""

    output: Annotated[Path, Named("-o", ("--output", "--out")), FILE]
    """Trace to write, one Parquet file."""
    files: Annotated[str | None, SIZE] = None
    """Total size of the files. Default: 1.5GB for surge, 1.8GB for specweb99."""
    requests: Annotated[int, Amount(1)] = 1_000_000
    """Number of requests: 10M, 250k. Default: 1M."""
    clients: Annotated[int, COUNT] = 24
    """Number of clients, each with one request at a time."""
    seed: Annotated[int, SEED] = 1
    """Random seed. The same seed gives the same trace."""


@dataclass(frozen=True, kw_only=True)
class SecondLevel:
    """A memory below DRAM, whose latency varies."""

    GROUP: ClassVar = "Cache"
    dram: Annotated[str, SIZE] = "128MiB"
    """DRAM size of the primary page cache."""
    cores: Annotated[Sequence[int], Wholes()] = (4, 8, 12)
    """Numbers of cores of the web servers. Default: 4,8,12."""
    latencies: Annotated[Sequence[str], Words("TIME,TIME...")] = LATENCIES
    """Access latencies of the second level. Default:
    0us,12us,25us,50us,100us,200us,400us,800us,1600us,3300us."""


@dataclass(frozen=True, kw_only=True)
class ExactCurve:
    """A curve without sampling."""

    GROUP: ClassVar = "Cache"
    exact: bool = False
    """Count every object. This is the default."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A miss-ratio curve."""

    GROUP: ClassVar = "Cache"
    dram: Annotated[str | Sequence[str] | None, Text("SIZES")] = None
    """Cache sizes: 32MiB..1GiB doubles from the first to the last; or a list with commas. Default:
    from a thousandth of the footprint to the whole footprint."""
    sample: Annotated[float | None, Share("RATE", is_checked=True)] = None
    """Sample this fraction of the objects: 0.01 (SHARDS with a fixed rate)."""
    keep: Annotated[int | None, COUNT] = None
    """Sample at most this many objects at a time: 8192 (SHARDS with a fixed size)."""
