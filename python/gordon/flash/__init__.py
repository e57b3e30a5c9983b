"""Simulated flash devices: replay a trace, run a pattern, compare devices, write amplification.

    import gordon.flash
    result = gordon.flash.replay("job.trace", "gordon-slc-256g", precondition=0.8)
    result.report["write_amplification"], result.table("series"), result.save("report.html")

The Rust core simulates the array, the flash translation layer, the controller and the host link,
request by request. It leaves out the file system and the CPU time of the host. Every value is
modelled. A failure raises `gordon.GordonError`. A run whose
checkpoint could not be written raises `CheckpointError`, which has the `result` of the run.
"""

from gordon.flash.device import DEFAULT, load, names, text
from gordon.flash.own import Chooser, OwnPolicy
from gordon.flash.result import AmplificationResult, Result
from gordon.flash.run import bench, compare, replay, wa
from gordon.results import CheckpointError, Comparison

__all__ = [
    "DEFAULT",
    "AmplificationResult",
    "CheckpointError",
    "Chooser",
    "Comparison",
    "OwnPolicy",
    "Result",
    "bench",
    "compare",
    "load",
    "names",
    "replay",
    "text",
    "wa",
]


def __dir__() -> list[str]:
    return __all__
