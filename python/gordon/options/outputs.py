"""Files that commands write of a result. They are options of commands only: functions return it."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from gordon.options.kinds import DIR, PATH, Named, Text


@dataclass(frozen=True, kw_only=True)
class Json:
    """The result for programs."""

    GROUP: ClassVar = "Output"
    json_path: Annotated[str | None, Named("--json"), PATH] = None
    """Write the result as JSON (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class HtmlReport:
    """The result for people."""

    GROUP: ClassVar = "Output"
    report: Annotated[str | None, PATH] = None
    """Write the report, one HTML file that works offline."""


@dataclass(frozen=True, kw_only=True)
class Tables(Json):
    """The result for programs, and its tables."""

    GROUP: ClassVar = "Output"
    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write the rows as CSV (-: stdout)."""
    parquet: Annotated[str | None, DIR] = None
    """Write the tables as Parquet: a file for each list of rows, and one of the other values."""


@dataclass(frozen=True, kw_only=True)
class FlashTables(Tables):
    """The result of a run on flash."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write the run over time as CSV (-: stdout)."""
    parquet: Annotated[str | None, DIR] = None
    """Write the tables (over time, latencies, queue depths, erases) as Parquet."""


@dataclass(frozen=True, kw_only=True)
class DiskTables(FlashTables):
    """The result of a run on disks."""

    parquet: Annotated[str | None, DIR] = None
    """Write the tables (over time, latencies, depths) as Parquet."""


@dataclass(frozen=True, kw_only=True)
class CacheTables(Tables):
    """The result of caches."""

    parquet: Annotated[str | None, DIR] = None
    """Write the tables (a row for each cache or size; lifetimes, erases) as Parquet."""


@dataclass(frozen=True, kw_only=True)
class PetabyteTables(Tables):
    """The cost of a petabyte."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write each medium with 1 to 8 processors a server as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class ReplicasTables(Tables):
    """The cost of replicas."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write sleeping and awake disks at each rate as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class RackTables(Tables):
    """A rack."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write the node, the enclosure and the rack as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class TcoTables(Tables):
    """A total cost."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write all values of the run as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class PlanTables(Tables):
    """A plan."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write the jobs as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class PowerLog:
    """The readings of meters."""

    GROUP: ClassVar = "Output"
    out: Annotated[str | None, Named("-o", ("--out",)), Text("LOG.csv")] = None
    """Write the samples of power as CSV."""


@dataclass(frozen=True, kw_only=True)
class Force:
    """Whether data may be replaced: a trace, a run, a corpus, an image."""

    GROUP: ClassVar = "Output"
    force: bool = False
    """Replace the output if it exists. Without this, an output that exists is an error."""
