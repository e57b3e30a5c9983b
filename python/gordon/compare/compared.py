"""The types of a comparison's report."""

from typing import Literal, TypedDict

from gordon.reports.devices import DiskRun, FlashRun
from gordon.reports.storage import MeasuredTimes

#: Flash and disks are simulated, measured storage is estimated from measured single requests.
DeviceKind = Literal["flash", "disk", "measured"]


class Latencies(TypedDict):
    """Latencies of simulated requests in microseconds."""

    requests: int
    mean: float | None
    p50: float | None
    p99: float | None
    p999: float | None
    max: float | None


class ComparedDevice(TypedDict):
    """A device under the trace. What is unknown is None: the latencies, the energy and the life of
    measured storage, and bounds of what is simulated."""

    id: str
    kind: DeviceKind
    #: Time of the trace.
    time_s: float | None
    #: Bounds of the time.
    time_s_low: float | None
    time_s_high: float | None
    bandwidth_mb_s: float | None
    iops: float | None
    read: Latencies | None
    write: Latencies | None
    energy_j: float | None
    endurance_used: float | None
    lifetime_years: float | None
    #: The device's own report.
    report: FlashRun | DiskRun | MeasuredTimes


class Provenance(TypedDict):
    """Inputs of a comparison."""

    version: str
    seed: int
    trace: str


class Compared(TypedDict):
    """The devices in the order in which they were given."""

    kind: str
    sentence: str
    devices: list[ComparedDevice]
    warnings: list[str]
    provenance: Provenance
