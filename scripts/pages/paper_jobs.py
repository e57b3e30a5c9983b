#!/usr/bin/env python3
"""Prints docs/design/paper-jobs.md: the results of the Gordon paper next to those of our traces.

    python scripts/pages/paper_jobs.py [RUNS] >docs/design/paper-jobs.md

RUNS is a folder of runs RUNS/JOB/N; the default is that of the bundled traces.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from gordon import bundled
from gordon.human import binary, figures
from gordon.reproduce import MEAN, Row, agreement, disk_use, flash_array, jobs
from gordon.reproduce import designs as design_rows
from gordon.reproduce.row import NEAR, TOLERANCE
from gordon.run import folder as run_folder
from gordon.workload.jobs import JOBS

COLUMNS = {
    "power_w": "power, W",
    "power_vs_minp_disk": "power over MinP-disk",
    "perf_per_watt_vs_maxe_disk": "performance per watt over MaxE-disk",
    "speedup_vs_mint_disk": "speed over MinT-disk",
}


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


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

    def print(self) -> None:
        for number, reason in enumerate(self.reasons, 1):
            print(f"{number}. {reason}")
        print()


def cell(row: Row, notes: Notes, paper: bool) -> str:
    text = figures(row.ours)
    if paper and row.nearest is not None:
        text = f"{printed(row)}: {text}"
    if row.ratio is not None:
        text += f", {row.ratio:.2f}x" if row.ratio >= 0.01 else f", {row.ratio:.1g}x"
    return text + notes.mark(row.reason)


def pivot(first: str, rows: dict[str, dict[str, Row]], notes: Notes | None = None) -> None:
    """Prints figures by row and column. The paper's figure is in the head of a column where it is
    the same for all rows. Reasons are printed below, or added to `notes`."""
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
    table(
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
    if notes is None:
        found.print()


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
    intro(runs, [*disks, *flash, *designs])
    claims(designs, design_rows.by_work(runs))
    disk(uses, disks)
    causes(uses, results)
    array(loads, flash)
    six(designs, results[MEAN])
    front(designs)
    limits(designs)
    energy(designs)


def intro(runs: dict[str, list[Path]], rows: Sequence[Row]) -> None:
    each = [run_folder.read(run) for of_job in runs.values() for run in of_job]
    nodes = sum(len(run["nodes"]) for run in each)
    print("# The jobs of the paper, from our traces\n")
    print(
        "Printed by `scripts/pages/paper_jobs.py`; do not edit. *The paper* is Gordon, ASPLOS "
        "2009. Its jobs ran on Hadoop; ours are the same jobs on Spark, run and traced as "
        "[workload.md](workload.md) describes: "
        f"{len(each)} runs of {len(runs)} jobs, {nodes} traces of nodes. All figures that are not "
        "the paper's are measured in these runs (Table 2) or simulated from their traces.\n"
    )
    missing = [job.title for id, job in JOBS.items() if id not in runs]
    if missing:
        print(f"There are no traces of {', '.join(missing)}.\n")
    print(
        "`1.2, 0.80x [3]` is our figure, its ratio to the paper's, and the number of its reason "
        "below the table. Where the paper has a range, the ratio is to its nearest end, and 1.00 "
        f"inside the range. A figure agrees if the ratio is within {TOLERANCE:.0%}, which is what "
        "the paper says about its power model (section 5.2). The *mean* gives each job the same "
        "weight.\n"
    )
    found = [
        [one.table, *(str(count) for count in (one.figures, one.agree, one.near))]
        for one in agreement(rows)
    ]
    table(["", "figures of the paper", "agree", f"within a factor of {NEAR:g}"], found)


def claims(rows: Sequence[Row], work: list[dict[str, Any]]) -> None:
    print("## The claims\n")
    print(
        'The paper: "MaxE is between 2.2 and 2.5x more efficient than the most efficient disk '
        'configuration", and "MinT is between 1.5x and 1.8x as fast as a similar disk-based '
        'system". The ends of its ranges are those of Table 6, sync and nosync. Here MaxE and MinT '
        "are the best designs of the survey of the same job:\n"
    )
    pivot("", by_job([row for row in rows if row.table == design_rows.CLAIMS]))
    print(
        "**Work of the processor.** What flash gains depends on the bytes that a job moves for "
        "each instruction. Instructions are estimated here from CPU time, at 1.5 a cycle. The same "
        "survey with other instructions a cycle changes the work of the processors and leaves disk "
        "and network as traced:\n"
    )
    names = list(work[0]["gains"])
    table(
        ["", *(f"work x {one['factor']:.2g}" for one in work)],
        [
            [
                title(job),
                *(
                    f"MaxE {one['gains'][job]['MaxE']:.2f}, MinT {one['gains'][job]['MinT']:.2f}, "
                    f"disk {one['gains'][job]['share']:.0%}"
                    for one in work
                ),
            ]
            for job in names
        ],
    )
    print(
        "*Disk* is the time in which disks limit MaxE-disk. "
        f"{enough(work, 'MaxE')} {enough(work, 'MinT')}\n"
    )


def enough(work: list[dict[str, Any]], name: str) -> str:
    """For which work the mean reaches the paper's claim."""
    low = {"MaxE": design_rows.GAIN_E, "MinT": design_rows.GAIN_T}[name][0]
    reach = [one["factor"] for one in work if one["gains"][MEAN][name] >= low]
    if not reach:
        least = work[0]
        return (
            f"The mean of {name} does not reach {low:g}x for any of these, and is "
            f"{least['gains'][MEAN][name]:.2f}x with {least['factor']:.2g} of the work."
        )
    return f"The mean of {name} reaches {low:g}x with {max(reach):.2g} of the work or less."


