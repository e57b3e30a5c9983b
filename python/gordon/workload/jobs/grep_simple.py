"""Grep (simple): keeps the lines that contain "the"."""

from typing import Any

from gordon.run.report import Parameters
from gordon.workload import spark, text

SEARCHED = "the"


def run(session: Any, inputs: list[str], output: str, parameters: Parameters) -> dict[str, int]:
    """Writes the lines with the letters "the" anywhere, as `grep the` does."""
    text.write_lines(matching(text.lines(session, inputs)), output)
    return {}


def matching(lines: Any) -> Any:
    """The lines that the job keeps."""
    return lines.filter(spark.functions().col("value").contains(SEARCHED))
