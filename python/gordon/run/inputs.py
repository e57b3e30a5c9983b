"""The traces of a survey: given one by one, or as folders of runs, whose nodes they are.

A run folder is one job. It is what `gordon.run.folder` describes, or a folder with several runs of
the same job, its repeats. A folder that holds run folders stands for all of them. A folder with
traces of hosts, as `gordon trace convert` writes it, stands for its traces.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Any

from gordon._core import GordonError
from gordon.options import Path as GivenPath
from gordon.run import folder, not_traces


@dataclass
class Inputs:
    """The traces of one job."""

    paths: list[str]
    lags: list[int] = field(default_factory=list)
    """Samples by which each trace starts after the first of its run; empty without a run."""
    stages: list[dict[str, Any]] = field(default_factory=list)
    """The stages that the engine of the run recorded, in seconds after the start of the first
    trace. Repeats have none: their stages are at different times."""
    name: str = ""
    """Id of the job, or the folder of its run; empty without a run."""
    repeats: int = 1
    warnings: list[str] = field(default_factory=list)
    """What is wrong with the run, or was left out."""


def expand(given: Sequence[GivenPath]) -> list[Inputs]:
    """The traces by job: one job for traces of nodes, one for each run folder.

    Raises GordonError for runs next to traces, for a run that is given twice, and for a run that
    lacks a trace.
    """
    found = [(Path(path), _run_folders(Path(path))) for path in given]
    runs = [run for _, runs in found for run in runs]
    if not runs:
        return [Inputs([fspath(trace) for path, _ in found for trace in _nodes(path)])]
    alone = [path for path, runs in found if not runs]
    if alone:
        raise GordonError(
            f"{alone[0]} is not a run, and {runs[0]} is one: they cannot be surveyed together",
            "runs only, or the traces of nodes only (RUN/NODE)",
            kind="runs-and-traces",
        )
    seen: set[Path] = set()
    for run in (run for of_job in runs for run in _repeats(of_job) or [of_job]):
        if run.resolve() in seen:
            raise GordonError(f"the run {run} is given twice", "each run once", kind="same-run")
        seen.add(run.resolve())
    jobs = [_job(run) for run in runs]
    for path, of_path in found:
        jobs[0].warnings += _left_out(path, of_path)
    ids = [job.name for job in jobs]
    if len(set(ids)) < len(ids):
        for job, run in zip(jobs, runs, strict=True):
            job.name = fspath(run)
    return jobs


def _nodes(path: Path) -> list[Path]:
    """The traces at a path: itself, or those of the hosts in a folder. Raises GordonError for a
    path that is not a trace."""
    found = not_traces.hosts(path)
    if not found:
        not_traces.check(path)
    return found or [path]


def _run_folders(path: Path) -> list[Path]:
    """The run folders that a path stands for, by name; none for a trace."""
    if folder.is_run(path) or _repeats(path):
        return [path]
    if (path / "manifest.json").exists():
        return []
    below = sorted(child for child in path.glob("*/") if folder.is_run(child) or _repeats(child))
    return [path / child.name for child in below]


def _left_out(path: Path, runs: list[Path]) -> list[str]:
    """A warning for each folder of traces below `path` that is not in one of its runs."""
    if runs == [path]:
        return []
    others = [child for child in sorted(path.glob("*/")) if path / child.name not in runs]
    return [
        f"{child} has traces and no run.json, and is left out"
        for child in others
        if any(child.glob("*/manifest.json"))
    ]


def _repeats(path: Path) -> list[Path]:
    """The runs in a folder of repeats, which have numbers as names."""
    numbered = [child for child in path.glob("*/") if child.name.isdecimal()]
    return sorted(filter(folder.is_run, numbered), key=lambda child: int(child.name))


def _job(path: Path) -> Inputs:
    """The traces of a run folder."""
    runs = [_run(run) for run in _repeats(path) or [path]]
    one = runs[0]
    if len(runs) == 1:
        return one
    names = {run.name for run in runs}
    if len(names) > 1:
        raise GordonError(
            f"{path} holds runs of several jobs: {', '.join(sorted(names))}",
            "repeats of one job, or folders with names instead of numbers",
            kind="several-jobs",
        )
    return Inputs(
        [trace for run in runs for trace in run.paths],
        lags=[lag for run in runs for lag in run.lags],
        name=one.name,
        repeats=len(runs),
        warnings=[warning for run in runs for warning in run.warnings],
    )


def _run(path: Path) -> Inputs:
    run = folder.read(path)
    paths = folder.traces(path, run)
    interval = run["interval_ns"]
    # The driver is not a machine that the job runs on: its trace is left out.
    nodes = folder.workers(run)
    starts = [_start(trace, node) for trace, node in zip(paths, nodes, strict=True)]
    first = min(starts)
    # Agents take samples at multiples of the interval after the start of the run.
    samples = [(start - run["start_unix_ns"]) // interval for start in starts]
    after = (first - run["start_unix_ns"]) / 1e9
    stages = [_shifted(stage, after) for stage in run.get("stages") or []]
    job = run.get("job") or {}
    return Inputs(
        [fspath(trace) for trace in paths],
        lags=[number - min(samples) for number in samples],
        # Before the traces, or shorter than the clock of the engine shows: nothing is in it.
        stages=[stage for stage in stages if stage["end_s"] > stage["start_s"]],
        name=job.get("id") or path.resolve().name,
        warnings=_wrong(path, run),
    )


def _wrong(path: Path, run: dict[str, Any]) -> list[str]:
    """Warnings about a run that failed, or that lost a node."""
    found = []
    verification = run.get("verification")
    if run.get("error"):
        found.append(f"the run {path} failed: {run['error']}")
    elif verification is not None and not verification["passed"]:
        found.append(f"the output of the run {path} is wrong")
    lost = [node["name"] for node in folder.workers(run) if node["status"] == folder.LOST]
    if lost:
        found.append(f"the run {path} lost {', '.join(lost)} before its end")
    return found


def _start(path: Path, node: dict[str, Any]) -> int:
    """Start of a trace by the clock of the machine that ran the job, in nanoseconds since 1970."""
    try:
        manifest = json.loads((path / "manifest.json").read_text())
        start: int = manifest["start_unix_ns"]
    except (OSError, ValueError, KeyError) as error:
        raise GordonError(
            f"cannot read {path}/manifest.json: {error}",
            "restore the folder of the node",
            kind="bad-run",
        ) from None
    clock = node["clock"]
    return start - (0 if clock is None else clock["offset_ns"])


def _shifted(stage: dict[str, Any], after: float) -> dict[str, Any]:
    return {
        "name": stage["name"],
        "start_s": max(stage["start_s"] - after, 0.0),
        "end_s": stage["end_s"] - after,
    }
