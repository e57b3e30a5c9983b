"""Input data of jobs, and runs of jobs and programs on Spark."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, ClassVar

from gordon.options import Path
from gordon.options.kinds import (
    COUNT,
    DIR,
    FILE,
    PATH,
    SEED,
    SIZE,
    Each,
    Named,
    Nanoseconds,
    Number,
    Ratio,
    Size,
    Text,
    Whole,
)


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A corpus of part files."""

    output: Annotated[Path, Named("-o", ("--output", "--out")), DIR]
    """Folder to write."""
    size: Annotated[str, SIZE]
    """Size of all files together: 2GB, 500MB."""
    part_size: Annotated[str, SIZE] = "64MiB"
    """Largest size of a file."""
    sources: Annotated[Sequence[Path], Named("--from"), Each("DIR")] = ()
    """text, web: folder with text, HTML or manual pages of one language, also in .gz, to learn
    from; repeatable. Default: packages that are installed."""
    seed: Annotated[int, SEED] = 1
    """Random seed. The same seed and sources give the same data."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program of a person."""

    GROUP: ClassVar = "A program of your own"
    app: Annotated[Path | None, FILE] = None
    """Run this program instead of a JOB: a file of Python or a jar, with the ARGS after --."""
    py_files: Annotated[Sequence[str], Each("FILES")] = ()
    """With --app: Python modules of the program (.py, .zip, .egg), separated by commas;
    repeatable."""
    main_class: Annotated[str | None, Named("--class"), Text("NAME")] = None
    """With --app of a jar: its main class. Default: that of its manifest."""


@dataclass(frozen=True, kw_only=True)
class RunFolder:
    """Where a run is."""

    out: Annotated[Path, Named("-o", ("--out",)), Text("RUN")]
    """New folder for the run."""


@dataclass(frozen=True, kw_only=True)
class JobRuns:
    """The runs of a job."""

    GROUP: ClassVar = "Jobs of gordon"
    size: Annotated[str, Size()] = "1GB"
    """Size of the generated input; for randomwriter of the output."""
    scale: Annotated[Fraction | None, Ratio()] = None
    """Size as a fraction of the job's size in Table 2 of the paper: 1/8."""
    repeats: Annotated[int, COUNT] = 1
    """Runs of the job, each with other input, in RUN/1, RUN/2, ..."""


@dataclass(frozen=True, kw_only=True)
class NodeShares:
    """The nodes on this machine, each with a share of it."""

    GROUP: ClassVar = "Nodes on this machine"
    nodes: Annotated[int, Whole(1, most=200)] = 4
    """Nodes on this machine."""
    cores: Annotated[float | None, Number("N")] = None
    """Cores of each node, also a fraction: 0.4. Default: an equal share of 80% of this machine's,
    which leaves the driver the rest."""
    # The paper's nodes have 2 GB.
    memory: Annotated[str, Size()] = "2GiB"
    """Memory of each node, page cache included."""
    network: Annotated[str | None, Text("RATE")] = None
    """Limit of each node's link in both directions, as tc takes it: 1gbit. Default: none."""


@dataclass(frozen=True, kw_only=True)
class NodeDisks:
    """The disks of the nodes on this machine, which those of a program do not have."""

    GROUP: ClassVar = "Nodes on this machine"
    disk_rate: Annotated[str | None, Size("RATE")] = None
    """Limit of each node's disk in bytes per second, for reads and for writes each: 50MB. Default:
    none."""


@dataclass(frozen=True, kw_only=True)
class JobInput:
    """The input of a job."""

    GROUP: ClassVar = "Jobs of gordon"
    parameters: Annotated[Sequence[str], Named("--parameter"), Each("NAME=VALUE")] = ()
    """Parameter of the job, as `gordon workload list` shows them; repeatable."""
    seed: Annotated[int, SEED] = 1
    """Random seed of the generated input."""
    sources: Annotated[Sequence[Path], Named("--from"), Each("DIR")] = ()
    """Folder with text or HTML of one language, from which the input is grown; repeatable. Default:
    packages that are installed."""


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How the nodes are traced."""

    interval_ns: Annotated[int, Named("--interval"), Nanoseconds()] = 1_000_000_000
    """Sampling interval of the traces, at least 0.1s. Default: 1s."""


@dataclass(frozen=True, kw_only=True)
class ExistingCluster:
    """A cluster that exists."""

    GROUP: ClassVar = "An existing cluster"
    master: Annotated[str | None, Text("URL")] = None
    """Run on this cluster instead of nodes on this machine: spark://HOST:PORT. Needs --input
    (except randomwriter) and --result."""
    inputs: Annotated[Sequence[str], Named("--input"), Each("PATH")] = ()
    """With --master: input, a path of any file system of Hadoop; repeatable."""
    result: Annotated[str | None, PATH] = None
    """With --master: output of the job, a path of the same kind."""
    hosts: Annotated[Path | None, FILE] = None
    """With --master: file with the hosts to trace, one a line."""
    via: Annotated[str | None, Text("COMMAND")] = None
    """With --hosts: command that runs a program on a host: 'ssh {host}'."""
