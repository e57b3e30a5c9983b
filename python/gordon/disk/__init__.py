"""Simulated hard disks: replay a trace, run a pattern, compare.

    import gordon.disk
    result = gordon.disk.replay("job.trace", "sata-7200-1tb")
    result.report["response_ms"]["mean"], result.table("series"), result.save("report.html")

The Rust core simulates the mechanism, the cache and the command queue of each disk, request by
request. It leaves out the file system, read errors and the CPU time of the host. Every value is
modelled. A failure raises `gordon.GordonError`.
"""

from typing import TYPE_CHECKING, Any

from gordon.disk.device import DEFAULT, load, names, text
from gordon.disk.result import Result
from gordon.disk.run import bench, compare, replay
from gordon.results import Comparison

__all__ = [
    "DEFAULT",
    "Comparison",
    "Result",
    "bench",
    "compare",
    "fit",
    "load",
    "names",
    "replay",
    "text",
]

if TYPE_CHECKING:
    from gordon.disk import fit
else:

    def __getattr__(name: str) -> Any:
        if name == "fit":
            from importlib import import_module

            return import_module("gordon.disk.fit")
        raise AttributeError(f"module 'gordon.disk' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
