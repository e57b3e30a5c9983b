"""Sort: orders the lines of the inputs by their bytes.

Spark reads the inputs twice: once to sample the ranges of its partitions, once to sort. The files
of the output follow each other in the order of their names.
"""

from typing import Any

from gordon.run.report import Parameters
from gordon.workload import text


def run(session: Any, inputs: list[str], output: str, parameters: Parameters) -> dict[str, int]:
    """Sorts lines. Strings of Spark compare as unsigned bytes of UTF-8."""
    text.write_lines(text.lines(session, inputs).orderBy("value"), output)
    return {}
