"""The keys of a disk that is fitted to probes."""

from typing import NotRequired, TypedDict

from gordon.reports.storage import TargetDescription


class Probed(TypedDict):
    """The disk that was probed, and how."""

    gordon: str
    seed: int
    write: bool
    target: str
    simulated: bool
    #: Of a simulated disk.
    lateness: NotRequired[str]
    #: Of a real one.
    storage: NotRequired[TargetDescription]
    capacity_bytes: int
    sector_bytes: int
    probes: int


class ZoneFound(TypedDict):
    """Tracks of one size."""

    first_sector: int
    sectors_per_track: int


class SeekFound(TypedDict):
    """A seek over a number of cylinders."""

    cylinders: int
    ms: float
    within_ms: float


class CacheFound(TypedDict):
    """The read cache."""

    segments: int
    segment_bytes: int
    read_ahead_bytes: int
    bytes: int


class WritesFound(TypedDict):
    """Writes and the write cache."""

    #: Whether a write completes when it is on the medium.
    through: bool
    seek_ms: dict[str, float]
    cache_bytes: int | None
    extents: int | None


class Parameters(TypedDict):
    """The parameters of a disk; what was not seen is None."""

    sectors: int
    revolution_ms: float
    rpm: int
    heads: int | None
    zones: list[ZoneFound]
    cylinders: int
    track_skew_ms: float
    cylinder_skew_ms: float
    head_switch_ms: float | None
    seek_ms: dict[str, float]
    #: Mean relative distance of the seeks from their curve.
    seek_curve_off: float
    seeks: list[SeekFound]
    overhead_us: float | None
    interface_mb_s: float | None
    read_cache: CacheFound | None
    writes: WritesFound | None


class Goodness(TypedDict):
    """How closely the fitted disk follows the probed one."""

    reads: int
    demerit_ms: float
    demerit_of_mean: float
    chance_ms: float
    mean_response_ms: float
    fitted_mean_response_ms: float


class FitProvenance(TypedDict):
    """The inputs of a fit."""

    gordon: str
    log: str
    like: str


class FitReport(TypedDict):
    """A disk that is fitted to probes."""

    probed: Probed
    parameters: Parameters
    goodness: Goodness
    provenance: FitProvenance
