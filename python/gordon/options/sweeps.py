"""Sweeps over configurations, and the generator of input data."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from gordon.options import Path
from gordon.options.kinds import COUNT, SEED, SIZE, Choice, Each, Named

#: `NAMES` of gordon.engine, whose import is slow; a test compares them.
ENGINES = ("loky", "ray", "dask", "spark")


@dataclass(frozen=True, kw_only=True)
class SweepOptions:
    """Where and how configurations run."""

    engine: Annotated[str, Choice(ENGINES)] = "loky"
    """Where configurations run. loky: processes on this machine; ray, dask, spark: a cluster (pip
    install 'gordon[ray]'), at the address in RAY_ADDRESS, DASK_SCHEDULER_ADDRESS or MASTER."""
    workers: Annotated[int | None, COUNT] = None
    """Number of worker processes. Default: all cores."""
    resume: bool = False
    """Use the finished configurations that an interrupted sweep left in OUT.parquet.partial."""


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A corpus of part files."""

    size: Annotated[str, SIZE]
    """Size of all files together: 2GB, 500MB."""
    part_size: Annotated[str, SIZE] = "64MiB"
    """Largest size of a file."""
    sources: Annotated[Sequence[Path], Named("--from"), Each("DIR")] = ()
    """text, web: folder with text, HTML or manual pages of one language, also in .gz, to learn
    from; repeatable. Default: packages that are installed."""
    seed: Annotated[int, SEED] = 1
    """Random seed. The same seed and sources give the same data."""
