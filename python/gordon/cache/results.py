"""The types of the results of caches: what the core reports, and what the package adds."""

from typing import NotRequired, TypedDict, TypeGuard, final

from gordon.reports.cache import (
    CacheReport,
    CurveReport,
    FlashCacheReport,
    Provenance,
    TieredReport,
)


class ServedLoad(TypedDict):
    """The figures of a web server under its load."""

    requests_per_s: float
    #: Sent and received.
    bandwidth_bit_s: float
    response_s: float
    second_accesses_per_s: float
    disk_accesses_per_s: float
    #: By station: the part of its servers that is busy.
    utilization: dict[str, float]


class ServerOfPoint(ServedLoad):
    """A web server with the caches of a point."""

    cores: int
    cycles_per_request: float


class TwoLevelPoint(FlashCacheReport):
    """A cache of two levels in a sweep."""

    #: By number of cores, if any are asked for.
    servers: NotRequired[list[ServerOfPoint]]


@final
class OneLevelSweep(TypedDict):
    """Caches of one level."""

    points: list[CacheReport]


@final
class TwoLevelSweep(TypedDict):
    """Caches of two levels."""

    points: list[TwoLevelPoint]


Sweep = OneLevelSweep | TwoLevelSweep


def has_one_level(swept: Sweep) -> TypeGuard[OneLevelSweep]:
    """Whether the caches of a sweep have one level."""
    return "levels" not in swept["points"][0]


def has_two_levels(swept: Sweep) -> TypeGuard[TwoLevelSweep]:
    """Whether the caches of a sweep have two levels."""
    return "levels" in swept["points"][0]


#: The report of a replay through one cache of one or two levels.
Replay = CacheReport | FlashCacheReport
#: All reports that have tables.
Tabled = CacheReport | FlashCacheReport | OneLevelSweep | TwoLevelSweep | CurveReport | TieredReport
#: All reports that have a page.
Paged = OneLevelSweep | TwoLevelSweep | CurveReport | TieredReport


class LatencyPoint(TypedDict):
    """A web server with a second level of one latency."""

    latency_us: float
    cores: int
    bandwidth_bit_s: float
    requests_per_s: float
    #: Share of the bandwidth that the latency costs.
    loss: float


class ByLatency(TypedDict):
    """The bandwidth of web servers by the latency of a second level."""

    kind: str
    requests: int
    dram_bytes: int
    dram_misses: float
    dram_byte_misses: float
    cycles_per_request: float
    points: list[LatencyPoint]
    warnings: list[str]
    provenance: Provenance
