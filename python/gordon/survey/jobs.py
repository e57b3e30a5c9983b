"""A survey of several jobs: the result of each, and their mean.

In the mean each job weighs the same, as in the Gordon paper (section 5.4, "the average across our
benchmark suite"): times and energies are means of values relative to the baseline design of the
same job. They are given in seconds and joules of the mean baseline. Powers and shares are means.
Flash wears by one run of each job. A space with machines has no baseline: there the mean is that of
the seconds, joules and prices of one run of each job.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import Final, Literal, TypeVar

from gordon import _core
from gordon.errors import GordonError
from gordon.reports.survey import Assumption, FlashReport, JobReport, OutcomeReport
from gordon.run.inputs import Inputs
from gordon.survey import table6
from gordon.survey.results import (
    Alternative,
    Baseline,
    By,
    GridDesign,
    GridMean,
    GridResult,
    JobResult,
    MachineDesign,
    MachinesMean,
    Mean,
    MeanMachine,
    MeanOutcome,
    OfOne,
    OfSeveral,
    Result,
    Sensitivity,
)

#: Designs of a space whose mean is taken.
MOST = 100_000
_SECONDS_PER_YEAR = 365.25 * 86400
#: The outcomes of a design that all surveys of a grid have.
_ALWAYS: Final[tuple[By, ...]] = ("sync", "nosync")


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
    mean = _Grids(several)
    named, front = mean.named(), mean.front()
    designs = _placed(mean.designs, named, front)
    shown = {id for id in (*front, *named.values()) if id is not None}
    shown |= {result["baseline"]["id"] for result in several}
    is_paper = first["space"]["name"] == table6.SPACE
    compared = table6.compare(designs, named) if is_paper else None
    if compared is not None:
        shown |= {row["design"] for row in compared["rows"] if row["design"] is not None}
    found: GridMean = {
        **_common(several, named, front),
        "space": first["space"],
        "model": first["model"],
        "by": first["by"],
        "jobs": {name: _trimmed_grid(result, rows, shown) for name, result in results.items()},
        "designs": list(_kept(designs, rows, shown)),
        "table6": compared,
        "baseline": mean.baseline(),
        "sensitivity": _sensitivity(first, designs, named),
    }
    if is_paper:
        traced = [trace for result in several for trace in result["traces"]]
        found["differences"] = table6.explain(traced, designs, named, first["space"]["node"])
    return found


def _of_machines(results: dict[str, JobResult], rows: int) -> MachinesMean:
    """The mean of surveys of machines, and their results."""
    several = list(results.values())
    mean = _Machines(several)
    named, front = mean.named(), mean.front()
    designs = _placed(mean.designs, named, front)
    shown = {id for id in (*front, *named.values()) if id is not None}
    return {
        **_common(several, named, front),
        "space": several[0]["space"],
        "model": several[0]["model"],
        "jobs": {name: _trimmed_job(result, rows, shown) for name, result in results.items()},
        "designs": list(_kept(designs, rows, shown)),
    }


def _common(
    several: Sequence[GridResult] | Sequence[JobResult],
    named: dict[str, str | None],
    front: list[str],
) -> Mean:
    """What the mean has whatever the space."""
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
        "front": front,
        "named": named,
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


def _trimmed_grid(result: GridResult, rows: int, shown: set[str]) -> GridResult:
    """A result without what is of all jobs."""
    kept = result.copy()
    del kept["parameters"], kept["assumptions"], kept["warnings"]
    kept["designs"] = list(_kept(result["designs"], rows, shown))
    return kept


def _trimmed_job(result: JobResult, rows: int, shown: set[str]) -> JobResult:
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


def _placed(
    designs: Sequence[Design], named: Mapping[str, str | None], front: Sequence[str]
) -> Sequence[Design]:
    """The designs with their places in the mean."""
    for design in designs:
        design["pareto"] = design["id"] in front
        design["names"] = [name for name, id in named.items() if id == design["id"]]
    return designs


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
    by = first["by"]
    by_id = {design["id"]: design[by] for design in designs}
    found = first["sensitivity"]
    others: list[Alternative] = [
        {
            **other,
            "named": {
                name: {
                    "node_power_w": by_id[id]["node_power_w"] * other["energy_factor"],
                    "energy_j": by_id[id]["energy_j"] * other["energy_factor"],
                }
                for name, id in named.items()
                if id is not None
            },
        }
        for other in found["alternatives"]
    ]
    return {**found, "alternatives": others}


def _may_hold(row: MachineDesign, peak: int | None) -> bool:
    """Whether a machine is a candidate for a job that used `peak` bytes of memory; None: a trace
    does not have it."""
    if row["memory_fits"] is not None:
        return row["memory_fits"]
    return peak is None or row["memory_bytes"] >= peak


def _front(points: dict[str, tuple[float, ...]]) -> list[str]:
    """Ids of the designs that no other beats in a figure without being worse in another."""
    ids = list(points)
    return [ids[at] for at in _core.pareto_front(list(points.values()))]


def _best(points: dict[str, tuple[float, ...]]) -> str | None:
    """The design with the least figures, the first of which decides; None without designs."""
    return min(points, key=lambda id: points[id], default=None)


class _Grids:
    """The mean of the results of several jobs over the designs of a grid."""

    def __init__(self, results: Sequence[GridResult]) -> None:
        self.results = results
        self.by = results[0]["by"]
        has_stages = all("stages" in result["baseline"] for result in results)
        self.models: tuple[By, ...] = (*_ALWAYS, "stages") if has_stages else _ALWAYS
        rows = [{row["id"]: row for row in result["designs"]} for result in results]
        ids = [id for id in rows[0] if all(id in of_job for of_job in rows)]
        self.designs = [self._design([of_job[id] for of_job in rows]) for id in ids]

    def baseline(self) -> Baseline:
        """The mean of what the baseline takes for each job."""
        bases = [result["baseline"] for result in self.results]
        found: Baseline = {
            "id": bases[0]["id"],
            "sync": _mean_outcome([base["sync"] for base in bases]),
            "nosync": _mean_outcome([base["nosync"] for base in bases]),
        }
        if "stages" in self.models:
            found["stages"] = _mean_outcome([base["stages"] for base in bases])
        return found

    def front(self) -> list[str]:
        """Ids of the Pareto front of time and energy, the fastest first."""
        return _front(
            {
                design["id"]: (design[self.by]["time_s"], design[self.by]["energy_j"])
                for design in self.designs
            }
        )

    def named(self) -> dict[str, str | None]:
        """The named designs, by the rules of a survey of one job: those of Table 6 of the paper."""
        found: dict[str, str | None] = {}
        for suffix in ("", "-disk"):
            among = {
                design["id"]: design[self.by]
                for design in self.designs
                if not suffix or design["storage_kind"] == "disk"
            }
            found[f"MinP{suffix}"] = _best(
                {id: (of["node_power_w"], of["energy_j"], of["time_s"]) for id, of in among.items()}
            )
            found[f"MaxE{suffix}"] = _best(
                {id: (of["energy_j"], of["time_s"]) for id, of in among.items()}
            )
            found[f"MinT{suffix}"] = _best(
                {id: (of["time_s"], of["energy_j"]) for id, of in among.items()}
            )
        return found

    def _design(self, rows: Sequence[GridDesign]) -> GridDesign:
        """A design, as in the result of one job; its place is not known yet."""
        first = rows[0]
        design: GridDesign = {
            **first,
            "limits": _shares([row["limits"] for row in rows]),
            "sync": self._relative(rows, "sync"),
            "nosync": self._relative(rows, "nosync"),
            "relative": {
                "time": fmean(row["relative"]["time"] for row in rows),
                "energy": fmean(row["relative"]["energy"] for row in rows),
            },
            "energy_by_part_j": self._parts([row["energy_by_part_j"] for row in rows], "sync"),
            "energy_by_part_nosync_j": self._parts(
                [row["energy_by_part_nosync_j"] for row in rows], "nosync"
            ),
            "flash": _flash(rows),
        }
        if "stages" in self.models:
            design["stages"] = self._relative(rows, "stages")
        return design

    def _parts(self, rows: Sequence[dict[str, float]], model: By) -> dict[str, float]:
        """The energy of each part."""
        return {
            part: self._energy([row.get(part, 0.0) for row in rows], model)
            for part in dict.fromkeys(part for row in rows for part in row)
        }

    def _relative(self, rows: Sequence[GridDesign], model: By) -> OutcomeReport:
        """Time and energy relative to the baseline of each job, in seconds and joules of the mean
        baseline; powers are means."""
        of = [row[model] for row in rows]
        bases = [result["baseline"][model]["time_s"] for result in self.results]
        return {
            "time_s": _scaled([each["time_s"] for each in of], bases),
            "energy_j": self._energy([each["energy_j"] for each in of], model),
            "power_w": fmean(each["power_w"] for each in of),
            "node_power_w": fmean(each["node_power_w"] for each in of),
        }

    def _energy(self, values: Sequence[float], model: By) -> float:
        bases = [result["baseline"][model]["energy_j"] for result in self.results]
        return _scaled(values, bases)


def _scaled(values: Sequence[float], bases: Sequence[float]) -> float:
    """The mean of values relative to those of the baseline, in units of the mean baseline."""
    relative = [value / base for value, base in zip(values, bases, strict=True)]
    return fmean(relative) * fmean(bases)


def _flash(rows: Sequence[GridDesign]) -> FlashReport | None:
    """Wear by one run of each job."""
    of = [row["flash"] for row in rows if row["flash"] is not None]
    if len(of) < len(rows):
        return None
    programs = sum(flash["programs"] for flash in of)
    hosts = [
        flash["programs"] / flash["write_amplification"]
        for flash in of
        if flash["write_amplification"] is not None
    ]
    span = sum(row["sync"]["time_s"] for row in rows)
    used = sum(flash["endurance_used"] for flash in of)
    return {
        "erases": sum(flash["erases"] for flash in of),
        "programs": programs,
        "erase_equivalents": sum(flash["erase_equivalents"] for flash in of),
        "endurance_used": used,
        "write_amplification": programs / sum(hosts) if hosts else None,
        "lifetime_span_s": span,
        "lifetime_years": span / used / _SECONDS_PER_YEAR if used else None,
    }


def _mean_outcome(outcomes: Sequence[OutcomeReport]) -> OutcomeReport:
    return {
        "time_s": fmean(each["time_s"] for each in outcomes),
        "energy_j": fmean(each["energy_j"] for each in outcomes),
        "power_w": fmean(each["power_w"] for each in outcomes),
        "node_power_w": fmean(each["node_power_w"] for each in outcomes),
    }


class _Machines:
    """The mean of the results of several jobs over the machines of a space."""

    def __init__(self, results: Sequence[JobResult]) -> None:
        rows = [{row["id"]: row for row in result["designs"]} for result in results]
        ids = [id for id in rows[0] if all(id in of_job for of_job in rows)]
        of_each = [[of_job[id] for of_job in rows] for id in ids]
        self.designs = [_machine(of_design) for of_design in of_each]
        peaks = [result["peak_memory_bytes"] for result in results]
        #: The designs that can be named: the candidates of every job.
        self.candidates = [
            design
            for design, of_design in zip(self.designs, of_each, strict=True)
            if all(_may_hold(*of_job) for of_job in zip(of_design, peaks, strict=True))
        ]

    def front(self) -> list[str]:
        """Ids of the Pareto front of the upper ends of time and price, and of energy. Objectives
        that are not known of all designs do not count."""
        times = {design["id"]: design["job"]["time_s_high"] for design in self.candidates}
        known = [
            values
            for values in (self._known("price_high"), self._known("energy_j"))
            if len(values) == len(times)
        ]
        return _front({id: (time, *(values[id] for values in known)) for id, time in times.items()})

    def named(self) -> dict[str, str | None]:
        """The named machines, by the rules of a survey of one job: the best in each figure at the
        upper end of its range."""
        times = {design["id"]: design["job"]["time_s_high"] for design in self.candidates}
        return {
            "fastest": _best({id: (time,) for id, time in times.items()}),
            "cheapest": _best(
                {id: (price, times[id]) for id, price in self._known("price_high").items()}
            ),
            "least-energy": _best(
                {id: (energy, times[id]) for id, energy in self._known("energy_j").items()}
            ),
        }

    def _known(self, figure: Literal["price_high", "energy_j"]) -> dict[str, float]:
        """A figure of the candidates of which it is known."""
        of = {design["id"]: design["job"][figure] for design in self.candidates}
        return {id: value for id, value in of.items() if value is not None}


def _machine(rows: Sequence[MachineDesign]) -> MeanMachine:
    """A machine; its place is not known yet."""
    first = rows[0]
    fits = [row["memory_fits"] for row in rows]
    return {
        "id": first["id"],
        "storage": first["storage"],
        "storage_kind": first["storage_kind"],
        "machine": first["machine"],
        "nodes": first["nodes"],
        "cores": first["cores"],
        "core_speed": first["core_speed"],
        "memory_bytes": first["memory_bytes"],
        "network_bytes_per_s": first["network_bytes_per_s"],
        "storage_part": first["storage_part"],
        "price_per_hour": first["price_per_hour"],
        "limits": _shares([row["limits"] for row in rows]),
        "price_per_month": _mean_of([row["price_per_month"] for row in rows]),
        "job": _mean_job([row["job"] for row in rows]),
        "memory_fits": False if False in fits else None if None in fits else True,
        "pareto": False,
        "names": [],
    }


def _mean_job(jobs: Sequence[JobReport]) -> MeanOutcome:
    """A time without what its range is made of, which differs by job."""
    return {
        "time_s": fmean(job["time_s"] for job in jobs),
        "time_s_low": fmean(job["time_s_low"] for job in jobs),
        "time_s_high": fmean(job["time_s_high"] for job in jobs),
        "energy_j": _mean_of([job["energy_j"] for job in jobs]),
        "price": _mean_of([job["price"] for job in jobs]),
        "price_high": _mean_of([job["price_high"] for job in jobs]),
    }


def _mean_of(values: Sequence[float | None]) -> float | None:
    """The mean; None if a value is unknown."""
    known = [value for value in values if value is not None]
    return fmean(known) if len(known) == len(values) else None


def _shares(limits: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for of_job in limits for name in of_job)
    return {name: fmean(of_job.get(name, 0.0) for of_job in limits) for name in names}
