"""Sections 5.4 and 5.5 of the paper: Table 6, Figures 6 to 8 and the headline claims.

All figures are of one survey of all jobs by the paper's model on the paper's space: those of each
job, and those of the mean, in which each job weighs the same.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Final, Literal, TypedDict, get_args

from gordon import bundled
from gordon.parts import load
from gordon.quantity import number
from gordon.reproduce.papers import Bounds, paper
from gordon.reproduce.row import MEAN, Row
from gordon.survey import jobs as survey_jobs
from gordon.survey import run as survey
from gordon.survey import table6
from gordon.survey.results import (
    Barriers,
    Figures,
    GridDesign,
    GridMean,
    GridResult,
    Table6Row,
)

#: The job of a row with the mean of what the jobs gain.
GAINS = "mean of the gains"
TABLE, FRONT, LIMITS, ENERGY = "Table 6", "Figure 6", "Figure 7", "Figure 8"
CLAIMS = "Claims"
Column = Literal[
    "power_w", "power_vs_minp_disk", "perf_per_watt_vs_maxe_disk", "speedup_vs_mint_disk"
]
COLUMNS: Final[tuple[Column, ...]] = get_args(Column)
#: Instructions per cycle of the traced processor for which the claims are checked: the paper's
#: 1.5, and others, which change the processor's work and nothing else.
WORK = (0.375, 0.5, 0.75, 1.5, 3.0)
#: Less than the half of the time in which disks limit MaxE-disk in the paper.
ABOUT_HALF = 0.45

Result = GridResult | GridMean


class Gains(TypedDict):
    """The claims for some work of the processor."""

    #: The work over that of the survey.
    factor: float
    #: By job and for the mean: the gains, and `share`, the time in which disks limit MaxE-disk.
    gains: dict[str, dict[str, float]]


def run(jobs: dict[str, list[Path]], reference: float | None = None) -> dict[str, Result]:
    """The survey of the jobs, given by the folders of their runs: a result by job, and the mean."""
    # The folder of a job stands for its runs, as repeats of one job.
    found = survey(
        [runs[0].parent if len(runs) > 1 else runs[0] for runs in jobs.values()],
        space=bundled.SPACE,
        nodes=bundled.NODES,
        model=bundled.MODEL,
        reference=reference,
    ).report
    assert "by" in found, "the space has a grid of designs"
    of_jobs = found["jobs"].values() if "jobs" in found else [found]
    return {**dict(zip(jobs, of_jobs, strict=True)), MEAN: found}


def rows(results: dict[str, Result]) -> list[Row]:
    """Table 6, Figures 6 to 8 and the claims, of each job and of the mean."""
    found = []
    for job, result in results.items():
        found += claims(job, result)
        found += _table6(job, result)
        found += _front(job, result)
        found += _limits(job, result)
        found += _energy(job, result)
    of_jobs = {job: result for job, result in results.items() if job != MEAN}
    if len(of_jobs) > 1:
        found += _mean_gains(found, list(of_jobs))
    found += _same_front(results[MEAN], of_jobs)
    found += _order(of_jobs)
    return found


def _mean_gains(found: Sequence[Row], jobs: Sequence[str]) -> list[Row]:
    """The mean of the gains of the jobs, each on its own best designs."""
    means = []
    for row in [row for row in found if row.table == CLAIMS and row.job == MEAN]:
        gains = [other.ours for other in found if other.job in jobs and other.what == row.what]
        reason = (
            "Each job has its own MaxE and MinT here. Table 6 has one design for all jobs, as the "
            "rows of the mean have."
        )
        means.append(replace(row, job=GAINS, ours=fmean(gains), reason=reason))
    return means


def _numbers() -> dict[str, Bounds]:
    return paper("gordon").numbers


def named(result: Result, name: str) -> GridDesign:
    """A named design of a result."""
    id = result["named"][name]
    return next(row for row in result["designs"] if row["id"] == id)


def share(design: GridDesign, what: str) -> float:
    """Fraction of the time in which a component limits a design, alone or with another one."""
    return float(sum(part for name, part in design["limits"].items() if what in name.split("+")))


_GAINS: Final[tuple[tuple[str, Literal["energy_j", "time_s"], str, str], ...]] = (
    ("MaxE", "energy_j", "gain_efficiency", "performance per watt of MaxE over MaxE-disk"),
    ("MinT", "time_s", "gain_speed", "speed of MinT over MinT-disk"),
)


def claims(job: str, result: Result) -> list[Row]:
    """The gains of the most efficient and of the fastest design over those with disks."""
    found = []
    disk = {name: named(result, f"{name}-disk") for name in ("MaxE", "MinT")}
    flash = {name: named(result, name) for name in ("MaxE", "MinT")}
    for model in table6.MODELS:
        for name, key, printed, what in _GAINS:
            ours = disk[name][model][key] / flash[name][model][key]
            row = Row(CLAIMS, job, f"{what}, {model}", ours, unit="x", **_numbers()[printed])
            found.append(replace(row, reason=_storage(job, disk[name], f"{name}-disk", row)))
    return found


def _storage(job: str, disk: GridDesign, name: str, row: Row) -> str:
    """Why flash gains as much as it does over a disk design."""
    part = share(disk, "storage")
    drawn = disk["energy_by_part_j"].get("storage", 0.0) / disk["sync"]["energy_j"]
    limited = (
        f"Disks limit {name} ({_short(disk)}) {part:.0%} of the time and draw {drawn:.0%} of its "
        "energy"
    )
    if row.agrees:
        return f"{limited}."
    if row.nearest is not None and row.ours < row.nearest:
        if part < ABOUT_HALF:
            whose = "These jobs" if job == MEAN else "This job"
            paper = " (the paper: half of the time)" if name == "MaxE-disk" else ""
            return (
                f"{limited}{paper}. Flash saves about these two parts. {whose} may need more "
                "instructions for each byte than the paper's; the paper prints none."
            )
        return f"{limited}; {_most(disk)}."
    return (
        f"{limited}. Its processors wait for disks meanwhile; with flash they wait less, and the "
        "energy of disks is saved."
    )


def _most(design: GridDesign) -> str:
    what, part = max(design["limits"].items(), key=lambda item: item[1])
    return f"its greatest limit is {words(what)}, {part:.0%} of the time"


def words(limit: str) -> str:
    """A limit in words."""
    return limit.replace("cpu", "the processor").replace("+", " and ")


def _short(design: GridDesign) -> str:
    """A design as the paper writes it: 4 atom, 1.9 GHz, 1 disk."""
    storage = (
        "flash"
        if design["storage_kind"] == "flash"
        else f"{design['storage_count']} disk{'s' * (design['storage_count'] != 1)}"
    )
    return f"{design['cpus']} {design['cpu']}, {design['ghz']:g} GHz, {storage}"


def _table6(job: str, result: Result) -> list[Row]:
    found = []
    designs = {row["id"]: row for row in result["designs"]}
    for row in _compared(result):
        if row["paper"] is None or row["ours"] is None or row["design"] is None:
            continue
        for model in table6.MODELS:
            for column in COLUMNS:
                paper = row["paper"][model][column]
                ours = row["ours"][model][column]
                if ours is None or paper is None:
                    continue
                what = f"{table6_name(row)}, {model}: {column}"
                unit = "W" if column == "power_w" else "x"
                made = Row(TABLE, job, what, ours, paper, paper, unit)
                reason = _reason(
                    made, column, row["paper"][model], model, designs[row["design"]], result
                )
                found.append(replace(made, reason=reason))
    return found


def _compared(result: Result) -> list[Table6Row]:
    """The rows of Table 6, which the paper's space has."""
    assert result["table6"] is not None
    return result["table6"]["rows"]


