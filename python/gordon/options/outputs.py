"""Files that commands write of a result. They are options of commands only: functions return it."""

from dataclasses import dataclass
from typing import Annotated

from gordon.options.kinds import DIR, PATH, Named, Text


@dataclass(frozen=True, kw_only=True)
class Json:
    """The result for programs."""

    json_path: Annotated[str | None, Named("--json"), PATH] = None
    """Write the result as JSON (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class HtmlReport:
    """The result for people."""

    report: Annotated[str | None, PATH] = None
    """Write the report, one HTML file that works offline."""


@dataclass(frozen=True, kw_only=True)
class FlashTables:
    """The tables of a run on flash."""

    parquet: Annotated[str | None, DIR] = None
    """Write the tables (over time, latencies, queue depths, erases) as Parquet."""


@dataclass(frozen=True, kw_only=True)
class DiskTables:
    """The tables of a run on disks."""

    parquet: Annotated[str | None, DIR] = None
    """Write the tables (over time, latencies, depths) as Parquet."""


@dataclass(frozen=True, kw_only=True)
class CacheTables:
    """The tables of caches."""

    parquet: Annotated[str | None, DIR] = None
    """Write the tables (a row for each cache or size; lifetimes, erases) as Parquet."""


@dataclass(frozen=True, kw_only=True)
class PowerLog:
    """The readings of meters."""

    out: Annotated[str | None, Named("-o", ("--out",)), Text("LOG.csv")] = None
    """Write the samples of power as CSV."""


@dataclass(frozen=True, kw_only=True)
class CostTables:
    """The tables of a cost."""

    parquet: Annotated[str | None, DIR] = None
    """Write all values (a table for each list of rows, and one of the other values) as Parquet."""


@dataclass(frozen=True, kw_only=True)
class ListTable:
    """The table of a list."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write the rows as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class PetabyteTable:
    """The table of a petabyte."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write each medium with 1 to 8 processors a server as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class ReplicasTable:
    """The table of replicas."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write sleeping and awake disks at each rate as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class RackTable:
    """The table of a rack."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write the node, the enclosure and the rack as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class TcoTable:
    """The table of a total cost."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write all values of the run as CSV (-: stdout)."""


@dataclass(frozen=True, kw_only=True)
class PlanTable:
    """The table of a plan."""

    csv_path: Annotated[str | None, Named("--csv"), PATH] = None
    """Write the jobs as CSV (-: stdout)."""
