"""A survey of several jobs: the result of each, and their mean.

In the mean each job weighs the same, as in the Gordon paper (section 5.4, "the average across our
benchmark suite"): times and energies are means of values relative to the baseline design of the
same job. They are given in seconds and joules of the mean baseline. Powers and shares are means.
Flash wears by one run of each job. A space with machines has no baseline: there the mean is that of
the seconds, joules and prices of one run of each job.
"""

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from gordon.errors import GordonError
from gordon.run.inputs import Inputs
from gordon.survey import table6
from gordon.survey.machines import MODEL, outcome

Row = dict[str, Any]

#: Designs of a space whose mean is taken.
MOST = 100_000
#: Keys of a design that do not depend on the job.
_FIXED = (
    "cpu", "cpus", "ghz", "storage", "storage_count", "storage_kind", "max_node_power_w",
    "machine", "nodes", "cores", "core_speed", "memory_bytes", "network_bytes_per_s",
    "storage_part", "price_per_hour",
)  # fmt: skip
#: Keys of a result that are the same for all jobs.
_SHARED = ("version", "space", "model", "by", "designs_total")
_SECONDS_PER_YEAR = 365.25 * 86400


def run(jobs: Sequence[Inputs], survey: Callable[..., Row], rows: int) -> Row:
    """Surveys each job with `survey`, which takes its inputs and `rows`, the number of rows, and
    returns the results of all jobs and their mean, with at most `rows` designs each; the front and
    the named designs are always among them. Raises GordonError for a space of more than `MOST`
    designs."""
    results: dict[str, Row] = {}
    for job in jobs:
        result = results[job.name] = survey(job, rows=MOST)
        if result["designs_total"] > MOST:
            raise GordonError(
                f"the space has {result['designs_total']:,} designs, and the mean of several jobs "
                f"is taken over at most {MOST:,}",
                "survey one job at a time, or a smaller space",
                kind="too-many-designs",
            )
    several = list(results.values())
    first = several[0]
    mean = _Mean(several)
    designs, named, front = mean.designs(), mean.named(), mean.front()
    for design in designs:
        design["pareto"] = design["id"] in front
        design["names"] = [name for name, id in named.items() if id == design["id"]]
    shown = {id for id in (*front, *named.values(), *_baselines(several)) if id is not None}
    is_paper = first["space"]["name"] == table6.SPACE
    compared = table6.compare(designs, named) if is_paper else None
    if compared is not None:
        shown |= {row["design"] for row in compared["rows"] if row["design"] is not None}
    nodes = {result["nodes"] for result in several}
    charges = {result["charge"] for result in several}
    found = {key: first[key] for key in _SHARED if key in first}
    found |= {
        # Some jobs may have CPU time of the command, and others of the machine alone.
        "charge": charges.pop() if len(charges) == 1 else "auto",
        # The jobs of a space with machines may have clusters of different sizes.
        "nodes": nodes.pop() if len(nodes) == 1 else None,
        "jobs": {name: _trimmed(result, rows, shown) for name, result in results.items()},
        "designs": _kept(designs, rows, shown),
        "front": front,
        "named": named,
        "table6": compared,
        "differences": [],
        "parameters": first["parameters"],
        "assumptions": _distinct(several, "assumptions"),
        "warnings": _distinct(several, "warnings"),
    }
    base = mean.baseline()
    if base is not None:
        found["baseline"] = base
        found["sensitivity"] = _sensitivity(first, designs, named)
    if is_paper:
        traces = [trace for result in several for trace in result["traces"]]
        node = first["space"]["node"]
        found["differences"] = table6.explain({"traces": traces}, designs, named, node)
    return found


def gains(result: Row) -> dict[str, float]:
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


def traces(result: Row) -> list[str]:
    """The paths of the traces of a result, of one job or several."""
    jobs = result["jobs"].values() if "jobs" in result else [result]
    return [trace["path"] for job in jobs for trace in job["traces"]]


def _baselines(results: list[Row]) -> list[str]:
    return [result["baseline"]["id"] for result in results if "baseline" in result]


def _trimmed(result: Row, rows: int, shown: set[str]) -> Row:
    left_out = ("parameters", "assumptions", "warnings")
    kept = {key: value for key, value in result.items() if key not in left_out}
    return kept | {"designs": _kept(result["designs"], rows, shown)}


