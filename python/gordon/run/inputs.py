"""The traces of a survey: given one by one, or as the folder of a run, whose nodes they are."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import Any

from gordon._core import GordonError
from gordon.options import Path as GivenPath
from gordon.run import folder


@dataclass
class Inputs:
    """The traces to survey."""

    paths: list[str]
    lags: list[int] = field(default_factory=list)
    """Samples by which each trace starts after the first; empty without a run."""
    stages: list[dict[str, Any]] = field(default_factory=list)
    """The stages that the engine of the run recorded, in seconds after the start of the first
    trace."""


def expand(given: Sequence[GivenPath]) -> Inputs:
    """Replaces the folder of a run by the traces of its nodes. Raises GordonError for several runs,
    or a run that lacks a trace."""
    runs = [path for path in given if folder.is_run(path)]
    if not runs:
        return Inputs([fspath(path) for path in given])
    if len(given) > 1:
        raise GordonError(
            f"{fspath(runs[0])} is a run, which is surveyed alone",
            "one run, or the traces of nodes (RUN/NODE)",
            kind="several-runs",
        )
    run = folder.read(runs[0])
    paths = folder.traces(runs[0], run)
    interval = run["interval_ns"]
    starts = [_start(path, node) for path, node in zip(paths, run["nodes"], strict=True)]
    first = min(starts)
    # Agents take samples at multiples of the interval after the start of the run.
    samples = [(start - run["start_unix_ns"]) // interval for start in starts]
    after = (first - run["start_unix_ns"]) / 1e9
    stages = [_shifted(stage, after) for stage in run.get("stages") or []]
    return Inputs(
        [fspath(path) for path in paths],
        lags=[number - min(samples) for number in samples],
        stages=[stage for stage in stages if stage["end_s"] > 0],
    )


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
