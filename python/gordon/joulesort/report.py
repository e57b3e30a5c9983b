"""The keys of the report of a JouleSort benchmark."""

from typing import NotRequired, TypedDict

from gordon.energy.account import Account, Efficiency
from gordon.energy.meter import How
from gordon.energy.record import Spread, Used
from gordon.energy.series import Summary


class CheckReport(TypedDict):
    """A condition, whether it holds, the evidence, and the name of its failure."""

    what: str
    #: None if it is unknown.
    held: bool | None
    how: str
    failure: str


class NeedReport(TypedDict):
    """A requirement of an entry."""

    what: str
    have: bool
    now: str
    source: str


# The key `class` is a word of Python.
_Class = TypedDict("_Class", {"class": NotRequired[str]})


class Category(_Class):
    """The category of a number of records."""

    records: int
    #: None if it is not one.
    name: str | None
    bytes: int
    ascii: bool


class PhaseEnergy(TypedDict):
    """The energy and power of a phase by one meter; None if the phase is too short."""

    meter: str
    how: How
    energy_j: float | None
    mean_w: float | None


class PhaseReport(TypedDict):
    """A phase over all runs; None for what is unknown of the start of the program."""

    name: str
    how: How
    time_s: Summary | None
    cpu_s: float | None
    read_bytes: float | None
    written_bytes: float | None
    meters: list[PhaseEnergy]


class Run(Used):
    """A run of the sort."""

    begin_s: float
    end_s: float
    #: Duplicate keys of its output.
    duplicates: int


class Skewed(Used):
    """The sort of skewed keys."""

    #: Its time, relative to the other runs.
    time_ratio: float
    duplicates: int
    #: Whether the output is right, and also fast enough.
    right: bool
    held: bool


class Clocks(TypedDict):
    """The least and the highest clock of the processors."""

    least: float
    most: float


class MachineReport(TypedDict):
    """The machine on which the benchmark ran."""

    processor: str
    processors: int | None
    governors: list[str] | None
    clock_mhz: Clocks | None
    memory_bytes: int
    kernel: str
    storage: str | None


class Input(TypedDict):
    """The records that were sorted."""

    records: int
    checksum: str


class Outcome(TypedDict):
    """The result of the benchmark, by one meter."""

    meter: str
    measures: str
    how: How
    resolution_s: float | None
    mean_w: Summary | None
    energy_j: Summary | None
    records_per_joule: Efficiency | None


class Report(TypedDict):
    """The report of the benchmark."""

    version: str
    started_unix_s: float
    machine: MachineReport
    command: list[str]
    category: Category
    interval_s: float
    time_s: Spread
    runs: list[Run]
    input: Input
    phases: list[PhaseReport]
    meters: list[Account]
    #: None if a check failed.
    result: Outcome | None
    failed: list[CheckReport]
    checks: list[CheckReport]
    skewed: Skewed | None
    submission: list[NeedReport]
