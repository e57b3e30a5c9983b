"""JouleSort: records sorted per joule, by the rules of the benchmark.

    from gordon import joulesort
    result = joulesort.benchmark(records=10**8, meters=["command:wattsup ttyUSB0"])
    result.json["result"]["records_per_joule"]

The benchmark generates the input, sorts it several times while meters are read, and checks each
output. A result with a failed check has no records per joule. The benchmark does not judge the
accuracy of a meter. A failure raises `gordon.GordonError`.
"""

from collections.abc import Callable
from typing import Any

from gordon.joulesort.run import Plan, Result, Tools
from gordon.joulesort.run import run as _run


def benchmark(notify: Callable[[str], None] = lambda _: None, **fields: Any) -> Result:
    """Runs the benchmark with Gordon's generator and checker.

    `fields` are the fields of `Plan`; `records` is required. `notify` is called with a line
    about each step. Raises GordonError if the sort or all meters fail; a failed check is part of
    the result.
    """
    from gordon.sort import data

    return _run(Plan(**fields), Tools(data.generate, data.validate), notify)


__all__ = ["Plan", "Result", "Tools", "benchmark"]
