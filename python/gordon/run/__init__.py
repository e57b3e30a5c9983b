"""Runs of distributed jobs: nodes, agents that trace them, and the folder of a run."""

from os import PathLike

from gordon.run import folder
from gordon.run.folder import is_run, traces
from gordon.run.report import RunResult

__all__ = ["RunResult", "is_run", "read", "traces"]


def read(path: str | PathLike[str]) -> RunResult:
    """Reads `run.json` of the folder of a run. Raises GordonError if it is damaged, of another
    program or of a newer version."""
    return RunResult(folder.read(path))


def __dir__() -> list[str]:
    return __all__
