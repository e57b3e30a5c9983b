"""The report of a survey of several jobs: their mean, each job next to it, the paper's figures.

One HTML file that works offline, like the report of one job. The same result gives the same bytes.
"""

from typing import Any

from gordon import notices
from gordon.report import page
from gordon.survey.jobs import gains
from gordon.survey.jobs import traces as trace_paths
from gordon.survey.machines import outcome
from gordon.survey.page import FILTERS, LIBRARIES, sentence
from gordon.survey.results import GridMean, MachinesMean


def render(result: GridMean | MachinesMean) -> str:
    """The report's HTML."""
    return _of_grids(result) if "by" in result else _of_machines(result)


def _of_grids(result: GridMean) -> str:
    by = result["by"]
    shown = [row for row in result["designs"] if row["pareto"] or row["names"]]
    return _rendered(
        result,
        gains={name: gains(job) for name, job in result["jobs"].items()},
        mean_gains=gains(result),
        sentence=sentence(result),
        shown=sorted(shown, key=lambda row: row[by]["time_s"]),
    )


def _of_machines(result: MachinesMean) -> str:
    shown = [row for row in result["designs"] if row["pareto"] or row["names"]]
    return _rendered(
        result,
        gains={},
        mean_gains={},
        priced=any(outcome(row)["price"] is not None for row in result["designs"]),
        sentence=_named(result),
        shown=sorted(shown, key=lambda row: outcome(row)["time_s"]),
    )


def _named(result: MachinesMean) -> str:
    """The machines with names."""
    named = [f"{name}: {id}" for name, id in result["named"].items() if id is not None]
    return f"Of all jobs together: {'; '.join(named)}." if named else "No machine is on the front."


def _rendered(result: GridMean | MachinesMean, **values: Any) -> str:
    traces = [trace for job in result["jobs"].values() for trace in job["traces"]]
    by_id = {design["id"]: design for design in result["designs"]}
    return page.render(
        "jobs",
        result,
        FILTERS | {"outcome": outcome},
        libraries=LIBRARIES,
        notices=notices.grouped(result["warnings"], trace_paths(result)),
        r={**result, "traces": traces},
        by_id=by_id,
        of_grid="by" in result,
        named={name: by_id[id] for name, id in result["named"].items() if id is not None},
        parts=page.grouped(result["parameters"]),
        **values,
    )
