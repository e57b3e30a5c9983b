"""Sweeps over configurations."""

from dataclasses import dataclass
from typing import Annotated

from gordon.options import Path
from gordon.options.kinds import COUNT, Choice, Named, Text

#: `NAMES` of gordon.engine, whose import is slow; a test compares them.
ENGINES = ("loky", "ray", "dask", "spark")


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Where and how configurations run."""

    out: Annotated[Path, Named("-o", ("--out",)), Text("OUT.parquet")]
    """Write a row for each configuration as Parquet."""
    engine: Annotated[str, Choice(ENGINES)] = "loky"
    """Where configurations run. loky: processes on this machine; ray, dask, spark: a cluster (pip
    install 'gordon-storage[ray]'), at the address in RAY_ADDRESS, DASK_SCHEDULER_ADDRESS or
    MASTER."""
    workers: Annotated[int | None, COUNT] = None
    """Number of worker processes. Default: all cores."""
    resume: bool = False
    """Use the finished configurations that an interrupted sweep left in OUT.parquet.partial."""
