"""Sweeps: one command over thousands of configurations, on all cores or a cluster.

    from gordon import sweep
    result = sweep.run("sweep.toml", "rows.parquet", workers=8)
    result["rows"][0]["write_amplification"], result["pareto"], result["failed"]
    result.to_polars(); result.save("sweep.html")

A sweep is a TOML file: a command, its fixed settings, and ranges of its options and of the values
of its device. Each configuration is a row of the Parquet file. `docs/design/sweep.md` describes
file, rows and engines. Errors are `gordon.GordonError`.
"""

from gordon.sweep.commands import COMMANDS
from gordon.sweep.config import Sweep, load
from gordon.sweep.run import run
from gordon.sweep.swept import SweepResult

__all__ = ["COMMANDS", "Sweep", "SweepResult", "load", "run"]


def __dir__() -> list[str]:
    return __all__