def table6_name(row: Table6Row) -> str:
    """A row of Table 6 by its name, or by its design if it has none."""
    return row["paper_name"] or (row["paper_design"] or "").removesuffix(", flash")


def _reason(
    made: Row,
    column: Column,
    paper: Figures,
    model: Barriers,
    design: GridDesign,
    result: Result,
) -> str:
    if made.agrees:
        return ""
    if column == "power_w":
        return _power(paper["power_w"], design)
    if column == "power_vs_minp_disk" and paper["power_vs_minp_disk"] is not None:
        theirs = paper["power_w"] / paper["power_vs_minp_disk"]
        disk = named(result, "MinP-disk")
        idle = number(load("disk", table6.DISK)["power"]["idle"], "idle power of the disk")
        below = f", below the idle power of its disk, {idle:g} W" if theirs < idle else ""
        return (
            f"MinP-disk draws {disk[model]['node_power_w']:.1f} W here; the paper's columns imply "
            f"{theirs:.0f} W{below}."
        )
    if column == "perf_per_watt_vs_maxe_disk":
        return _efficiency(result)
    disk = named(result, "MinT-disk")
    part = share(disk, "storage")
    limited = f"Storage limits MinT-disk ({_short(disk)}) {part:.0%} of the time"
    is_less = made.ratio is not None and made.ratio < 1
    if is_less and part < ABOUT_HALF:
        return (
            f"{limited}, so that flash gains less than in the paper. Designs with fewer or slower "
            "processors are in proportion to their instructions per second."
        )
    if not is_less and part >= ABOUT_HALF:
        return f"{limited}, so that flash gains more than in the paper."
    return (
        f"{limited}, and processors limit this design {share(design, 'cpu'):.0%} of its own time."
    )


