"""The page docs/validation/here.md, from the results that validate_here.py recorded."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_pages import table

Json = dict[str, Any]

INTERVAL = "0.2s"
#: Bars: median and largest error in per cent, and the number of cases that may be above the latter.
MEDIAN, LARGEST, ABOVE = 15.0, 35.0, 1
MIB = 1 << 20

FLASH, DISK = "gordon-slc-256g", "sata-7200-1tb"
TARGETS = ("one core", "flash", "disk")
MEANING = {
    "one core": "one core instead of two, same disk",
    "flash": f"one bus of `{FLASH}`, emulated",
    "disk": f"`{DISK}`, emulated",
}


@dataclass(frozen=True)
class Job:
    """A shell command; its words `{data}`, `{out}` and `{memory}` stand for the input, a folder for
    its output, and an eighth of the input's size in MiB."""

    name: str
    command: str

    def words(self, folder: Path, size: int) -> list[str]:
        script = self.command.format(data="records.txt", out="out", memory=max(size // 8 // MIB, 1))
        return ["env", "-C", str(folder), "LC_ALL=C", "sh", "-euc", script]


#: Outputs are synced: otherwise a job ends while its writes are still in memory.
JOBS = (
    Job(
        "sort",
        "sort --parallel=2 -S {memory}M -T {out} {data} -o {out}/result && sync {out}/result",
    ),
    Job("compress", "xz -T 2 -0 -c {data} > {out}/result && sync {out}/result"),
    Job("scan", """awk '$1 > "y" {{ n++ }} END {{ print n }}' {data} > {out}/result"""),
)


@dataclass(frozen=True)
class Case:
    """A job on a target, in seconds."""

    job: str
    target: str
    predicted: float
    low: float
    high: float
    measured: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.measured)

    @property
    def error(self) -> float:
        """In per cent of the measured time; positive: the prediction is too long."""
        return 100 * (self.predicted / self.median - 1)

    @property
    def is_inside(self) -> bool:
        """Whether the measured time is in the range."""
        return self.low <= self.median <= self.high


def case(job: str, target: str, of: Json) -> Case:
    times = tuple(run["time_s"] for run in of["runs"])
    predicted = of["predicted"]
    bounds = predicted["time_s_low"], predicted["time_s_high"]
    return Case(job, target, predicted["time_s"], *bounds, times)


def cases(results: Json) -> list[Case]:
    return [
        case(name, target, job["targets"][target])
        for name, job in results["jobs"].items()
        for target in TARGETS
    ]


def baseline(results: Json, of: Case) -> float:
    """Error of Amdahl's line in per cent, from the traced time and CPU time on two cores."""
    trace = results["jobs"][of.job]["trace"]
    time = float(trace["time_s"])
    if of.target == "one core":
        parallel = max(trace["cpu_s"] / time - 1, 0.0)
        time *= parallel * 2 + 1 - parallel
    return 100 * abs(time / of.median - 1)


def misordered(of: list[Case]) -> list[tuple[str, str]]:
    """Pairs of targets of a job that are predicted in the wrong order. Targets whose measured times
    overlap have no order."""
    pairs = []
    for fast in of:
        for slow in of:
            apart = max(fast.measured) < min(slow.measured)
            if apart and fast.predicted >= slow.predicted:
                pairs.append((fast.target, slow.target))
    return pairs


def ranking(of: list[Case], key: Callable[[Case], float]) -> str:
    return ", ".join(case.target for case in sorted(of, key=key))


def verdict(of: list[Case]) -> list[tuple[str, str, bool]]:
    """Each bar with its value, and whether it is met."""
    errors = [abs(case.error) for case in of]
    median = statistics.median(errors)
    above = sum(error > LARGEST for error in errors)
    jobs = {case.job: [one for one in of if one.job == case.job] for case in of}
    wrong = [name for name, its in jobs.items() if misordered(its)]
    return [
        (f"median error under {MEDIAN:.0f} %", f"{median:.1f} %", median < MEDIAN),
        (
            f"at most {ABOVE} of {len(of)} cases above {LARGEST:.0f} %",
            f"{above}",
            above <= ABOVE,
        ),
        ("ranking of the targets right for each job", ", ".join(wrong) or "all", not wrong),
    ]


def numbers(head: str, rows: list[list[str]]) -> str:
    """A table whose columns after the first two are numbers or short."""
    return table(head.split(" | "), rows, text_columns=2)


def seconds(value: float) -> str:
    return f"{value:.1f}"


def gigabytes(value: float) -> str:
    return f"{value / 1e9:.2f}"


def middle(runs: list[Json], key: str) -> float:
    """The median of a value of the runs."""
    return float(statistics.median(run[key] for run in runs))


def shares(limits: dict[str, float]) -> str:
    """The parts of the predicted time, the largest first."""
    ordered = sorted(limits.items(), key=lambda item: -item[1])
    return ", ".join(f"{name} {share:.0%}" for name, share in ordered if share >= 0.005)


def case_rows(of: list[Case]) -> list[list[str]]:
    rows = []
    for one in of:
        low, high = min(one.measured), max(one.measured)
        rows.append(
            [
                *(one.job, one.target, seconds(one.predicted)),
                f"{seconds(one.low)} to {seconds(one.high)}",
                *(seconds(one.median), f"{seconds(low)} to {seconds(high)}"),
                *(f"{one.error:+.0f}", "yes" if one.is_inside else "no"),
            ]
        )
    return rows


def work_cells(runs: list[Json]) -> list[str]:
    keys = ("time_s", "cpu_s", "other_cpu_s", "busy_s")
    cells = [seconds(middle(runs, key)) for key in keys]
    return cells + [gigabytes(middle(runs, key)) for key in ("read_bytes", "written_bytes")]


def page(results: Json) -> str:
    """The page, as Markdown."""
    machine, jobs = results["machine"], results["jobs"]
    of = cases(results)
    traces = [
        [
            *(name, f"`{job['command']}`", seconds(job["trace"]["time_s"])),
            *(seconds(job["trace"]["cpu_s"]), gigabytes(job["trace"]["read_bytes"])),
            *(gigabytes(job["trace"]["written_bytes"]), gigabytes(job["trace"]["memory_bytes"])),
        ]
        for name, job in jobs.items()
    ]
    order = []
    for name in jobs:
        its = [one for one in of if one.job == name]
        right = "no" if misordered(its) else "yes"
        by_time = [ranking(its, key) for key in (lambda c: c.predicted, lambda c: c.median)]
        order.append([name, *by_time, right])
    limits = []
    for name, job in jobs.items():
        limits.append([name, "as traced", "", *work_cells(job["here"])])
        for target in TARGETS:
            found = job["targets"][target]
            share = shares(found["predicted"]["limits"])
            limits.append([name, target, share, *work_cells(found["runs"])])
    halves = []
    for name, job in jobs.items():
        half, here = job["half"], middle(job["here"], "time_s")
        one = case(name, "half", half)
        halves.append(
            [
                *(name, gigabytes(half["memory_bytes"]), seconds(one.predicted)),
                *(seconds(one.median), f"{one.error:+.0f}", f"{one.median / here:.2f}"),
                gigabytes(middle(half["runs"], "read_bytes")),
                gigabytes(middle(half["runs"], "written_bytes")),
            ]
        )
    versions = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    return TEXT.format(
        cpu=machine["cpu"],
        cores=machine["cores"],
        memory=gigabytes(machine["memory_bytes"]),
        kernel=machine["kernel"],
        disk=machine["disk"],
        read_ahead=f"{machine['read_ahead_bytes'] / MIB:g}",
        load=f"{machine['load']:.2f}",
        versions=versions,
        records=f"{results['records']:,}",
        size=gigabytes(results["input_bytes"]),
        seed=results["seed"],
        runs=len(of[0].measured),
        interval=INTERVAL,
        targets="\n".join(f"- {name}: {MEANING[name]}" for name in TARGETS),
        bars="\n".join(
            f"- {bar}: {value}; {'met' if met else 'missed'}" for bar, value, met in verdict(of)
        ),
        traces=numbers("job | command | s | CPU s | read GB | written GB | memory GB", traces),
        inside=sum(one.is_inside for one in of),
        all=len(of),
        width=f"{statistics.median(100 * (one.high - one.low) / one.predicted for one in of):.0f}",
        amdahl=f"{statistics.median(baseline(results, one) for one in of):.1f}",
        job=f"{statistics.median(abs(one.error) for one in of):.1f}",
        cases=numbers(
            "job | target | predicted | range | measured | runs | error % | inside",
            case_rows(of),
        ),
        order=numbers("job | predicted order | measured order | right", order),
        limits=numbers(
            "job | target | predicted shares | s | CPU s | other CPU s | device s | read GB | "
            "written GB",
            limits,
        ),
        halves=numbers(
            "job | memory GB | predicted | measured | error % | of full memory | read GB | "
            "written GB",
            halves,
        ),
    )


TEXT = """\
# Predicted and measured times on one machine

Generated by `make validate` (`scripts/validation/validate_here.py`); do not edit.

Three jobs are traced with their data on this machine's disk, a sample each {interval}.
`gordon survey` predicts their times on three targets by the `job` model; then the jobs run there.
A measured time is the median of the runs ({runs}), each with a cold page cache.

{targets}

{bars}

## Cases

Times in seconds, none scaled by a measured time. An error is in per cent of the measured time;
positive: the prediction is too long. Inside: the measured time is in the 80 % range.

{cases}

{inside} of {all} measured times are in the range, whose width is {width} % of the prediction in the
median. Amdahl's line is a baseline of two numbers of the trace, its length and CPU time; it knows
no storage, so that flash and disk have the traced time: median error {amdahl} % (`job`: {job} %).

## Ranking

The order of the targets by time, the fastest first. Targets whose runs overlap count as equal.

{order}

## What limited each case

The predicted shares of the time, and medians of the runs: CPU time of the job, CPU time of all
others (for emulated targets that of the emulation, with its share of the kernel), time in which the
device had a request in flight, and bytes that it moved. As traced: two cores and this machine's
disk, without the capture.

{limits}

## Half the memory

Outside the bars: the estimate has no effect of memory, and is the time with all of it. The limit
is half of what the job used at most in its trace, page cache included, on two cores and this
machine's disk.

{halves}

## How it was done

- Machine: {cpu}, {cores} cores, {memory} GB, Linux {kernel}; load average before the start
  {load}.
- Disk: {disk}, read-ahead {read_ahead} MiB.
- Versions: {versions}.
- Input: {records} records of 100 bytes, {size} GB, seed {seed}. A job ends when its output is
  synced.
- The emulated devices are served by `gordon block serve --timing real` from files in memory,
  through nbdfuse and a loop device with direct I/O, and have ext4. Their read-ahead is that of
  this machine's disk, and the emulated disk is as large. The emulation takes processor time of the
  same cores, which predictions do not contain.
- One core: the job and its threads may use a single core (`taskset`). Kernel threads that write
  back its data may use others.
- The traced disk has no description, so the device time of a sample's I/O on flash and disk is
  taken from the simulation, and compared with the time in which the traced disk was busy. For one
  core the disk is the same, so its ratio is 1.

{traces}
"""
