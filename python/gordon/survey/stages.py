"""The stages of a job: those of a run, or those of a JSON file."""

import json
from math import isfinite
from os import fspath
from pathlib import Path as FilePath
from typing import Any

from gordon.errors import GordonError
from gordon.options import Path
from gordon.run.inputs import Inputs, JobStage

_KEYS = ("name", "start_s", "end_s")
_HINT = 'write {"stages": [{"name": "map", "start_s": 0, "end_s": 12.5}]}'


def of(
    model: str | None, stages: Path | None, inputs: Inputs, is_of_machines: bool
) -> tuple[str | None, list[JobStage] | None]:
    """The model and the stages, of a file or as a run recorded them. A grid with a file of stages
    is surveyed by the stages model; of machines, the limits of the stages are reported."""
    if stages is None:
        if model == "stages":
            if inputs.stages:
                return model, inputs.stages
            if inputs.repeats > 1:
                raise GordonError(
                    f"the {inputs.repeats} repeats of {inputs.name} have no common stages",
                    "survey one of them: RUN/1",
                    kind="no-stages",
                )
            raise GordonError(
                "the stages model needs the stages of the job", "--stages FILE", kind="no-stages"
            )
        return model, None
    if is_of_machines:
        return model, read(stages)
    if model not in (None, "stages"):
        raise GordonError(
            f"--stages {fspath(stages)}: of a grid, only the stages model uses the stages of a job",
            "--model stages",
            kind="no-stages",
        )
    return "stages", read(stages)


def read(path: Path) -> list[JobStage]:
    """The stages of a job from a JSON file: `{"stages": [{"name", "start_s", "end_s"}]}`, in
    seconds after the start of the traces. Raises GordonError."""
    try:
        found = json.loads(FilePath(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise GordonError(
            f"cannot read the stages {fspath(path)}: {error.strerror}",
            "--stages FILE",
            kind="unreadable-file",
        ) from None
    except ValueError as error:
        hint = _HINT
        if FilePath(path).suffix == ".parquet":
            hint = "the JSON with stages that `gordon trace convert LOG OUT --json FILE` writes"
        raise GordonError(f"{fspath(path)}: not JSON: {error}", hint, kind="bad-stages") from None
    listed = found.get("stages") if isinstance(found, dict) else None
    if not isinstance(listed, list):
        raise GordonError(f"{fspath(path)}: no list of `stages`", _HINT, kind="bad-stages")
    if not listed:
        raise GordonError(f"{fspath(path)}: the list of stages is empty", _HINT, kind="bad-stages")
    for index, stage in enumerate(listed):
        why = _wrong(stage)
        if why is not None:
            raise GordonError(f"{fspath(path)}: stages[{index}]{why}", _HINT, kind="bad-stages")
    # An engine may record more about a stage than its time.
    return [
        {"name": stage["name"], "start_s": stage["start_s"], "end_s": stage["end_s"]}
        for stage in listed
    ]


def _wrong(stage: Any) -> str | None:
    """The error in an entry of the list of stages."""
    if not isinstance(stage, dict):
        return f": {stage!r} is not an object"
    for key in _KEYS:
        if key not in stage:
            return f" has no `{key}`"
    if not isinstance(stage["name"], str):
        return f".name: {stage['name']!r} is not text"
    for key in _KEYS[1:]:
        number = stage[key]
        is_number = isinstance(number, int | float) and not isinstance(number, bool)
        if not (is_number and isfinite(number)):
            return f".{key}: {number!r} is not a number of seconds"
    start, end = stage["start_s"], stage["end_s"]
    if start < 0 or end <= start:
        return (
            f" `{stage['name']}` lasts from {start:g} s to {end:g} s: a stage starts at 0 or "
            "later and ends after its start"
        )
    return None
