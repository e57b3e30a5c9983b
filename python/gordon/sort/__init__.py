"""The external sort; files of its benchmark, made and checked.

    import gordon.sort
    result = gordon.sort.run("in.dat", "out.dat", memory="2GB", temp=["/ssd1", "/ssd2"])
    result.report["time_s"], result.report["phases"]

The core does it (`crates/sort`). Errors are `gordon.GordonError`, whose args are (what, what to
try).
"""

from gordon.sort.run import METHODS, PARTIAL, How, Result, run

__all__ = ["METHODS", "PARTIAL", "How", "Result", "run"]
