"""Sweeps: one command over thousands of configurations, on all cores or a cluster.

    from gordon import sweep
    result = sweep.run("sweep.toml", "rows.parquet", workers=8)
    result["rows"][0]["write_amplification"], result["pareto"], result["failed"]
    sweep.html(result)

A sweep is a TOML file: a command, its fixed settings, and ranges of its options and of the values
of its device. Each configuration is a row of the Parquet file. `docs/design/sweep.md` describes
file, rows and engines. Errors are `gordon.GordonError`.
"""

from gordon.sweep.commands import COMMANDS
from gordon.sweep.config import Sweep, load
from gordon.sweep.result import SweepResult
from gordon.sweep.run import run

__all__ = ["COMMANDS", "Sweep", "html", "load", "run"]


def html(result: SweepResult) -> str:
    """Renders the result of `run` as one HTML file that works offline."""
    from gordon.sweep import page

    return page.render(result)
