"""The keys of a fitted flash device, and of its comparison with a measured one."""

from typing import NotRequired, TypedDict, final


class ComparedPoint(TypedDict):
    """A point on the measured storage and on the simulated device."""

    #: Order and operation, such as `random-read`.
    pattern: str
    size_bytes: int
    queue_depth: int
    measured_mb_s: float
    simulated_mb_s: float
    #: Simulated bandwidth over the measured one.
    ratio: float


class Errors(TypedDict):
    """The relative errors of points: 0.1 if the larger bandwidth is 1.1 times the smaller one."""

    pattern: str
    points: int
    median: float
    #: Not exceeded by 90 % of the points.
    p90: float
    largest: float


class FittedValue(TypedDict):
    """A value of the device."""

    key: str
    value: float
    #: Unit of the values: ns, B/s, Hz, or none.
    unit: str
    #: The value of the device that was the start.
    start: float
    #: Whether the points say anything of this value; otherwise it is that of the start.
    determined: bool
    #: With values from `low` to `high`, and all others unchanged, bandwidths are off by at most 1 %
    #: more; `None` for a value that is not determined, and for an end beyond ten times the value.
    low: float | None
    high: float | None


class FitProvenance(TypedDict):
    """The inputs of a fit."""

    version: str
    log: str
    like: str
    seed: int


@final
class FlashFit(TypedDict):
    """A flash device that is fitted to measured points."""

    #: The storage that was measured.
    storage: str
    values: list[FittedValue]
    points: list[ComparedPoint]
    #: All points first, then those of each pattern.
    errors: list[Errors]
    warnings: list[str]
    provenance: FitProvenance


class ValidationProvenance(TypedDict):
    """The inputs of a validation."""

    version: str
    device: str
    seed: int
    #: When it was measured.
    time: NotRequired[str]


@final
class FlashValidation(TypedDict):
    """A simulated flash device next to measured storage."""

    #: The storage that was measured.
    storage: str
    points: list[ComparedPoint]
    #: All points first, then those of each pattern.
    errors: list[Errors]
    warnings: list[str]
    provenance: ValidationProvenance
