"""Meters of energy, and what is measured with them. Times are in seconds."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

from gordon.options.kinds import COUNT, SIZE, Amount, Each, Folder, Named, Seconds, Text


@dataclass(frozen=True, kw_only=True)
class Metering:
    """Which meters are read, and when."""

    GROUP: ClassVar = "Meters"
    meters: Annotated[Sequence[str], Named("--meter"), Each("NAME")] = ()
    """Meter: one of `gordon meter list`, or command:CMD, redfish:URL, replay:FILE.csv,
    model:MACHINE; repeatable. Default: all that are found, else model."""
    interval_s: Annotated[float, Named("--interval"), Seconds(0.01)] = 1.0
    """Time between samples, at least 10ms. Default: 1s."""


@dataclass(frozen=True, kw_only=True)
class Watching:
    """How long power is shown."""

    count: Annotated[int | None, COUNT] = None
    """Number of samples to print. Default: until Ctrl-C."""


@dataclass(frozen=True, kw_only=True)
class Rest:
    """Time that is measured before and after the runs."""

    GROUP: ClassVar = "Meters"
    idle_s: Annotated[float, Named("--idle"), Seconds()] = 10.0
    """Length of the idle baseline before the first run; 0: none. Default: 10s."""
    tail_s: Annotated[float, Named("--tail"), Seconds()] = 5.0
    """Maximum time to measure after the last run, until power is back at idle; 0: none. Default:
    5s."""


@dataclass(frozen=True, kw_only=True)
class MeteredRuns:
    """The runs of a command."""

    runs: Annotated[int, COUNT] = 1
    """Number of consecutive runs."""
    records: Annotated[int | None, Amount(1)] = None
    """Number of records that a run processes, as 1e8, to print records per joule."""


@dataclass(frozen=True, kw_only=True)
class Root:
    """Where the files of the system are."""

    GROUP: ClassVar = "Meters"
    root: Annotated[Path, Folder()] = Path("/")
    """Folder that contains sys and proc, for files copied from another machine. Default: /."""


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """The runs of JouleSort."""

    records: Annotated[int, Amount(1)]
    """Number of records of 100 bytes. The benchmark's categories are 1e8, 1e9, 1e10 and 1e12."""
    runs: Annotated[int, COUNT] = 5
    """Number of consecutive runs. The rules require five."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkFolder:
    """Where the files of JouleSort are."""

    folder: Annotated[Path, Named("--dir"), Folder(exists=False)] = Path()
    """Folder of input and output, on the storage to measure. Default: the current folder."""


@dataclass(frozen=True, kw_only=True)
class OwnSort:
    """Options of `gordon sort` under JouleSort."""

    GROUP: ClassVar = "Sort"
    memory: Annotated[str | None, SIZE] = None
    """Memory for `gordon sort`."""
    temp: Annotated[str | None, Text("DIR,DIR...")] = None
    """Temporary folders for `gordon sort`."""
    config: Annotated[str | None, Text("FILE")] = None
    """Tuned settings for `gordon sort`."""


@dataclass(frozen=True, kw_only=True)
class BenchmarkFiles:
    """Skewed keys, and files that are kept."""

    skewed: bool = False
    """Also sort skewed keys once, as the Daytona category requires."""
    keep: bool = False
    """Keep input and output afterwards."""
