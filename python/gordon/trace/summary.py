"""Summaries of traces: of one, or of all nodes of a job, and the stages of it."""

import json
from collections.abc import Mapping
from os import fspath
from pathlib import Path as File
from typing import Any, NotRequired, TypedDict, Unpack, final

from gordon import _core, fields
from gordon.columns import Columns, of_rows
from gordon.errors import GordonError
from gordon.human import duration
from gordon.options import Path, Progress, dealt, keywords
from gordon.options.explicit import explicit
from gordon.options.loads import TraceLoad
from gordon.reports.spark import RecordedStages
from gordon.reports.trace import ConversionReport, TraceSummary
from gordon.run import folder, not_traces
from gordon.run.converted import Workplace
from gordon.run.inputs import Inputs, expand
from gordon.run.report import RunReport
from gordon.untyped import Given, Row


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


class SummaryResult(fields.SummaryResult):
    """The summary of a trace, of the nodes of a job, or of several jobs. The table that stands for
    the whole is that of the stages of applications, else of the nodes, else of the samples."""

    def says(self) -> str:
        if "jobs" in self:
            return f"{len(self['jobs'])} jobs"
        nodes = f"{self['name']}, {len(self['nodes'])} nodes" if "nodes" in self else self["path"]
        if "application" not in self:
            return nodes
        application = self["application"]
        return f"{nodes}, {len(application['stages'])} stages, {duration(application['span_s'])}"

    def _rows(self) -> str:
        return next(iter(self._tables()))

    def _tables(self) -> dict[str, Columns]:
        jobs = self.get("jobs", [self.report])
        nodes = [node for job in jobs for node in job.get("nodes", [job])]
        applications = [job["application"] for job in jobs if "application" in job]
        stages = [
            {"application": one["application"], **stage}
            for one in applications
            for stage in one["stages"]
        ]
        made = {
            "stages": stages,
            "nodes": [_totals(node) for node in nodes] if len(nodes) > 1 else [],
            "samples": [row for node in nodes for row in _samples(node)],
        }
        return {name: of_rows(rows) for name, rows in made.items() if rows or name == "samples"}


#: Columns of samples that have a level at each sample. The others are amounts, which add up.
_LEVELS = ("memory_bytes", "command_memory_bytes")
#: Columns of the disks, which the summary adds up over all devices.
_DISKS = {"disk_read_bytes": "read_bytes", "disk_write_bytes": "write_bytes", "disk_ios": "reads"}


@explicit(TraceLoad, without=["repeat"])
def summary(
    source: Path, progress: Progress | None = None, **options: Unpack[keywords.TraceLoad]
) -> SummaryResult:
    """The contents of a trace; those of several nodes are under `nodes`, and of several jobs under
    `jobs`. The tables are the stages of applications, the nodes, and the samples.

    A trace has the keys of the core's summary. `application` is what an event log of Spark, or the
    tables in the folder, have of the stages: times in seconds after the start of the application,
    `outside_s` the time without a stage. `run` is the `run.json` of a run. `warnings` of a
    converted file are those of the conversion. `progress` is called with the bytes read of a file
    (done, total). The options say how a file of requests is read. Raises GordonError for what has
    no trace.
    """
    path = fspath(source)
    given: Given = {**options}
    if is_of_requests(path, given):
        return SummaryResult(_requests(path, given))
    for name in given:
        if name == "format" and _core.trace_activity_format(path, given[name]) is not None:
            continue
        raise GordonError(
            f"{path} is not a file of requests, and {name} says how to read one",
            f"leave out {name}",
            kind="exclusive-options",
        )
    jobs = [_job(inputs) for inputs in expand([path], progress=progress)]
    return SummaryResult(jobs[0] if len(jobs) == 1 else {"jobs": jobs})


def kind_of(node: TraceSummary, key: str) -> str:
    """How the values of a column of samples are known: `measured`, `estimated` or `missing`."""
    parts = [part for part in node["manifest"]["parts"] if part["file"] == "disks.parquet"]
    disks = {one["name"]: one["kind"] for part in parts for one in part["columns"]}
    if _DISKS.get(key) in disks:
        return disks[_DISKS[key]]
    # Seconds here are nanoseconds in the trace's columns.
    column = f"{key[:-2]}_ns" if key.endswith("_s") else key
    return node["kinds"].get(column, "measured")


def is_of_requests(source: str, options: Given) -> bool:
    """Whether a source is a file of block requests, which it is if options say how to read it.
    Raises GordonError for a part of a trace."""
    path = File(source)
    if not path.is_file():
        return False
    if options.get("columns") is not None:
        return True
    if _core.trace_activity_format(source, options.get("format")) is not None:
        return False
    not_traces.check_part(path)
    return bool(options) or not_traces.is_of_blocks(path)


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


def _totals(node: ShownTrace) -> Row:
    """The use of a node: the maximum of memory, and the sums of the other columns."""
    about: Row = {"node": node["path"], "cores": node["manifest"]["machine"]["cores"]}
    for name, values in _known(node).items():
        if name != "start_s":
            about[name] = max(values) if name in _LEVELS else sum(values)
    return about


def _samples(node: ShownTrace) -> list[Row]:
    """A row for each sample of a node."""
    known = _known(node)
    return [
        {"node": node["path"], **dict(zip(known, row, strict=True))}
        for row in zip(*known.values(), strict=True)
    ]


def _known(node: ShownTrace) -> dict[str, list[float]]:
    """The columns of samples that the trace has."""
    samples: Mapping[str, Any] = node["samples"]
    return {
        name: values
        for name, values in samples.items()
        if values and kind_of(node, name) != "missing"
    }


def _node(trace: str) -> ShownTrace:
    made: ShownTrace = json.loads(_core.trace_summary(trace))
    return made


def _requests(source: str, options: Given) -> ShownTrace:
    """The summary of a file of block requests, which is converted first."""
    (how,) = dealt(options, TraceLoad)
    place = Workplace()
    target = place.new(source, source)
    with place.naming():
        load = json.dumps(how.config(source)["trace"])
        try:
            done: ConversionReport = json.loads(_core.trace_convert(load, target, "gordon"))
        except GordonError as error:
            if error.kind != "option" or "is a trace of objects" not in error.message:
                raise
            raise GordonError(
                f"{source}: a trace of objects has no summary",
                f"`gordon cache replay {source}`, or `gordon cache mrc {source}`",
                kind="trace-of-objects",
            ) from None
    made: ShownTrace = place.named(json.loads(_core.trace_summary(target)))
    made["warnings"] = [f"{source}: {text}" for text in done["warnings"]] + made["warnings"]
    return made
