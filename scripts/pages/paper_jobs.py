#!/usr/bin/env python3
"""Prints docs/design/paper-jobs.md: the results of the Gordon paper next to those of our traces.

    python scripts/pages/paper_jobs.py [RUNS] >docs/design/paper-jobs.md

RUNS is a folder of runs RUNS/JOB/N; the default is that of the bundled traces.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gordon import bundled
from gordon.human import binary, figures
from gordon.reproduce import designs as design_rows
from gordon.reproduce import disk_use, flash_array
from gordon.reproduce.papers import paper
from gordon.reproduce.row import MEAN, NEAR, TOLERANCE, Row
from gordon.reproduce.suite import agreement, jobs
from gordon.run import folder as run_folder
from gordon.workload.jobs import JOBS
from markdown_pages import render, table

Json = dict[str, Any]

COLUMNS = {
    "power_w": "power, W",
    "power_vs_minp_disk": "power over MinP-disk",
    "perf_per_watt_vs_maxe_disk": "performance per watt over MaxE-disk",
    "speedup_vs_mint_disk": "speed over MinT-disk",
}


def printed(row: Row) -> str:
    """The paper's figure."""
    if row.low is None and row.high is None:
        return "-"
    if row.low is None or row.high is None:
        return f"at least {plain(row.low)}" if row.high is None else f"at most {plain(row.high)}"
    low, high = plain(row.low), plain(row.high)
    return low if low == high else f"{low} to {high}"


def plain(value: float | None) -> str:
    """A figure of the paper, with the digits that it has, but at most two decimals."""
    assert value is not None
    return f"{value:,.0f}" if value >= 1000 else f"{round(value, 2):g}"


class Notes:
    """Reasons, each with a number by which tables refer to it."""

    def __init__(self) -> None:
        self.reasons: list[str] = []

    def mark(self, reason: str) -> str:
        if not reason:
            return ""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return f" [{self.reasons.index(reason) + 1}]"

    def text(self) -> str:
        return "\n".join(f"{number}. {reason}" for number, reason in enumerate(self.reasons, 1))


def cell(row: Row, notes: Notes, paper: bool) -> str:
    text = figures(row.ours)
    if paper and row.nearest is not None:
        text = f"{printed(row)}: {text}"
    if row.ratio is not None:
        text += f", {row.ratio:.2f}x" if row.ratio >= 0.01 else f", {row.ratio:.1g}x"
    return text + notes.mark(row.reason)


def pivot(first: str, rows: dict[str, dict[str, Row]], notes: Notes | None = None) -> str:
    """A table of figures by row and column. The paper's figure is in the head of a column if it is
    the same for all rows. Reasons follow the table, or are added to `notes`."""
    found = notes or Notes()
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    papers = {
        name: {
            printed(row[name])
            for row in rows.values()
            if name in row and row[name].nearest is not None
        }
        for name in columns
    }
    same = {name: len(paper) == 1 for name, paper in papers.items()}
    head = [first]
    for name in columns:
        head.append(f"{name} (paper: {next(iter(papers[name]))})" if same[name] else name)
    made = table(
        head,
        [
            [
                key,
                *(
                    cell(row[name], found, not same[name]) if name in row else ""
                    for name in columns
                ),
            ]
            for key, row in rows.items()
        ],
    )
    if notes is not None:
        return made
    return f"{made}\n\n{found.text()}" if found.reasons else f"{made}\n"


def by_job(rows: Sequence[Row]) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(title(row.job), {})[row.what] = row
    return found


def title(job: str) -> str:
    return {MEAN: "the mean", design_rows.GAINS: "mean of the gains"}.get(job) or JOBS[job].title


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else bundled.FOLDER
    runs = jobs(folder)
    uses = [disk_use.of(job, runs[job]) for job in runs]
    loads = flash_array.simulate(runs)
    results = design_rows.run(runs)
    disks, flash = disk_use.rows(uses), flash_array.rows(loads)
    designs = design_rows.rows(results)
    sys.stdout.write(
        render(
            "paper-jobs",
            tolerance=TOLERANCE,
            intro=intro(runs, [*disks, *flash, *designs]),
            claims=claims(designs, design_rows.by_work(runs)),
            disk=disk(uses, disks),
            causes=causes(uses, results),
            array=array(loads, flash),
            six=six(designs, results[MEAN]),
            front=front(designs),
            limits=limits(designs),
            energy=energy(designs),
        )
    )


