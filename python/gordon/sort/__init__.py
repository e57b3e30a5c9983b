"""The external sort; files of its benchmark, made and checked.

    import gordon.sort
    made = gordon.sort.generate("in.dat", records=100_000_000)
    result = gordon.sort.run("in.dat", "out.dat", memory="2GB", temp=["/ssd1", "/ssd2"])
    result.report["time_s"], result.report["phases"]
    found = gordon.sort.validate("out.dat", checksum=made["checksum"])
    found["in_order"], found["all_there"], found["duplicates"]

The core does it (`crates/sort`). Errors are `gordon.GordonError`, whose args are (what, what to
try).
"""

from gordon.sort.data import generate, validate
from gordon.sort.run import IN_CORE, IO, METHODS, PARTIAL, How, Records, Result, run

__all__ = [
    "IN_CORE",
    "IO",
    "METHODS",
    "PARTIAL",
    "How",
    "Records",
    "Result",
    "generate",
    "run",
    "validate",
]
