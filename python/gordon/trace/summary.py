"""Summaries of traces: of one, or of all nodes of a job, and the stages of it."""

import json
from os import fspath
from pathlib import Path as File
from typing import NotRequired, TypedDict, final

from gordon import _core
from gordon.options import Path, Progress
from gordon.options.loads import TraceLoad
from gordon.reports.spark import RecordedStages
from gordon.reports.trace import ConversionReport, TraceSummary
from gordon.run import folder, not_traces
from gordon.run.converted import Workplace
from gordon.run.inputs import Inputs, expand
from gordon.run.report import RunReport


@final
class ShownTrace(TraceSummary):
    """A trace and, of an application of Spark, its stages."""

    application: NotRequired[RecordedStages]


@final
class ShownNodes(TypedDict):
    """The nodes of a job and, of an application of Spark, its stages."""

    name: str
    nodes: list[ShownTrace]
    warnings: list[str]
    application: NotRequired[RecordedStages]
    #: The folder of a run, and its `run.json`.
    folder: NotRequired[str]
    run: NotRequired[RunReport]


#: A job.
Job = ShownTrace | ShownNodes


@final
class ShownJobs(TypedDict):
    """Several jobs."""

    jobs: list[Job]


Shown = ShownTrace | ShownNodes | ShownJobs


def summary(source: Path, progress: Progress | None = None) -> Shown:
    """The contents of a trace; those of several nodes are under `nodes`, and of several jobs under
    `jobs`.

    A trace has the keys of the core's summary. `application` is what an event log of Spark, or the
    tables in the folder, have of the stages: times in seconds after the start of the application,
    `outside_s` the time without a stage. `run` is the `run.json` of a run. `warnings` of a
    converted file are those of the conversion. `progress` is called with the bytes read of a file
    (done, total). Raises GordonError for what has no trace.
    """
    path = fspath(source)
    if is_of_requests(path):
        return _requests(path)
    jobs = [_job(inputs) for inputs in expand([path], progress=progress)]
    return jobs[0] if len(jobs) == 1 else {"jobs": jobs}


def is_of_requests(source: str) -> bool:
    """Whether a source is a file of block requests. Raises GordonError for a part of a trace."""
    path = File(source)
    if not path.is_file() or _core.trace_activity_format(source) is not None:
        return False
    not_traces.check_part(path)
    return not_traces.is_of_blocks(path)


def _job(inputs: Inputs) -> Job:
    with inputs.naming():
        nodes = [_node(trace) for trace in inputs.paths]
        tables = None
        if inputs.folder:
            tables = _core.spark_recorded_stages(inputs.folder)
    job: Job
    if len(nodes) == 1 and not inputs.lags:
        job = inputs.named(nodes[0])
        job["warnings"] = inputs.warnings + job["warnings"]
    else:
        job = {"name": inputs.name, "nodes": nodes, "warnings": inputs.warnings}
        if _is_run(inputs):
            job["folder"], job["run"] = inputs.folder, folder.read(inputs.folder)
        job = inputs.named(job)
    if tables is not None:
        job["application"] = json.loads(tables)
    return job


def _is_run(inputs: Inputs) -> bool:
    """Whether a job is one run; repeats have no common folder."""
    return bool(inputs.folder) and folder.is_run(inputs.folder)


def _node(trace: str) -> ShownTrace:
    made: ShownTrace = json.loads(_core.trace_summary(trace))
    return made


def _requests(source: str) -> ShownTrace:
    """The summary of a file of block requests, which is converted first."""
    place = Workplace()
    target = place.new(source, source)
    with place.naming():
        load = json.dumps(TraceLoad().config(source)["trace"])
        done: ConversionReport = json.loads(_core.trace_convert(load, target, None))
    made: ShownTrace = place.named(json.loads(_core.trace_summary(target)))
    made["warnings"] = [f"{source}: {text}" for text in done["warnings"]] + made["warnings"]
    return made
