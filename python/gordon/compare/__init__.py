"""One trace on flash, on disks and on storage that was measured, in one table.

    import gordon.compare
    result = gordon.compare.run("web.trace", ["nvme-tlc-1tb", "sata-7200-1tb", "ssd.json"])
    result.report["devices"][0]["time_s"], result.save("devices.html")

Flash and disks are simulated. Measured storage is a result of `gordon storage characterise --json`:
it knows single requests, so that its time is a range. A failure raises `gordon.GordonError`.
"""

from gordon.compare.result import Result
from gordon.compare.run import run

__all__ = ["Result", "run"]


def __dir__() -> list[str]:
    return __all__
