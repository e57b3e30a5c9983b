"""Identity: copies all lines of the inputs to the output."""

from typing import Any

from gordon.run.report import Parameters
from gordon.workload import text


def run(session: Any, inputs: list[str], output: str, parameters: Parameters) -> dict[str, int]:
    """Copies text. The output has a file for each split of the inputs."""
    text.write_lines(text.lines(session, inputs), output)
    return {}