def disk(uses: Sequence[disk_use.DiskUse], rows: Sequence[Row]) -> None:
    print("## Table 2: use of disks\n")
    of = by_job(rows)
    head = ["", "input, paper: ours", "MB read, paper: ours", "MB written, paper: ours"]
    table(
        head,
        [
            [
                title(use.job),
                f"{JOBS[use.job].paper_bytes / 1e9:g}: {use.size_bytes / 1e9:.3g} GB",
                *(
                    f"{one.low:,.0f}: {one.ours:,.0f}"
                    for one in (of[title(use.job)][f"disk, {way}"] for way in ("read", "write"))
                ),
            ]
            for use in uses
        ],
    )
    print("Megabytes for each GB of input (RandomWriter: of output):\n")
    each = [row for row in rows if not row.is_scaled]
    pivot("", by_job(each))
    print(
        "Where our bytes come from, in MB for each GB of input. *Scanned* is the input as Spark "
        "reads it, *cached* the part of all that it reads (input, shuffled and spilled data) that "
        "does not come from disks:\n"
    )
    table(
        ["", "scanned", "output", "shuffled", "spilled", "written", "cached", "CPU s for each GB"],
        [
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
        ],
    )


def causes(uses: Sequence[disk_use.DiskUse], results: dict[str, Any]) -> None:
    """What the differences come from, by cause."""
    paper = disk_use.paper()
    copies = disk_use.HADOOP_COPIES
    rests = {}
    for use in uses:
        written = paper[use.job]["write"] / JOBS[use.job].paper_bytes
        rests[use.job] = (written - copies * use.output, use.temporary)
    more = {job: rest for job, rest in rests.items() if rest[0] > 0.5}
    print("The causes:\n")
    if more:
        listed = ", ".join(
            f"{title(job)} {1000 * theirs:,.0f} and {1000 * ours:,.0f} MB"
            for job, (theirs, ours) in more.items()
        )
        print(
            "- *Engine.* Temporary data for each GB of input in the paper, if each output has "
            f"{copies} copies, and here: {listed}. MapReduce sorts and writes whatever passes from "
            "map to reduce, also for a copy. Spark shuffles only what the job needs shuffled, in a "
            "binary format that is compressed, and adds up counts before it writes them."
        )
    cached = [use for use in uses if use.cached > TOLERANCE]
    scale = max(use.size_bytes / JOBS[use.job].paper_bytes for use in uses)
    if cached:
        listed = ", ".join(f"{title(use.job)} {use.cached:.0%}" for use in cached)
        print(
            f"- *Page cache.* It supplies this part of what Spark reads: {listed}. With inputs of "
            f"{scale:.3g} of the paper's sizes, temporary data of a node fit in its memory. The "
            "paper's table leaves out accesses hidden by a cache, too (section 5.1)."
        )
    outputs = [use.job for use in uses if 0.5 < use.output < 2]
    if outputs:
        print(
            f"- *No replication.* {', '.join(map(title, outputs))} write their whole input as "
            f"output. {copies} copies of it, Hadoop's default, are {copies - 1} GB more for each "
            "GB, which also cross the network. Our nodes write one."
        )
    slow, fast = (pick(uses, key=lambda use: use.cpu_s_per_gb) for pick in (max, min))
    limited = design_rows.share(design_rows.named(results[MEAN], "MaxE-disk"), "storage")
    print(
        "- *Generated code.* Spark compiles a stage to one loop of Java code, which the JVM "
        "compiles to machine code; Hadoop calls a method with objects for each record. This "
        "changes instructions, not bytes, and the paper prints no CPU time. Here it is "
        f"{figures(fast.cpu_s_per_gb)} ({title(fast.job)}) to {figures(slow.cpu_s_per_gb)} s "
        f"({title(slow.job)}) for each GB. Less work for each byte makes disks the limit more "
        "often; fewer temporary data make them the limit less often. Together, disks limit "
        f"MaxE-disk {limited:.0%} of the time in the mean.\n"
    )


