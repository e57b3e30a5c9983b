"""The folder of a run: a trace of each node, and `run.json`, which says what ran and what was kept.

    RUN/run.json
    RUN/NODE/              a trace, as docs/TRACE.md describes it
    RUN/eventlog/          the event log of the engine, if it has one
    RUN/stages.parquet     its stages and tasks
    RUN/tasks.parquet

While a run is going its folder has another name, so that a folder with the final name is complete:
`run.json` is written last, and says of each node whether its trace is there.
"""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Final

from gordon import __version__
from gordon.errors import GordonError
from gordon.run.report import RunNode, RunReport

FORMAT = "gordon-run"
VERSION = 1
FILE = "run.json"

#: A node's trace is whole; its processes or its agent were lost, and the trace ends there; there is
#: no trace.
COMPLETE: Final = "complete"
LOST: Final = "lost"
MISSING: Final = "missing"
#: A node does the work of the job, or it drives the others. A node of an older run has no role, and
#: is a worker.
WORKER: Final = "worker"
DRIVER: Final = "driver"


class RunFolder:
    """A folder of a run that is being written. `report` becomes `run.json`."""

    def __init__(self, target: Path) -> None:
        self.target = target
        self.path = target.with_name(f"{target.name}.partial-{os.getpid()}")
        self.report: RunReport = {
            "format": FORMAT,
            "version": VERSION,
            "gordon": __version__,
            "warnings": [],
        }

    def has_trace(self) -> bool:
        """Whether the trace of a node is there."""
        return any(node["status"] != MISSING for node in self.report.get("nodes", []))

    def commit(self) -> None:
        """Writes `run.json` and gives the folder its name."""
        (self.path / FILE).write_text(json.dumps(self.report, indent=1) + "\n")
        self.path.rename(self.target)


def check_new(target: Path) -> None:
    """Raises GordonError if a folder exists, or if the folder that it is to be in does not."""
    if target.exists() or target.is_symlink():
        raise GordonError(
            f"{target} exists", "name another folder, or remove this one", kind="exists"
        )
    if not target.resolve().parent.is_dir():
        raise GordonError(
            f"cannot write {target}: the folder {target.parent} does not exist",
            f"mkdir -p {target.parent}",
            kind="missing-folder",
        )


@contextmanager
def created(out: str | PathLike[str]) -> Iterator[RunFolder]:
    """A new folder. After an error it is kept if it has a trace, so that what was captured can be
    read; `run.json` has the error. Raises GordonError if the folder exists or cannot be created."""
    target = Path(out)
    check_new(target)
    made = RunFolder(target)
    try:
        made.path.mkdir()
    except OSError as error:
        raise GordonError(
            f"cannot write {target}: {error.strerror}",
            "an existing folder in which you may write",
            kind="unwritable",
        ) from None
    try:
        yield made
        made.commit()
    except BaseException as error:
        if made.has_trace():
            text = error.message if isinstance(error, GordonError) else type(error).__name__
            made.report["error"] = text
            made.commit()
        else:
            shutil.rmtree(made.path, ignore_errors=True)
        raise


def is_run(path: str | PathLike[str]) -> bool:
    """Whether a folder is that of a run."""
    return (Path(path) / FILE).is_file()


def read(path: str | PathLike[str]) -> RunReport:
    """Reads `run.json`. Raises GordonError if it is damaged, of another program or of a newer
    version."""
    file = Path(path) / FILE
    try:
        found = json.loads(file.read_text())
    except (OSError, ValueError) as error:
        raise GordonError(f"cannot read {file}: {error}", kind="bad-run") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise GordonError(
            f'{file} does not say "format": "{FORMAT}"', "a folder of a run", kind="bad-run"
        )
    version = found.get("version")
    if version != VERSION:
        raise GordonError(
            f"{file} has version {version}, this gordon reads version {VERSION}",
            f"the gordon that wrote it ({found.get('gordon')})",
            kind="other-version",
        )
    if not isinstance(found.get("nodes"), list):
        raise GordonError(
            f"{file} has no list of nodes", "the file as gordon wrote it", kind="bad-run"
        )
    run: RunReport = found  # type: ignore[assignment] # gordon wrote the rest
    return run


def workers(run: RunReport) -> list[RunNode]:
    """The nodes of a run that do the work of its job."""
    return [node for node in run["nodes"] if node.get("role", WORKER) == WORKER]


def driver(run: RunReport) -> RunNode | None:
    """The node of the driver of a run, if the run has one."""
    return next((node for node in run["nodes"] if node.get("role") == DRIVER), None)


def traces(path: str | PathLike[str], run: RunReport) -> list[Path]:
    """The traces of the workers of a run, in the order of its nodes. Raises GordonError if a worker
    has none, or if no worker was traced."""
    nodes = workers(run)
    if not nodes:
        raise GordonError(
            f"the run {path} has no traces: no node of its cluster was captured",
            "--hosts FILE names the hosts to trace",
            kind="missing-trace",
        )
    missing = [node["name"] for node in nodes if node["status"] == MISSING]
    if missing:
        raise GordonError(
            f"the run {path} has no trace of {', '.join(missing)}",
            "survey the traces of the other nodes: " + f"{path}/NODE",
            kind="missing-trace",
        )
    return [Path(path) / node["folder"] for node in nodes]
