"""A survey of several jobs: the result of each, and their mean.

The core takes the mean and chooses its front and named designs: of a grid in
`crates/cluster/src/model/paper/mean.rs`, of machines in `crates/cluster/src/model/job/mean.rs`.
This module puts the results of the jobs together around it.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from gordon import _core
from gordon.errors import GordonError
from gordon.reports.survey import Assumption, JobMean, PaperMean
from gordon.run.inputs import Inputs
from gordon.survey import table6
from gordon.survey.grids import placed, scaled
from gordon.survey.model import places
from gordon.survey.results import (
    Alternative,
    GridDesign,
    GridMean,
    GridResult,
    JobResult,
    MachineDesign,
    MachinesMean,
    Mean,
    MeanMachine,
    OfOne,
    OfSeveral,
    Result,
    Sensitivity,
)

#: Designs of a space whose mean is taken.
MOST = 100_000


def run(jobs: Sequence[Inputs], survey: Callable[..., OfOne], rows: int) -> OfSeveral:
    """Surveys each job with `survey`, which takes its inputs and `rows`, the number of rows, and
    returns the results of all jobs and their mean, with at most `rows` designs each; the front and
    the named designs are always among them. Raises GordonError for a space of more than `MOST`
    designs."""
    grids: dict[str, GridResult] = {}
    machines: dict[str, JobResult] = {}
    for job in jobs:
        result = survey(job, rows=MOST)
        if result["designs_total"] > MOST:
            raise GordonError(
                f"the space has {result['designs_total']:,} designs, and the mean of several jobs "
                f"is taken over at most {MOST:,}",
                "survey one job at a time, or a smaller space",
                kind="too-many-designs",
            )
        if "by" in result:
            grids[job.name] = result
        elif result["model"] == "job":
            machines[job.name] = result
    return _of_grids(grids, rows) if grids else _of_machines(machines, rows)


def _of_grids(results: dict[str, GridResult], rows: int) -> GridMean:
    """The mean of surveys of a grid, and their results."""
    several = list(results.values())
    first = several[0]
    kinds = {row["storage"]: row["storage_kind"] for row in first["designs"]}
    config = {
        "jobs": [
            {"baseline": result["baseline"], "designs": result["designs"]} for result in several
        ],
        "disks": [storage for storage, kind in kinds.items() if kind == "disk"],
    }
    mean: PaperMean = json.loads(_core.survey_mean("paper", json.dumps(config)))
    named = mean["named"]
    designs = placed(mean, first["by"], kinds)
    shown = _notable(mean)
    shown |= {result["baseline"]["id"] for result in several}
    is_paper = first["space"]["name"] == table6.SPACE
    compared = table6.compare(designs, named) if is_paper else None
    if compared is not None:
        shown |= {row["design"] for row in compared["rows"] if row["design"] is not None}
    found: GridMean = {
        **_common(several, mean),
        "space": first["space"],
        "model": first["model"],
        "by": first["by"],
        "jobs": {name: _trimmed(result, rows, shown) for name, result in results.items()},
        "designs": list(_kept(designs, rows, shown)),
        "table6": compared,
        "baseline": mean["baseline"],
        "sensitivity": _sensitivity(first, designs, named),
    }
    if is_paper:
        traced = [trace for result in several for trace in result["traces"]]
        found["differences"] = table6.explain(traced, designs, named, first["space"]["node"])
    return found


def _of_machines(results: dict[str, JobResult], rows: int) -> MachinesMean:
    """The mean of surveys of machines, and their results."""
    several = list(results.values())
    jobs = [
        {
            "peak_memory_bytes": result["peak_memory_bytes"],
            "objectives": result["objectives"],
            "designs": result["designs"],
        }
        for result in several
    ]
    mean: JobMean = json.loads(_core.survey_mean("job", json.dumps({"jobs": jobs})))
    kinds = {row["id"]: row["storage_kind"] for row in several[0]["designs"]}
    place = places(mean)
    designs: list[MeanMachine] = [
        {**row, **place(row["id"], kinds[row["id"]])} for row in mean["designs"]
    ]
    shown = _notable(mean)
    return {
        **_common(several, mean),
        "space": several[0]["space"],
        "model": several[0]["model"],
        "jobs": {name: _trimmed(result, rows, shown) for name, result in results.items()},
        "designs": list(_kept(designs, rows, shown)),
    }


def _notable(mean: PaperMean | JobMean) -> set[str]:
    """Ids of the designs on the front and of the named ones."""
    return {id for id in (*mean["front"], *mean["named"].values()) if id is not None}


def _common(several: Sequence[GridResult] | Sequence[JobResult], mean: PaperMean | JobMean) -> Mean:
    """The keys that a mean has whatever the space."""
    first = several[0]
    nodes = {result["nodes"] for result in several}
    charges = {result["charge"] for result in several}
    return {
        "version": first["version"],
        # Some jobs may have CPU time of the command, and others of the machine alone.
        "charge": charges.pop() if len(charges) == 1 else "auto",
        # The jobs of a space with machines may have clusters of different sizes.
        "nodes": nodes.pop() if len(nodes) == 1 else None,
        "designs_total": first["designs_total"],
        "front": mean["front"],
        "named": mean["named"],
        "parameters": first["parameters"],
        "assumptions": _distinct(result["assumptions"] for result in several),
        "warnings": _distinct(result["warnings"] for result in several),
        "table6": None,
        "differences": [],
    }


def gains(result: GridResult | GridMean) -> dict[str, float]:
    """The gains of flash over disks, for one job or the mean: `MaxE`, the work per joule relative
    to that of the best disk design, and `MinT`, the speed relative to that of the fastest disk
    design. Empty without disk designs."""
    by = result["by"]
    named = {name: row[by] for row in result["designs"] for name in row["names"]}
    if "MaxE-disk" not in named:
        return {}
    return {
        "MaxE": named["MaxE-disk"]["energy_j"] / named["MaxE"]["energy_j"],
        "MinT": named["MinT-disk"]["time_s"] / named["MinT"]["time_s"],
    }


def traces(result: Result) -> list[str]:
    """The paths of the traces of a result, of one job or several."""
    if "jobs" in result:
        return [trace["path"] for job in result["jobs"].values() for trace in job["traces"]]
    return [trace["path"] for trace in result["traces"]]


OneJob = TypeVar("OneJob", GridResult, JobResult)


def _trimmed(result: OneJob, rows: int, shown: set[str]) -> OneJob:
    """A result without what is of all jobs."""
    kept = result.copy()
    del kept["parameters"], kept["assumptions"], kept["warnings"]
    kept["designs"] = list(_kept(result["designs"], rows, shown))
    return kept


Design = TypeVar("Design", GridDesign, MachineDesign, MeanMachine)


def _kept(designs: Sequence[Design], rows: int, shown: set[str]) -> Iterator[Design]:
    """The first designs, those on the front, the named ones, and those with the ids `shown`, in
    their order."""
    for number, design in enumerate(designs):
        if number < rows or design["pareto"] or design["names"] or design["id"] in shown:
            yield design


Entry = TypeVar("Entry", str, Assumption)


def _distinct(lists: Iterable[list[Entry]]) -> list[Entry]:
    found: list[Entry] = []
    for entries in lists:
        found += [entry for entry in entries if entry not in found]
    return found


def _sensitivity(
    first: GridResult, designs: Sequence[GridDesign], named: Mapping[str, str | None]
) -> Sensitivity:
    """The changes by other overhead ratios: the factors are those of each job, the powers and
    energies those of the mean."""
    found = first["sensitivity"]
    others: list[Alternative] = [
        {**other, "named": scaled(designs, named, first["by"], other["energy_factor"])}
        for other in found["alternatives"]
    ]
    return {**found, "alternatives": others}