def array(loads: Sequence[flash_array.Load], rows: Sequence[Row]) -> None:
    print("## Figure 5, buses and MLC\n")
    print(
        "The block logs of all traces of a job on `gordon-slc-256g`. The paper does not say how "
        "it paced its replays. Here a replay has no think time, and as many requests outstanding "
        "as the trace had when it issued the request; the survey paces its replays in the same "
        "way ([cluster.md](cluster.md#time-paper)). Data that a trace reads is on the array "
        "before, and what it writes is new. MB/s of device time by size of super-page, without "
        "(*plain*) and with bypassing and combining:\n"
    )
    sizes = [binary(size) for size in flash_array.SIZES]
    found = []
    for load in flash_array.bandwidths(loads):
        for key in ("plain", "bypass"):
            few = load["few"][key == "bypass"]
            found.append(
                [
                    f"{title(load['job'])} ({load['read_share']:.0%} read), {key}",
                    *(f"{mb_s:.0f}" for mb_s in load[key]),
                    f"{few:.0f}",
                ]
            )
    table(["", *sizes, f"8 KiB, {flash_array.FEW} write points"], found)
    print(
        'Figure 5 is a picture. The text says: with bypassing, "64KB pages provide between 1.1x '
        'and 6.3x speedups for all applications"; without it, "large pages benefit Index, '
        'Identity, RandomWriter, and Sort". [paper-flash.md](paper-flash.md#figure-5-64-kib-super-'
        "pages-against-8-kib) explains why the size of the gain depends on the number of write "
        "points with 8 KiB, which the paper does not print.\n"
    )
    pivot("", by_job([row for row in rows if row.table == flash_array.TABLE]))
    print(
        'Buses and MLC. The paper: 40 MHz "would reduce peak bandwidth by 60% and reduce average '
        'I/O performance for our applications by the same amount"; 400 MHz would increase it by '
        '"between 20% for write-intensive applications and 2.5x for read-intensive applications"; '
        'MLC would reduce it by "between 2% (read-intensive) and 70% (write-intensive)". '
        '"88-93% of bytes read and written are part of transfers of 120KB or larger, roughly half '
        'of individual transfers are only 8KB".\n'
    )
    parts = [row for row in rows if row.table == flash_array.PARTS]
    ends = [row for row in parts if "intensive" in row.what]
    pivot("", by_job([row for row in parts if row not in ends]))
    print("The ends of the paper's ranges:\n")
    pivot("", {f"{row.what}: {title(row.job)}": {"paper: ours": row} for row in ends})


