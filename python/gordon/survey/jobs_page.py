"""The report of a survey of several jobs: their mean, each job next to it, the paper's figures.

One HTML file that works offline, like the report of one job. The same result gives the same bytes.
"""

from typing import Any

from gordon import notices
from gordon.report import page
from gordon.survey.jobs import gains
from gordon.survey.jobs import traces as trace_paths
from gordon.survey.machines import answer, outcome
from gordon.survey.page import FILTERS, LIBRARIES

Row = dict[str, Any]


def render(result: Row) -> str:
    """The report's HTML."""
    by_id = {design["id"]: design for design in result["designs"]}
    traces = [trace for job in result["jobs"].values() for trace in job["traces"]]
    shown = [row for row in result["designs"] if row["pareto"] or row["names"]]
    of_grid = "by" in result
    of = result["by"] if of_grid else None
    return page.render(
        "jobs",
        result,
        FILTERS | {"answer": answer, "outcome": outcome},
        libraries=LIBRARIES,
        notices=notices.grouped(result["warnings"], trace_paths(result)),
        r=result | {"traces": traces},
        by_id=by_id,
        of_grid=of_grid,
        named={name: by_id[id] for name, id in result["named"].items() if id is not None},
        gains={name: gains(job) for name, job in result["jobs"].items()} if of_grid else {},
        mean_gains=gains(result) if of_grid else {},
        shown=sorted(shown, key=lambda row: (row[of] if of else outcome(row))["time_s"]),
        parts=page.grouped(result["parameters"]),
    )
