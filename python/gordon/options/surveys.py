"""Surveys of jobs and services over machines and designs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, ClassVar

from gordon.options import Path, Settings
from gordon.options.kinds import (
    COUNT,
    FILE,
    PATH,
    PRESET,
    SETTING,
    SHARE,
    Choice,
    Day,
    Group,
    Named,
    Number,
    Seconds,
    Share,
    Text,
    Whole,
    Words,
)
from gordon.options.sweeps import ENGINES

#: Sources of the CPU time that is simulated.
CHARGES = ("auto", "machine", "command")
MODELS = ("job", "tasks", "paper", "stages")


@dataclass(frozen=True, kw_only=True)
class Bundled:
    """The traces that come with Gordon."""

    bundled: bool = False
    """Survey the traces that come with gordon: the seven jobs of the Gordon paper. Implies --space
    gordon-2009, and for a grid --model paper --nodes 32, unless given."""


@dataclass(frozen=True, kw_only=True)
class UseOptions:
    """How machines are used, for what a run costs in all."""

    GROUP: ClassVar = "Use of machines"
    years: Annotated[float | None, Number("YEARS")] = None
    """Years for which a machine is kept. Default: ownership.years of the space, else 4."""
    runs_per_day: Annotated[float | None, Number("N")] = None
    """Runs of the job a day on machines that are bought, which do nothing else. Default: as many
    as take ownership.hours_per_year of the space, else half of the year."""
    price_kwh: Annotated[float, Number("PRICE")] = 0.13
    """Price of a kWh, in the currency of the space."""
    pue: Annotated[float, Number("X")] = 1.56
    """Power usage effectiveness: energy of the building for each joule of its machines."""
    grid: Annotated[str | None, Text("REGION|GRAMS")] = None
    """Where the electricity comes from: a country or a region of a cloud (`gordon cost grids`), or
    grams of CO2-equivalent of a kWh. Default: the region of the space, else WORLD."""


@dataclass(frozen=True, kw_only=True)
class GoalOptions:
    """Goals by which designs are chosen, for jobs and services on machines."""

    GROUP: ClassVar = "Goals"
    objective: Annotated[str | Sequence[str], Words("NAME,...")] = ()
    """Objectives of the comparison: time, price, energy, tco, carbon, life, with commas between.
    tco is what a run costs in all, or a month of a service; life the years until flash is worn. The
    front is of these, and the first one but time recommends a design. Default: time, and price and
    energy if known; of a service the price of a month."""
    deadline: Annotated[float | None, Seconds()] = None
    """Recommend the best that ends within this time, such as 10min, by the upper end of its
    range."""
    max_power: Annotated[str | None, Text("POWER")] = None
    """Leave out designs whose nodes together draw more while they are busy, such as 500W."""
    max_price: Annotated[float | None, Number("PRICE")] = None
    """Leave out designs on which a run, or a month of a service, has a higher price."""
    min_life: Annotated[float | None, Number("YEARS")] = None
    """Leave out designs whose flash is worn earlier, and those with an unknown life."""


@dataclass(frozen=True, kw_only=True)
class SpinDownOptions:
    """Disks that sleep inside a job on machines."""

    GROUP: ClassVar = "Use of machines"
    spin_down: Annotated[str | float | None, Text("TIME|auto")] = None
    """Put disks in standby after this time without requests inside the job, such as 15s; auto: the
    break-even time of each disk, from which on standby saves energy. Default: never; the result
    says what it would save."""


@dataclass(frozen=True, kw_only=True)
class ServiceOptions:
    """A load in place of a job."""

    GROUP: ClassVar = "Service"
    service: bool = False
    """The traces are records of a service, of one node each, and not of a job: find the machines,
    and how many of them, that keep up with the load."""
    headroom: Annotated[float | None, Share(is_checked=True)] = None
    """Of a service: the share of processor, memory, storage and network that is free in 99% of the
    time, below 100%. Default: 30%."""
    requests_per_s: Annotated[float | None, Number("N")] = None
    """Of a service: requests that it answers a second, the mean over the record, for the cost of a
    million. Traces do not count them."""


@dataclass(frozen=True, kw_only=True)
class SurveyOptions(UseOptions, GoalOptions, ServiceOptions, SpinDownOptions):
    """A survey."""

    space: Annotated[str, PRESET] = "modern"
    """Design space: a shipped one (`gordon spaces`) or a TOML file. gordon-2009 is that of the
    Gordon paper, and is compared with its results."""
    nodes: Annotated[int | str | Sequence[int] | None, Text("N|N..M|N,M")] = None
    """Nodes of a cluster of designs. For machines, the numbers of nodes to compare: 2..8 or 2,4,8.
    Default: as many as traces; 32 for one trace of a grid; 1 to 64 for the tasks model; 1..8 of a
    service."""
    shift: Annotated[float, SHARE] = 0.05
    """Maximum shift in time between nodes that run copies of one trace, as a fraction of its
    length. 0: all nodes are in the same phase; 1: at any time each phase runs on some node."""
    set: Annotated[Settings, SETTING] = ()
    """Override a value, of a grid of designs: budget=200W, cpu.atom.ipc=0.6, node.network=...; of a
    machine: machines.ID.price_per_hour=0.2; of the tasks model: executor.cores=2,
    executor.memory=4GiB, output.replicas=3, driver.speed=1.5."""
    charge: Annotated[str, Choice(CHARGES)] = "auto"
    """Simulate the CPU time and cache misses of the traced command only, or of the whole machine;
    auto: of the command where the trace has them. Network and block I/O are always those of the
    machine."""
    reference: Annotated[str | float | None, Text("NAME|NUMBER")] = None
    """Machine on which the traces were recorded: a machine of any shipped space, its processor as
    /proc/cpuinfo names it, or the speed of a core as the space counts it. For a grid of designs:
    the processor, as a part such as core2, or its instructions per cycle. Default: the processor
    that the manifest names, else 1.0; for a grid the part that it names, else 1.5."""
    model: Annotated[str | None, Choice(MODELS)] = None
    """job: time of one job of fixed work, for machines. tasks: time of an application of Spark on
    any number of them, from its event log. The others are for grids of designs, such as
    gordon-2009. paper: throughput, each second takes the longest of processor, storage and network.
    stages: as paper, and nodes wait for each other only at the ends of stages. Default: for a space
    with machines tasks of an event log or of a run that has one, else job; else paper."""
    stages: Annotated[Path | None, FILE] = None
    """Stages of the job, as JSON: {"stages": [{"name": "map", "start_s": 0, "end_s": 12.5}]}, in
    seconds after the start of the traces. The stages model uses them; of machines, the limits of
    each stage are reported."""
    partitions: Annotated[int | None, COUNT] = None
    """Of the tasks model: tasks of each stage that reads shuffle data, 1 to 100,000. Default: as
    recorded."""
    rows: Annotated[int, Whole(0), Group("Output")] = 1000
    """Designs in the result; those on the Pareto front and the named ones are always in it."""
    table: Annotated[Path | None, Named("--parquet"), Text("PATH"), Group("Output")] = None
    """Write a table with a row for each design, however many, as Parquet."""
    cache: Annotated[Path | None, Text("DIR"), Group("Computation")] = None
    """Keep the replays of traces on storages in this folder, and use those that are there, of any
    survey. Default: keep none."""
    engine: Annotated[str | None, Choice(ENGINES), Group("Computation")] = None
    """Compute replays in processes: loky on this machine, the others on the cluster that
    RAY_ADDRESS, DASK_SCHEDULER_ADDRESS or MASTER names. Default: threads of this process."""
    workers: Annotated[int | None, COUNT, Group("Computation")] = None
    """Processes of the engine, which is loky if none is given. Default: one per core."""


@dataclass(frozen=True, kw_only=True)
class ExplainOptions:
    """A design of the result of a survey."""

    design: Annotated[str | None, Text("ID")] = None
    """Id of the design. Default: the recommended one, else the fastest."""


@dataclass(frozen=True, kw_only=True)
class AllDesigns:
    """Which designs are on the screen."""

    GROUP: ClassVar = "Output"
    show_all: Annotated[bool, Named("--all")] = False
    """Print every design, not only the best ones."""


@dataclass(frozen=True, kw_only=True)
class SurveyFiles:
    """Files of a survey."""

    GROUP: ClassVar = "Output"
    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write the designs as CSV (-: stdout); of several jobs, their mean."""
    out: Annotated[str | None, Named("-o", ("--out", "--report")), PATH] = None
    """Write the report, one HTML file."""


@dataclass(frozen=True, kw_only=True)
class PriceUpdate:
    """A space with other prices."""

    source: Annotated[str | None, Named("--from"), Text("FILE|URL")] = None
    """Price file of the provider. Default: that of NAME, from GitHub."""
    day: Annotated[datetime | None, Named("--date"), Day()] = None
    """Day of the prices, such as 2026-08-03, for a price file that does not state it."""
    out: Annotated[str, Named("-o", ("--output",)), FILE]
    """Space file to write; `-`: stdout."""