def _kept(designs: list[Row], rows: int, shown: set[str]) -> list[Row]:
    """The first designs, those on the front, the named ones, and those with the ids `shown`, in
    their order."""
    return [
        design
        for number, design in enumerate(designs)
        if number < rows or design["pareto"] or design["names"] or design["id"] in shown
    ]


def _distinct(results: list[Row], key: str) -> list[Any]:
    found: list[Any] = []
    for result in results:
        found += [entry for entry in result[key] if entry not in found]
    return found


def _sensitivity(first: Row, designs: list[Row], named: dict[str, str | None]) -> Row:
    """The changes by other overhead ratios: the factors are those of each job, the powers and
    energies those of the mean."""
    by = first["by"]
    by_id = {design["id"]: design[by] for design in designs}
    found: Row = first["sensitivity"]
    others = [
        other
        | {
            "named": {
                name: {
                    key: by_id[id][key] * other["energy_factor"]
                    for key in ("node_power_w", "energy_j")
                }
                for name, id in named.items()
                if id is not None
            }
        }
        for other in found["alternatives"]
    ]
    return found | {"alternatives": others}


def _may_hold(row: Row, peak: int | None) -> bool:
    """Whether a machine is a candidate for a job that used `peak` bytes of memory; None: a trace
    does not have it."""
    if row["memory_fits"] is not None:
        return bool(row["memory_fits"])
    return peak is None or row["memory_bytes"] >= peak