def six(rows: Sequence[Row], mean: dict[str, Any]) -> None:
    print("## Table 6\n")
    print(
        "The designs of the paper's table. Each cell has the paper's figure, ours, and the ratio; "
        "the reasons are below the last table. The power model is that of "
        "[cluster.md](cluster.md#power). In general:\n"
    )
    # The first sentence lists the jobs.
    for sentence in mean["differences"][1:]:
        print(f"- {sentence}")
    print()
    notes = Notes()
    of_table = [row for row in rows if row.table == design_rows.TABLE]
    for job in (MEAN, *(job for job in JOBS if any(row.job == job for row in of_table))):
        print(f"### {title(job)[0].upper()}{title(job)[1:]}\n")
        found: dict[str, dict[str, Row]] = {}
        for row in of_table:
            if row.job == job:
                name, column = row.what.split(": ")
                found.setdefault(name, {})[COLUMNS[column]] = row
        pivot("", found, notes)
    print("### Reasons\n")
    notes.print()


def front(rows: Sequence[Row]) -> None:
    print("## Figure 6: fronts\n")
    print(
        'The paper: "For all the workloads, the same designs are Pareto optimal. All of them are '
        'flash-based." The space is that of its Table 5.\n'
    )
    of = [row for row in rows if row.table == design_rows.FRONT]
    pivot("", by_job(of))


def limits(rows: Sequence[Row]) -> None:
    print("## Figure 7: limits\n")
    print(
        'The paper: MaxE-disk "spends about equal time disk bound [...] as CPU bound"; for MaxE '
        '"the CPU is clearly the bottleneck"; MinT "varies from strongly CPU bound (ComplexGrp) to '
        'substantially disk/flash bound (Identity)". The first two are time by time; the place of '
        "a job is that among all jobs.\n"
    )
    of = [row for row in rows if row.table == design_rows.LIMITS]
    bars = [row for row in of if "share of" in row.what]
    pivot("", by_job([row for row in of if row not in bars]))
    print("Shares of the time in which components limit a design:\n")
    shares("limits", bars, ": share of ")


def energy(rows: Sequence[Row]) -> None:
    print("## Figure 8: energy\n")
    print(
        'The paper: "On average, MaxE-flash consumes 40% of the energy of the disk-based '
        "configuration, but execution times are longer, leading to a factor of two increase in "
        'performance per watt".\n'
    )
    of = [row for row in rows if row.table == design_rows.ENERGY]
    bars = [row for row in of if ": energy of" in row.what]
    pivot("", by_job([row for row in of if row not in bars]))
    print("Energy by part, relative to all of MaxE-disk:\n")
    shares("energy", bars, ": energy of ")


def shares(what: str, rows: Sequence[Row], between: str) -> None:
    """Prints bars of a picture: a row for each job and design, a column for each part."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for row in rows:
        design, part = row.what.split(between)
        found.setdefault((row.job, design), {})[part] = row.ours
    parts = sorted({part for bar in found.values() for part in bar})
    # A part that is nowhere shown as a whole per cent is left out.
    parts = [part for part in parts if any(bar.get(part, 0) >= 0.005 for bar in found.values())]
    table(
        ["", what, *(design_rows.words(part) for part in parts)],
        [
            [title(job), design, *(f"{bar.get(part, 0):.0%}" for part in parts)]
            for (job, design), bar in found.items()
        ],
    )


if __name__ == "__main__":
    main()