def _power(theirs: float, design: GridDesign) -> str:
    idle = table6.idle_w(design)
    if theirs < idle:
        return (
            f"The paper's {theirs:g} W are below the {idle:.2f} W that the parts of its Table 3 "
            "draw when idle, with one memory and without overhead: its nodes must be off for a "
            "part of the run. Nodes here are on."
        )
    return (
        "The processors are the limit for most of the time, and draw their full power then; "
        "memory for each processor and overhead are included."
        if share(design, "cpu") > 0.5
        else "Storage or network are the limit for most of the time, in which processors are "
        "partly idle."
    )


def _efficiency(result: Result) -> str:
    disk = named(result, "MaxE-disk")
    paper = table6.paper()["maxe_disk"]
    same = table6.is_maxe_disk(disk, paper)
    part = share(disk, "storage")
    reason = f"Disks limit MaxE-disk ({_short(disk)}) {part:.0%} of the time (the paper: half)"
    if not same:
        reason += f"; it is {paper['cpus']} {paper['cpu']}, {paper['ghz']:g} GHz in the paper"
    return f"{reason}. The power of the design differs from the paper's as its first column says."


def _front(job: str, result: Result) -> list[Row]:
    designs = {row["id"]: row for row in result["designs"]}
    front = [designs[id] for id in result["front"]]
    disks = [row["id"] for row in front if row["storage_kind"] == "disk"]
    flash = 1 - len(disks) / len(front)
    papers = [row for row in _compared(result) if row["paper_front"]]
    missing = [row for row in papers if row["design"] not in result["front"]]
    beaten = "; ".join(
        f"{table6_name(row)} is beaten by {_beater(designs[row['design'] or ''], front)}"
        for row in missing
    )
    reason = f"{beaten}. {_shared(designs)}" if missing else "As in the paper."
    return [
        Row(
            FRONT,
            job,
            "designs on the front that have flash",
            flash,
            reason=f"On the front are also {', '.join(disks)}." if disks else "As in the paper.",
            **_numbers()["front_is_flash"],
        ),
        Row(
            FRONT,
            job,
            "designs of the paper's front that are on ours",
            (len(papers) - len(missing)) / len(papers),
            reason=reason,
            **_numbers()["front_is_same"],
        ),
    ]


def _shared(designs: dict[str, GridDesign]) -> str:
    """Why designs with more processors beat others: their parts are shared."""
    one, four = (designs.get(f"atom-1.9GHz-x{cpus}-flash") for cpus in (1, 4))
    if one is None or four is None:
        return ""
    watts = [design["sync"]["node_power_w"] for design in (one, four)]
    return (
        f"Processors of a node share its flash array, and four Atoms draw {watts[1]:.1f} W, "
        f"{watts[1] / watts[0]:.2f} times the {watts[0]:.1f} W of one."
    )


def _beater(design: GridDesign, front: Sequence[GridDesign]) -> str:
    """A design on the front that is as fast on less energy, or faster on as much."""
    ours = design["sync"]
    better = [
        row
        for row in front
        if row["sync"]["time_s"] <= ours["time_s"] and row["sync"]["energy_j"] <= ours["energy_j"]
    ]
    best = min(better, key=lambda row: row["sync"]["energy_j"])
    return (
        f"{_short(best)} ({best['sync']['time_s'] / ours['time_s']:.2f} of its time, "
        f"{best['sync']['energy_j'] / ours['energy_j']:.2f} of its energy)"
    )


def _same_front(mean: Result, of_jobs: dict[str, Result]) -> list[Row]:
    wanted = set(mean["front"])
    others = {job: set(result["front"]) for job, result in of_jobs.items()}
    same = [job for job, front in others.items() if front == wanted]
    different = "; ".join(
        f"{job}: "
        + " ".join(
            [
                *(f"+{id}" for id in sorted(front - wanted)),
                *(f"-{id}" for id in sorted(wanted - front)),
            ]
        )
        for job, front in others.items()
        if front != wanted
    )
    return [
        Row(
            FRONT,
            MEAN,
            "jobs with the front of the mean",
            len(same) / len(others),
            reason="As in the paper: the same designs for all workloads."
            if not different
            else "Jobs that wait for storage for a longer time gain from slower processors, and "
            f"those that do not from faster ones: {different}.",
            **_numbers()["front_is_same"],
        )
    ]


