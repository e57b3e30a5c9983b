"""JouleSort: records sorted per joule, by the rules of the benchmark.

    from gordon import joulesort
    result = joulesort.benchmark(records=10**8, meters=["command:wattsup ttyUSB0"])
    result["result"]["records_per_joule"]

The benchmark generates the input, sorts it several times while meters are read, and checks each
output. A result with a failed check has no records per joule. The benchmark does not judge the
accuracy of a meter. A failure raises `gordon.GordonError`.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from gordon.joulesort.run import Plan, Result, Tools
from gordon.joulesort.run import run as _run
from gordon.options import keywords
from gordon.options.explicit import explicit
from gordon.untyped import Given

__all__ = ["Plan", "Result", "Tools", "benchmark"]


@explicit(Plan)
def benchmark(
    notify: Callable[[str], None] = lambda _: None, **options: Unpack[keywords.Plan]
) -> Result:
    """Runs the benchmark with Gordon's generator and checker.

    `notify` is called with a line about each step. Raises GordonError if the sort or all meters
    fail; a failed check is part of the result.
    """
    from gordon.sort import data

    given: Given = {**options}
    given |= {name: Path(given[name]) for name in ("folder", "root") if name in given}
    tools = Tools(
        lambda *words, **options: data.generate(*words, **options).report,
        lambda path: data.validate(path).report,
    )
    return _run(Plan(**given), tools, notify)


def __dir__() -> list[str]:
    return __all__
