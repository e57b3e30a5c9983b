"""The keys of `run.json`, which describes a run, and of the requests for captures of its nodes.

Runs of older versions lack some keys: those that are not required.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NotRequired, TypedDict

from gordon import fields
from gordon.reports.shared import NamedStage
from gordon.reports.trace import Scope
from gordon.reports.workload import CorpusManifest

#: Parameters of a job, by name: whole numbers or words, as the job has them.
Parameters = Mapping[str, Any]
#: A node's trace is whole; its processes or its agent were lost, and the trace ends there; there is
#: no trace.
Status = Literal["complete", "lost", "missing"]
#: A node does the work of the job, or it drives the others.
Role = Literal["worker", "driver"]
#: Sums over a trace.
Amount = Literal["cpu_s", "read_bytes", "write_bytes", "rx_bytes", "tx_bytes"]
Bound = Literal["at least", "at most"]
#: With whose amount the nodes' is compared.
Reference = Literal["machine", "engine", "corpus"]


class CaptureScope(TypedDict):
    """A capture that an agent is to start: of a machine, or of a node on it."""

    kind: Literal["machine", "node"]
    name: str
    #: Folder of the trace; the agent chooses one without it.
    out: NotRequired[str]
    processes: NotRequired[list[int]]
    cgroup: NotRequired[str]
    netns: NotRequired[str | None]
    devices: NotRequired[list[str]]
    cores: NotRequired[float | None]


class ClockStamps(TypedDict):
    """Four timestamps in nanoseconds since 1970; t1 and t4 are of the coordinator's clock."""

    t1: int
    t2: int
    t3: int
    t4: int


class ClockReport(TypedDict):
    """The clock of a host."""

    #: By how much it was ahead of the coordinator's at the start.
    offset_ns: int
    round_trip_ns: int
    #: By how much it ran faster, in parts of 10^9.
    drift_ppb: float
    start: ClockStamps
    end: ClockStamps


class Totals(TypedDict):
    """Sums over a trace; None for what the trace lacks."""

    cpu_s: float | None
    read_bytes: int | None
    write_bytes: int | None
    rx_bytes: int | None
    tx_bytes: int | None


class NodeLoad(TypedDict):
    """Throttled time and pressure of a node; None for what its trace lacks."""

    throttled_s: float | None
    psi_cpu_some_s: float | None
    psi_io_full_s: float | None


class RunNode(TypedDict):
    """A node of a run."""

    name: str
    host: str
    folder: str
    role: NotRequired[Role]
    status: Status
    clock: ClockReport | None
    totals: NotRequired[Totals | None]
    load: NotRequired[NodeLoad | None]
    scope: NotRequired[Scope | None]


class MachineLoad(TypedDict):
    """The load of a machine over a run; None for what was not counted."""

    host: str
    cores: int | None
    memory_bytes: int | None
    memory_peak_bytes: int | None
    span_s: float | None
    cpu_s: float | None
    steal_s: float | None
    full_s: float | None
    throttled_s: float | None
    psi_cpu_some_s: float | None
    psi_io_full_s: float | None
    psi_memory_some_s: float | None


class Sums(TypedDict):
    """Sums over the nodes of a run, or over their machines."""

    cpu_s: float
    read_bytes: int
    write_bytes: int
    rx_bytes: int
    tx_bytes: int


#: Keys that are words of Python.
_ComparedWith = TypedDict("_ComparedWith", {"with": Reference})
_JobClass = TypedDict("_JobClass", {"class": NotRequired[str | None]})


class Comparison(_ComparedWith):
    """An amount of the nodes next to that of another party, whose name is `with` and a key."""

    name: str
    bound: Bound
    nodes: float
    machine: NotRequired[float]
    engine: NotRequired[float]
    corpus: NotRequired[float]
    ratio: float | None
    passed: bool


class RunTotals(TypedDict):
    """Totals of a run, and their comparisons."""

    nodes: Sums
    #: None if the totals of a machine are unknown.
    machine: Sums | None
    #: Sums over the tasks, by the names of columns.
    engine: NotRequired[dict[str, int]]
    checks: list[Comparison]


class JobFigures(TypedDict):
    """The result of a job: its id, its complete parameters, and its counts."""

    job: str
    parameters: Parameters
    records: NotRequired[int]
    bytes: NotRequired[int]
    pages: NotRequired[int]


class RunJob(_JobClass):
    """The job of a run: one of Table 2, or a program."""

    id: str
    job: NotRequired[str]
    parameters: NotRequired[Parameters]
    records: NotRequired[int]
    bytes: NotRequired[int]
    pages: NotRequired[int]
    app: NotRequired[str]
    arguments: NotRequired[list[str]]
    py_files: NotRequired[list[str]]


class Engine(TypedDict):
    """The engine that ran a job."""

    name: str
    version: str
    java: str
    python: str
    settings: Mapping[str, str | None]


class Limits(TypedDict):
    """The limits of each node; None without a limit."""

    cores: float | None
    memory_bytes: int | None
    network: str | None
    disk_bytes: int | None
    disk_bytes_per_s: NotRequired[int | None]


class OutputCheck(TypedDict):
    """A check of an output."""

    name: str
    passed: bool
    detail: str


class Verification(TypedDict):
    """The checks of the output of a job."""

    passed: bool
    checks: list[OutputCheck]


class RunInput(CorpusManifest):
    """The generated input of a run."""

    #: Seconds in which it was generated.
    time_s: float


class RunReport(TypedDict):
    """`run.json`. While a run is going, the keys of what has not happened yet are missing."""

    format: str
    version: int
    gordon: str
    warnings: list[str]
    nodes: NotRequired[list[RunNode]]
    machines: NotRequired[list[MachineLoad]]
    totals: NotRequired[RunTotals]
    command: NotRequired[list[str]]
    start_unix_ns: NotRequired[int]
    duration_s: NotRequired[float]
    interval_ns: NotRequired[int]
    exit_status: NotRequired[int]
    job: NotRequired[RunJob]
    engine: NotRequired[Engine]
    limits: NotRequired[Limits]
    data: NotRequired[RunInput]
    event_log: NotRequired[str | None]
    stages: NotRequired[list[NamedStage]]
    verification: NotRequired[Verification]
    #: The error that ended the run.
    error: NotRequired[str]


class RunResult(fields.RunResult):
    """A run of a distributed job."""

    ROWS: ClassVar = "nodes"

    def says(self) -> str:
        status = self.get("exit_status")
        ended = "" if status is None else f", exit status {status}"
        return f"{len(self.get('nodes', []))} nodes{ended}"
