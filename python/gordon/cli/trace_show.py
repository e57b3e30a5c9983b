"""`gordon trace show`: the summary of a trace, or of all nodes of a job, and the stages of it."""

import json
from pathlib import Path
from typing import NotRequired, TypedDict, final

from gordon import _core
from gordon.cli import warn
from gordon.options import Progress
from gordon.reports.spark import RecordedStages
from gordon.reports.trace import ConversionReport, TraceSummary
from gordon.run import folder, not_traces
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


def summary(source: str, progress: Progress | None = None) -> Shown:
    """The contents of a trace; those of several nodes are under `nodes`, and of several jobs under
    `jobs`.

    A trace has the keys of the core's summary. `application` is what an event log of Spark, or the
    tables in the folder, have of the stages: times in seconds after the start of the application,
    `outside_s` the time without a stage. `run` is the `run.json` of a run. `warnings` of a
    converted file are those of the conversion. `progress` is called with the bytes read of a file
    (done, total). Raises GordonError for what has no trace.
    """
    path = Path(source)
    if path.is_file() and _core.trace_activity_format(source) is None:
        not_traces.check_part(path)
        if not_traces.is_of_blocks(path):
            return _requests(source)
    jobs = [_job(inputs) for inputs in expand([source], progress=progress)]
    return jobs[0] if len(jobs) == 1 else {"jobs": jobs}


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
    from gordon.cli.trace_input import load_of, reading
    from gordon.run.converted import Workplace

    place = Workplace()
    target = place.new(source, source)
    with reading(source, {}, objects=False), place.naming():
        load = json.dumps(load_of(source, {}))
        done: ConversionReport = json.loads(_core.trace_convert(load, target, None))
    made: ShownTrace = place.named(json.loads(_core.trace_summary(target)))
    made["warnings"] = [f"{source}: {text}" for text in done["warnings"]] + made["warnings"]
    return made


def show(found: Shown) -> None:
    """Prints the summary, and the warnings on stderr."""
    from gordon.cli import nodes_view, run_nodes_view, trace_view

    for index, job in enumerate(_several(found)):
        nodes_view.separate(index)
        if "nodes" in job:
            if "run" in job:
                run_nodes_view.show(job["folder"], job["run"])
            else:
                nodes_view.show(job["name"], job["nodes"])
            said = [f"{node['path']}: {text}" for node in job["nodes"] for text in node["warnings"]]
            paths = [node["path"] for node in job["nodes"]]
        else:
            trace_view.show(job)
            said, paths = [], []
        if "application" in job:
            nodes_view.show_stages(job["application"])
        warn([*job["warnings"], *said], paths)


def _several(found: Shown) -> list[Job]:
    if "jobs" in found:
        return found["jobs"]
    return [found]
