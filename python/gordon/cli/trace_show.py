"""`gordon trace show`: the summary of a trace, or of all nodes of a job, and the stages of it."""

import json
from pathlib import Path
from typing import Any

from gordon import _core
from gordon.cli import warn
from gordon.options import Progress
from gordon.run import folder, not_traces
from gordon.run.inputs import Inputs, expand

#: A job: its name, its nodes and, of an application of Spark, its stages.
Shown = dict[str, Any]


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


def _job(inputs: Inputs) -> Shown:
    with inputs.naming():
        nodes = [_node(trace) for trace in inputs.paths]
        tables = None
        if inputs.folder:
            tables = _core.spark_recorded_stages(inputs.folder)
    more: Shown = {} if tables is None else {"application": json.loads(tables)}
    if len(nodes) == 1 and not inputs.lags:
        one: Shown = inputs.named(nodes[0]) | more
        one["warnings"] = inputs.warnings + one["warnings"]
        return one
    made: Shown = {"name": inputs.name, "nodes": nodes, "warnings": inputs.warnings} | more
    if _is_run(inputs):
        made |= {"folder": inputs.folder, "run": folder.read(inputs.folder)}
    return inputs.named(made)


def _is_run(inputs: Inputs) -> bool:
    """Whether a job is one run; repeats have no common folder."""
    return bool(inputs.folder) and folder.is_run(inputs.folder)


def _node(trace: str) -> Shown:
    made: Shown = {"path": trace} | json.loads(_core.trace_summary(trace))
    return made


def _requests(source: str) -> Shown:
    """The summary of a file of block requests, which is converted first."""
    from gordon.cli.trace_input import load_of, reading
    from gordon.run.converted import Workplace

    place = Workplace()
    target = place.new(source, source)
    with reading(source, {}, objects=False), place.naming():
        done = json.loads(_core.trace_convert(json.dumps(load_of(source, {})), target, None))
    made: Shown = place.named(json.loads(_core.trace_summary(target)))
    made["warnings"] = [f"{source}: {text}" for text in done["warnings"]] + made["warnings"]
    return made


def show(found: Shown) -> None:
    """Prints the summary, and the warnings on stderr."""
    from gordon.cli import nodes_view, run_nodes_view, trace_view

    for index, job in enumerate(found.get("jobs", [found])):
        nodes_view.separate(index)
        if "nodes" in job:
            if "run" in job:
                run_nodes_view.show(job["folder"], job["run"])
            else:
                nodes_view.show(job)
            said = [f"{node['path']}: {text}" for node in job["nodes"] for text in node["warnings"]]
            paths = [node["path"] for node in job["nodes"]]
        else:
            trace_view.show(job)
            said, paths = [], []
        if "application" in job:
            nodes_view.show_stages(job["application"])
        warn([*job["warnings"], *said], paths)