def intro(runs: dict[str, list[Path]], rows: Sequence[Row]) -> Json:
    each = [run_folder.read(run) for of_job in runs.values() for run in of_job]
    found = [
        [one.table, *(str(count) for count in (one.figures, one.agree, one.near))]
        for one in agreement([row.as_dict() for row in rows])
    ]
    return {
        "runs": len(each),
        "jobs": len(runs),
        "nodes": sum(len(run["nodes"]) for run in each),
        "missing": [job.title for id, job in JOBS.items() if id not in runs],
        "agreement": table(
            ["", "figures of the paper", "agree", f"within a factor of {NEAR:g}"], found
        ),
    }


def claims(rows: Sequence[Row], work: list[design_rows.Gains]) -> Json:
    """The claims, and what they would be with other work of the processors."""
    by_work = [
        [
            title(job),
            *(
                f"MaxE {one['gains'][job]['MaxE']:.2f}, MinT {one['gains'][job]['MinT']:.2f}, "
                f"disk {one['gains'][job]['share']:.0%}"
                for one in work
            ),
        ]
        for job in work[0]["gains"]
    ]
    return {
        "gains": pivot("", by_job([row for row in rows if row.table == design_rows.CLAIMS])),
        "work": table(["", *(f"work x {one['factor']:.2g}" for one in work)], by_work),
        "reach": [reach(work, name) for name in ("MaxE", "MinT")],
    }


def reach(work: list[design_rows.Gains], name: str) -> Json:
    """The most work for which the mean reaches the paper's claim, if any."""
    number = {"MaxE": "gain_efficiency", "MinT": "gain_speed"}[name]
    low = paper("gordon").numbers[number]["low"]
    factors = [one["factor"] for one in work if one["gains"][MEAN][name] >= low]
    least = {"factor": work[0]["factor"], "gain": work[0]["gains"][MEAN][name]}
    return {"name": name, "low": low, "factor": max(factors, default=None), "least": least}


def disk(uses: Sequence[disk_use.DiskUse], rows: Sequence[Row]) -> Json:
    """Table 2."""
    of = by_job(rows)
    sizes = [
        [
            title(use.job),
            f"{JOBS[use.job].paper_bytes / 1e9:g}: {use.size_bytes / 1e9:.3g} GB",
            *(
                f"{one.low:,.0f}: {one.ours:,.0f}"
                for one in (of[title(use.job)][f"disk, {way}"] for way in ("read", "write"))
            ),
        ]
        for use in uses
    ]
    origins = [
        [
            title(use.job),
            *(
                f"{1000 * value:,.0f}"
                for value in (use.scanned, use.output, use.shuffled, use.spilled, use.write)
            ),
            f"{use.cached:.0%}",
            figures(use.cpu_s_per_gb),
        ]
        for use in uses
    ]
    return {
        "sizes": table(
            ["", "input, paper: ours", "MB read, paper: ours", "MB written, paper: ours"], sizes
        ),
        "each": pivot("", by_job([row for row in rows if not row.is_scaled])),
        "origins": table(
            [
                *("", "scanned", "output", "shuffled", "spilled", "written", "cached"),
                "CPU s for each GB",
            ],
            origins,
        ),
    }


def causes(uses: Sequence[disk_use.DiskUse], results: Json) -> Json:
    """The causes of the differences."""
    paper = disk_use.paper()
    copies = disk_use.HADOOP_COPIES
    temporary = []
    for use in uses:
        written = paper[use.job]["write"] / JOBS[use.job].paper_bytes
        theirs = written - copies * use.output
        if theirs > 0.5:
            ours = 1000 * use.temporary
            temporary.append({"title": title(use.job), "theirs": 1000 * theirs, "ours": ours})
    slow, fast = (pick(uses, key=lambda use: use.cpu_s_per_gb) for pick in (max, min))
    return {
        "copies": copies,
        "temporary": temporary,
        "cached": ", ".join(
            f"{title(use.job)} {use.cached:.0%}" for use in uses if use.cached > TOLERANCE
        ),
        "scale": max(use.size_bytes / JOBS[use.job].paper_bytes for use in uses),
        "outputs": ", ".join(title(use.job) for use in uses if 0.5 < use.output < 2),
        "slow": {"title": title(slow.job), "cpu_s": slow.cpu_s_per_gb},
        "fast": {"title": title(fast.job), "cpu_s": fast.cpu_s_per_gb},
        "limited": design_rows.share(design_rows.named(results[MEAN], "MaxE-disk"), "storage"),
    }


