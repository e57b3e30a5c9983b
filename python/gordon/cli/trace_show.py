"""`gordon trace show`: the summary of a trace, or of all nodes of a job, and the stages of it."""

from gordon.cli import warn
from gordon.trace.summary import Job, Shown


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