class _Mean:
    """The mean of the results of several jobs over the designs of one space."""

    def __init__(self, results: list[Row]) -> None:
        self.results = results
        self.by = results[0].get("by")
        rows = [{row["id"]: row for row in result["designs"]} for result in results]
        self.ids = [id for id in rows[0] if all(id in of_job for of_job in rows)]
        self.rows = {id: [of_job[id] for of_job in rows] for id in self.ids}
        self._designs = [self._design(id) for id in self.ids]

    def designs(self) -> list[Row]:
        """A row for each design, as in the result of one job."""
        return self._designs

    def baseline(self) -> Row | None:
        """The baseline of a grid: the mean of what it takes for each job."""
        if self.by is None:
            return None
        models = [model for model in ("sync", "nosync", "stages") if self._has(model)]
        bases = [result["baseline"] for result in self.results]
        return {"id": bases[0]["id"]} | {
            model: _mean_of([base[model] for base in bases]) for model in models
        }

    def front(self) -> list[str]:
        """Ids of the Pareto front of time and energy, the fastest first. Of machines it is that of
        the upper ends of time and price, and of energy. Objectives that are not known of all
        designs do not count."""
        keys: tuple[str, ...] = (
            ("time_s", "energy_j") if self.by else ("time_s_high", "price_high", "energy_j")
        )
        of = {design["id"]: self._outcome(design) for design in self._candidates()}
        keys = tuple(key for key in keys if all(o.get(key) is not None for o in of.values()))
        points = {id: tuple(outcome[key] for key in keys) for id, outcome in of.items()}
        front: list[str] = []
        # Only a design that comes earlier in this order can beat another.
        for id in sorted(points, key=lambda id: points[id]):
            if not any(_beats(points[other], points[id]) for other in front):
                front.append(id)
        return front

    def named(self) -> dict[str, str | None]:
        """The named designs, by the rules of a survey of one job: of a grid those of Table 6 of the
        paper, of machines the best in each figure at the upper end of its range."""
        of_grid: dict[str, tuple[str, ...]] = {
            "MinP": ("node_power_w", "energy_j", "time_s"),
            "MaxE": ("energy_j", "time_s"),
            "MinT": ("time_s", "energy_j"),
        }
        of_machines: dict[str, tuple[str, ...]] = {
            "fastest": ("time_s_high",),
            "cheapest": ("price_high", "time_s_high"),
            "least-energy": ("energy_j", "time_s_high"),
        }
        found: dict[str, str | None] = {}
        for suffix in ("", "-disk") if self.by else ("",):
            for name, key in (of_grid if self.by else of_machines).items():
                among = [
                    (tuple(outcome[part] for part in key), design["id"])
                    for design in self._candidates()
                    if not suffix or design["storage_kind"] == "disk"
                    for outcome in [self._outcome(design)]
                    if all(outcome.get(part) is not None for part in key)
                ]
                found[name + suffix] = min(among, key=lambda each: each[0])[1] if among else None
        return found

    def _candidates(self) -> list[Row]:
        """The designs that can be named: of machines, the candidates of every job."""
        if self.by is not None:
            return self._designs
        peaks = [result["peak_memory_bytes"] for result in self.results]
        return [
            design
            for design in self._designs
            if all(
                _may_hold(*of_job) for of_job in zip(self.rows[design["id"]], peaks, strict=True)
            )
        ]

    def _has(self, model: str) -> bool:
        return all(model in result["baseline"] for result in self.results)

    def _outcome(self, design: Row) -> Row:
        found: Row = outcome(design) if self.by is None else design[self.by]
        return found

    def _design(self, id: str) -> Row:
        rows = self.rows[id]
        design: Row = {"id": id} | {key: rows[0][key] for key in _FIXED if key in rows[0]}
        design["limits"] = _shares([row["limits"] for row in rows])
        if self.by is None:
            design |= _mean_of([{"price_per_month": row["price_per_month"]} for row in rows])
            design[MODEL] = _mean_of([_without_sources(row[MODEL]) for row in rows])
            fits = [row["memory_fits"] for row in rows]
            design["memory_fits"] = False if False in fits else None if None in fits else True
            return design
        for model in ("sync", "nosync", "stages"):
            if self._has(model):
                design[model] = self._relative(rows, model)
        design["relative"] = {
            what: fmean(row["relative"][what] for row in rows) for what in ("time", "energy")
        }
        for key, model in (("energy_by_part_j", "sync"), ("energy_by_part_nosync_j", "nosync")):
            parts = {part: None for row in rows for part in row[key]}
            design[key] = {
                part: self._scaled([row[key].get(part, 0.0) for row in rows], model, "energy_j")
                for part in parts
            }
        design["flash"] = self._flash(rows)
        return design

    def _relative(self, rows: list[Row], model: str) -> Row:
        """Time and energy relative to the baseline of each job, in seconds and joules of the mean
        baseline; powers are means."""
        of = [row[model] for row in rows]
        return {
            "time_s": self._scaled([each["time_s"] for each in of], model, "time_s"),
            "energy_j": self._scaled([each["energy_j"] for each in of], model, "energy_j"),
            "power_w": fmean(each["power_w"] for each in of),
            "node_power_w": fmean(each["node_power_w"] for each in of),
        }

    def _scaled(self, values: list[float], model: str, key: str) -> float:
        bases = [result["baseline"][model][key] for result in self.results]
        relative = [value / base for value, base in zip(values, bases, strict=True)]
        return fmean(relative) * fmean(bases)

    def _flash(self, rows: list[Row]) -> Row | None:
        """Wear by one run of each job."""
        of = [row["flash"] for row in rows]
        if any(flash is None for flash in of):
            return None
        sums = {
            key: sum(flash[key] for flash in of)
            for key in ("erases", "programs", "erase_equivalents", "endurance_used")
        }
        hosts = [
            flash["programs"] / flash["write_amplification"] for flash in of if flash["programs"]
        ]
        span = sum(row["sync"]["time_s"] for row in rows)
        used = sums["endurance_used"]
        return sums | {
            "write_amplification": sums["programs"] / sum(hosts) if hosts else None,
            "lifetime_span_s": span,
            "lifetime_years": span / used / _SECONDS_PER_YEAR if used else None,
        }


def _beats(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def _without_sources(outcome: Row) -> Row:
    """A time without what its range is made of, which differs by job."""
    return {key: value for key, value in outcome.items() if key != "range_by_s"}


def _mean_of(outcomes: list[Row]) -> Row:
    """The mean of each figure; None if it is unknown of a job."""
    return {
        key: None
        if any(each[key] is None for each in outcomes)
        else fmean(each[key] for each in outcomes)
        for key in outcomes[0]
    }


def _shares(limits: list[dict[str, float]]) -> dict[str, float]:
    names = dict.fromkeys(name for of_job in limits for name in of_job)
    return {name: fmean(of_job.get(name, 0.0) for of_job in limits) for name in names}
