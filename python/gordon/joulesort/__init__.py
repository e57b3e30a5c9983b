"""JouleSort: records sorted per joule, by the rules of the benchmark.

from gordon import joulesort
result = joulesort.benchmark(records=10**8, meters=["command:wattsup ttyUSB0"])
result.json["result"]["records_per_joule"]
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gordon.joulesort.run import Asked, Result, Tools
from gordon.joulesort.run import run as _run


def benchmark(tell: Callable[[str], None] = lambda _: None, **asked: Any) -> Result:
    """With the benchmark's own generator and checker; options are those of `Asked`."""
    from gordon.sort import data

    def generate(path: Path, **options: Any) -> dict[str, Any]:
        return data.generate(path, **options)

    def validate(path: Path) -> dict[str, Any]:
        return data.validate(path)

    return _run(Asked(**asked), Tools(generate, validate), tell)


__all__ = ["Asked", "Result", "Tools", "benchmark"]