def array(loads: Sequence[flash_array.Load], rows: Sequence[Row]) -> Json:
    """Figure 5, buses and MLC."""
    sizes = [binary(size) for size in flash_array.SIZES]
    bandwidths = []
    for load in flash_array.bandwidths(loads):
        for key in ("plain", "bypass"):
            few = load["few"][key == "bypass"]
            bandwidths.append(
                [
                    f"{title(load['job'])} ({load['read_share']:.0%} read), {key}",
                    *(f"{mb_s:.0f}" for mb_s in load[key]),
                    f"{few:.0f}",
                ]
            )
    parts = [row for row in rows if row.table == flash_array.PARTS]
    ends = [row for row in parts if "intensive" in row.what]
    return {
        "bandwidths": table(
            ["", *sizes, f"8 KiB, {flash_array.FEW} write points"],
            bandwidths,
        ),
        "gains": pivot("", by_job([row for row in rows if row.table == flash_array.TABLE])),
        "parts": pivot("", by_job([row for row in parts if row not in ends])),
        "ends": pivot("", {f"{row.what}: {title(row.job)}": {"paper: ours": row} for row in ends}),
    }


def six(rows: Sequence[Row], mean: design_rows.Result) -> Json:
    """Table 6."""
    notes = Notes()
    of_table = [row for row in rows if row.table == design_rows.TABLE]
    tables = []
    for job in (MEAN, *(job for job in JOBS if any(row.job == job for row in of_table))):
        found: dict[str, dict[str, Row]] = {}
        for row in of_table:
            if row.job == job:
                name, column = row.what.split(": ")
                found.setdefault(name, {})[COLUMNS[column]] = row
        name = f"{title(job)[0].upper()}{title(job)[1:]}"
        tables.append({"title": name, "figures": pivot("", found, notes)})
    # The first sentence lists the jobs.
    return {"differences": mean["differences"][1:], "jobs": tables, "reasons": notes.text()}


def front(rows: Sequence[Row]) -> str:
    """Figure 6."""
    return pivot("", by_job([row for row in rows if row.table == design_rows.FRONT]))


def limits(rows: Sequence[Row]) -> Json:
    """Figure 7."""
    of = [row for row in rows if row.table == design_rows.LIMITS]
    bars = [row for row in of if "share of" in row.what]
    return {
        "figures": pivot("", by_job([row for row in of if row not in bars])),
        "shares": shares("limits", bars, ": share of "),
    }


def energy(rows: Sequence[Row]) -> Json:
    """Figure 8."""
    of = [row for row in rows if row.table == design_rows.ENERGY]
    bars = [row for row in of if ": energy of" in row.what]
    return {
        "figures": pivot("", by_job([row for row in of if row not in bars])),
        "shares": shares("energy", bars, ": energy of "),
    }


def shares(what: str, rows: Sequence[Row], between: str) -> str:
    """Bars of a picture: a row for each job and design, a column for each part."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        design, part = row.what.split(between)
        found.setdefault((row.job, design), {})[part] = row.ours
    parts = sorted({part for bar in found.values() for part in bar})
    # A part that is nowhere shown as a whole per cent is left out.
    parts = [part for part in parts if any(bar.get(part, 0) >= 0.005 for bar in found.values())]
    return table(
        ["", what, *(design_rows.words(part) for part in parts)],
        [
            [title(job), design, *(f"{bar.get(part, 0):.0%}" for part in parts)]
            for (job, design), bar in found.items()
        ],
    )


if __name__ == "__main__":
    main()
