"""Simulated flash devices: replay a trace, run a pattern, compare, ask for write amplification.

    import gordon.flash
    result = gordon.flash.replay("job.trace", "gordon-slc-256g", precondition=0.8)
    result.report["write_amplification"], result.table("series"), result.save("report.html")

The core simulates (`crates/replay`); here options become its config, and its answer a `Result`.
Every value is modelled. Errors are `gordon.GordonError`, whose args are (what, what to try); a
`CheckpointError`, of a run whose device could not be kept, has the `result`.
"""

from gordon.flash.device import DEFAULT, load, names, text
from gordon.flash.result import Result
from gordon.flash.run import bench, compare, replay, wa
from gordon.results import CheckpointError, Comparison

__all__ = [
    "DEFAULT",
    "CheckpointError",
    "Comparison",
    "Result",
    "bench",
    "compare",
    "load",
    "names",
    "replay",
    "text",
    "wa",
]