def _limits(job: str, result: Result) -> list[Row]:
    """Figure 7: what limits MaxE, MaxE-disk and MinT."""
    found = []
    disk, maxe = named(result, "MaxE-disk"), named(result, "MaxE")
    storage, cpu = share(disk, "storage"), share(disk, "cpu")
    row = Row(
        LIMITS,
        job,
        "MaxE-disk: time that is disk bound over time that is CPU bound",
        storage / cpu,
        unit="x",
        **_numbers()["disk_over_cpu"],
    )
    which = "less" if storage < cpu else "more"
    reason = f"{_short(disk)}, disk bound {storage:.0%} of the time"
    if not row.agrees:
        reason += f": {which} data for each instruction than in the paper"
    found.append(replace(row, reason=f"{reason}."))
    part = share(maxe, "cpu")
    found.append(
        Row(
            LIMITS,
            job,
            "MaxE: time that is CPU bound",
            part,
            reason=f"{_short(maxe)}. "
            + ("The CPU is the bottleneck, as in the paper." if part > 0.5 else _most(maxe) + "."),
            **_numbers()["maxe_cpu_bound"],
        )
    )
    for name in ("MaxE", "MaxE-disk", "MinT", "MinT-disk"):
        design = named(result, name)
        for what, limited in design["limits"].items():
            found.append(
                Row(
                    LIMITS,
                    job,
                    f"{name}: share of {what}",
                    limited,
                    reason=f"{_short(design)}. The paper's bars are a picture.",
                )
            )
    return found


def _order(of_jobs: dict[str, Result]) -> list[Row]:
    """MinT is "strongly CPU bound" for ComplexGrep and "substantially flash bound" for Identity."""
    found = []
    for job, what, word in (
        ("grep-complex", "cpu", "CPU"),
        ("identity", "storage", "flash"),
    ):
        if job not in of_jobs:
            continue
        parts = {name: share(named(of, "MinT"), what) for name, of in of_jobs.items()}
        place = sorted(parts.values(), reverse=True).index(parts[job]) + 1
        first = max(parts, key=lambda name: parts[name])
        reason = f"{word} bound for {parts[job]:.0%} of the time"
        if place > 1:
            reason += f"; {first} for {parts[first]:.0%}"
        found.append(
            Row(
                LIMITS,
                job,
                f"MinT: place of the job by the time that is {word} bound",
                place,
                reason=reason + ".",
                **_numbers()["first_job"],
            )
        )
    return found


def _energy(job: str, result: Result) -> list[Row]:
    """Figure 8: energy of MaxE relative to MaxE-disk."""
    maxe, disk = named(result, "MaxE"), named(result, "MaxE-disk")
    whole = disk["sync"]["energy_j"]
    of_mean: dict[str, Bounds] = _numbers() if job == MEAN else {}
    row = Row(
        ENERGY,
        job,
        "energy of MaxE over that of MaxE-disk",
        maxe["sync"]["energy_j"] / whole,
        unit="x",
        **of_mean.get("maxe_energy", Bounds()),
    )
    parts = {
        name: (
            disk["energy_by_part_j"].get(name, 0.0) / whole,
            maxe["energy_by_part_j"].get(name, 0.0) / whole,
        )
        for name in {**disk["energy_by_part_j"], **maxe["energy_by_part_j"]}
    }
    most = max(parts, key=lambda name: parts[name][0] - parts[name][1])
    rest = max(parts, key=lambda name: parts[name][1])
    found = [
        replace(
            row,
            reason=f"The energy of {_part(most)} falls most, from {parts[most][0]:.0%} to "
            f"{parts[most][1]:.0%} of the energy of MaxE-disk. The largest part of MaxE is "
            f"{_part(rest)}, {parts[rest][1]:.0%}."
            + (
                ""
                if row.agrees is not False
                else f" Disks limit MaxE-disk {share(disk, 'storage'):.0%} of the time (the paper: "
                "half), so that its processors and memory idle less."
            ),
        ),
        Row(
            ENERGY,
            job,
            "time of MaxE over that of MaxE-disk",
            maxe["sync"]["time_s"] / disk["sync"]["time_s"],
            unit="x",
            reason=f"MaxE is {_short(maxe)}, and MaxE-disk {_short(disk)}. In the paper MaxE has "
            "one processor and takes longer.",
            **of_mean.get("maxe_time", Bounds()),
        ),
    ]
    for name in parts:
        for which, position in (("MaxE-disk", 0), ("MaxE", 1)):
            found.append(
                Row(
                    ENERGY,
                    job,
                    f"{which}: energy of {_part(name)}",
                    parts[name][position],
                    reason="Of the energy of MaxE-disk. The paper's bars are a picture.",
                )
            )
    return found


def _part(name: str) -> str:
    return name.replace("cpu", "processor").replace("_", " ")


def by_work(jobs: dict[str, list[Path]], references: Sequence[float] = WORK) -> list[Gains]:
    """The claims by work of the processor."""
    found: list[Gains] = []
    for ipc in references:
        results = run(jobs, reference=ipc)
        gains = {
            job: survey_jobs.gains(result) | {"share": share(named(result, "MaxE-disk"), "storage")}
            for job, result in results.items()
        }
        found.append({"factor": ipc / 1.5, "gains": gains})
    return found
