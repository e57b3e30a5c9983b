#!/usr/bin/env python3
"""Writes docs/validation/cluster.md: predicted against measured times of Spark jobs on local nodes.

Each job runs on several numbers and kinds of nodes of this machine. From each configuration the
`tasks` model predicts all others, by the run (traces and event log) and by the event log alone. As
root on Linux, with Java and PySpark (scripts/build/spark.sh), and nothing else to do.

    python scripts/validation/validate_cluster.py [OPTIONS]

Measured runs are kept in docs/validation/cluster, an archive for each job. Without options the
program measures the runs that no archive has and writes the page of all. `--jobs sort,ngram`
measures some of the jobs, `--runs 1` one run of each configuration, `--measured` nothing;
`--page RESULTS.json` prints the page of recorded results.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import statistics
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import cluster_runs
from gordon import __version__, survey
from gordon._core import parse_bytes
from gordon.errors import GordonError
from gordon.human import counted
from gordon.workload.standalone import HEAP_SHARE

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/validation/cluster.md"
ARCHIVES = ROOT / "docs/validation/cluster"
PROGRAM_FILES = ROOT / "scripts/validation/programs"
WORK = ROOT / "build/validate-cluster"
#: Runs as the archives have them.
KEPT = WORK / "kept"
RESULTS = WORK / "results.json"
GORDON = ROOT / ".venv/bin/gordon"
Json = dict[str, Any]
Floats = np.ndarray[Any, np.dtype[np.float64]]

#: Jobs with the sizes of their inputs.
JOBS = {
    "sort": "300MB",
    "grep-simple": "500MB",
    "ngram": "100MB",
    "webindex": "100MB",
    "identity": "500MB",
    "grep-complex": "300MB",
    "randomwriter": "500MB",
}
#: Programs of other shapes in scripts/validation/programs, with their argument.
PROGRAMS = {
    "kmeans": "80000",
    "sqljoin": "1500000",
    "skew": "1500000",
    "manyjobs": "25",
    "parquet": "1500000",
}
RUNS = 3
#: Difference of measured times from which their order counts.
APART = 1.15
#: Runs with longer pauses between them are of different series.
SERIES_PAUSE_S = 3 * 3600.0
_CORES = (0.2, 0.4, 0.8)
_NODES = (1, 2, 4)
#: Bandwidth of a disk without a limit: the loop device of a node reads and writes 0.9 to 2.1 GB/s
#: (requests of 1 MiB with direct I/O, by dd).
UNLIMITED = "1GB"
#: All nodes together have at most this many cores of the machine.
MOST_CORES = 1.6


@dataclass(frozen=True)
class Cluster:
    """Local nodes."""

    nodes: int
    cores: float
    memory: str = "2GiB"
    disk: str | None = None
    """Limit of the disk in bytes a second."""

    @property
    def machine(self) -> str:
        """Name of the node in the space."""
        limits = [limit.removeprefix("disk ").removesuffix("/s") for limit in self.limits]
        return "-".join(["node", str(self.cores), *limits])

    @property
    def name(self) -> str:
        return ", ".join([f"{self.nodes} x {self.cores}", *self.limits])

    @property
    def limits(self) -> list[str]:
        """Settings that differ from those of the other nodes."""
        memory = [] if self.memory == Cluster.memory else [self.memory]
        return memory if self.disk is None else [*memory, f"disk {self.disk}/s"]

    @property
    def heap(self) -> int:
        """Bytes of the heap of an executor."""
        return int(parse_bytes(self.memory) * HEAP_SHARE)


CLUSTERS = [
    *(
        Cluster(nodes, cores)
        for nodes in _NODES
        for cores in _CORES
        if nodes * cores <= MOST_CORES + 1e-9
    ),
    Cluster(2, 0.4, memory="1GiB"),
    Cluster(2, 0.4, disk="20MB"),
]


def clusters_of(job: str) -> list[Cluster]:
    """Configurations of a job. Programs run on nodes without other limits, because their data are
    on the disk of the machine."""
    return CLUSTERS if job in JOBS else [one for one in CLUSTERS if not one.limits]


def space(path: Path) -> Path:
    """The space of the nodes. A core with a quota is a slower core."""
    lines = ['name = "local-nodes"', 'summary = "nodes of this machine with a quota"']
    for one in {one.machine: one for one in CLUSTERS}.values():
        lines += [
            "[[machines]]",
            f'id = "{one.machine}"',
            'source = "the quota"',
            "cores = 1",
            f"core_speed = {one.cores}",
            f'memory = "{one.memory}"',
            f'storage = {{ bandwidth = "{one.disk or UNLIMITED}" }}',
            'network = "10Gb"',
        ]
    path.write_text("\n".join(lines) + "\n")
    return path


def name_of(job: str, cluster: Cluster, number: int) -> str:
    """The name of a run."""
    return f"{job}-{cluster.nodes}x{cluster.machine}-{number}"


def measure(job: str, cluster: Cluster, number: int) -> None:
    """Runs a job and keeps the run in the archive of the job. A failed run is left out."""
    name = name_of(job, cluster, number)
    made = WORK / "runs" / name
    shutil.rmtree(made, ignore_errors=True)
    words = [
        *(str(GORDON), "workload", "run"),
        *("--nodes", str(cluster.nodes), "--cores", str(cluster.cores)),
        *("--memory", cluster.memory, "-o", str(made)),
        *([] if cluster.disk is None else ["--disk-rate", cluster.disk]),
    ]
    if job in JOBS:
        words += [job, "--size", JOBS[job], "--seed", "1"]
    else:
        words += ["--app", str(PROGRAM_FILES / f"{job}.py"), "--", PROGRAMS[job]]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        print(f"{name}: {done.stderr.strip()}", flush=True)
        return
    cluster_runs.keep(made, KEPT / name)
    shutil.rmtree(made)
    cluster_runs.pack([*KEPT.glob(f"{job}-[0-9]*x*")], archive_of(job))


def archive_of(job: str) -> Path:
    """The archive of the runs of a job."""
    return ARCHIVES / f"{job}.tar.xz"


def read(job: str, cluster: Cluster) -> list[Json]:
    """The kept runs of a job on a configuration: folder, start, length and warnings."""
    found = []
    for folder in sorted(KEPT.glob(f"{name_of(job, cluster, 0)[:-1]}[0-9]")):
        run = json.loads((folder / "run.json").read_text())
        found.append(
            {
                "folder": str(folder),
                "start_s": run["start_unix_ns"] / 1e9,
                "run_s": run["duration_s"],
                "warnings": run["warnings"],
            }
        )
    return found


def predict(run: Json, cluster: Cluster, space_file: Path, how: str) -> dict[str, Json]:
    """The predictions from a run for all clusters, by name: by the run, by its event log alone, or
    by the traces of its nodes alone."""
    log = next((Path(run["folder"]) / "eventlog").iterdir())
    # A trace of one node says nothing of several.
    is_lone = how == "traces" and cluster.nodes == 1
    predicted = {}
    for heap in {one.heap for one in CLUSTERS}:
        found = survey.run(
            log if how == "log" else run["folder"],
            space=str(space_file),
            model="job" if how == "traces" else "tasks",
            nodes=[1] if is_lone else list(_NODES),
            # The quota is in a run's traces; a log has none, and its node is a slower machine.
            reference=cluster.machine if how == "log" else 1.0,
            set=[] if how == "traces" else ["driver.speed=1", f"executor.memory={heap >> 20}MiB"],
            rows=len(CLUSTERS) * len(_NODES),
        ).report
        wanted = {(one.machine, one.nodes): one.name for one in CLUSTERS if one.heap == heap}
        if "application" in found:
            of = {(row["machine"], row["nodes"]): {**row["tasks"]} for row in found["designs"]}
            predicted["recorded"] = {**found["application"]}
        else:
            assert "peak_cache_bytes" in found
            of = {(row["machine"], row["nodes"]): {**row["job"]} for row in found["designs"]}
            predicted["recorded"] = {}
        predicted |= {wanted[of_row]: time for of_row, time in of.items() if of_row in wanted}
    return predicted


def series(results: Json) -> dict[float, int]:
    """The number of the series of each run, by its start. A series has no long pause: its runs saw
    the same machine, while those of another one may have seen another machine."""
    starts = sorted(
        run["start_s"]
        for of_job in results["jobs"].values()
        for one in of_job.values()
        for run in one["runs"]
    )
    found: dict[float, int] = {}
    before = -math.inf
    for start in starts:
        is_next = start - before > SERIES_PAUSE_S
        found[start] = found.get(before, 0) + is_next
        before = start
    return found


def pairs(results: Json, how: str, *, is_same_series: bool = True) -> list[Json]:
    """Each prediction of another configuration with what was measured in the series of the run that
    it is made from, or else in all other series. Predictions from several runs of a configuration
    share its weight, so that each pair of configurations counts once."""
    timed = "log_s" if how == "log" else "run_s"
    series_of = series(results)
    found = []
    for job, of_job in results["jobs"].items():
        for source, of_source in of_job.items():
            predictions = zip(of_source["runs"], of_source[timed], of_source[how], strict=True)
            for number, (run, recorded, predicted) in enumerate(predictions):
                own = series_of[run["start_s"]]
                times = {
                    name: [
                        secs
                        for other, secs in zip(of["runs"], of[timed], strict=True)
                        if (series_of[other["start_s"]] == own) == is_same_series
                    ]
                    for name, of in of_job.items()
                }
                measured = {name: statistics.median(secs) for name, secs in times.items() if secs}
                for target in measured:
                    if target == source or target not in predicted:
                        continue
                    one = predicted[target]
                    found.append(
                        {
                            "job": job,
                            "source": source,
                            "number": number,
                            "target": target,
                            "measured": measured[target],
                            "time": one["time_s"],
                            "low": one["time_s_low"],
                            "high": one["time_s_high"],
                            "recorded": recorded,
                            "log": predicted["recorded"],
                            "others": {n: s for n, s in measured.items() if n != target},
                        }
                    )
    sharing = Counter(_configurations(pair) for pair in found)
    return [pair | {"weight": 1 / sharing[_configurations(pair)]} for pair in found]


def of_themselves(results: Json, how: str) -> list[Json]:
    """The prediction of each run's own configuration with what that run took."""
    timed = "log_s" if how == "log" else "run_s"
    found = []
    for of_job in results["jobs"].values():
        for name, of in of_job.items():
            for secs, predicted in zip(of[timed], of[how], strict=True):
                if name in predicted:
                    one = predicted[name]
                    times = {"time": one["time_s"], "low": one["time_s_low"]}
                    high = one["time_s_high"]
                    found.append({"measured": secs, **times, "high": high, "weight": 1.0})
    return found


def _configurations(pair: Json) -> tuple[str, str, str]:
    """The job and the two configurations of a pair."""
    return pair["job"], pair["source"], pair["target"]


def cores_of(name: str) -> float:
    """Cores of a configuration in all."""
    nodes, cores = name.split(",")[0].split(" x ")
    return int(nodes) * float(cores)


def linear(pair: Json) -> float:
    """The recorded time in proportion to the cores."""
    recorded: float = pair["recorded"]
    return recorded * cores_of(pair["source"]) / cores_of(pair["target"])


def amdahl(pair: Json) -> float:
    """The driver and the start are the serial part, the rest is in proportion to the cores."""
    serial: float = min(pair["log"]["driver_s"] + pair["log"]["startup_s"], pair["recorded"])
    ratio = cores_of(pair["source"]) / cores_of(pair["target"])
    recorded: float = pair["recorded"]
    return serial + (recorded - serial) * ratio


def sparklens(pair: Json) -> float:
    """As Sparklens: the driver's time, and of each stage the longer of its longest task and of its
    tasks over the slots. It knows no other kind of machine."""
    slots = int(pair["target"].split(" x ")[0])
    stages: float = sum(
        max(stage["longest_s"], stage["median_s"] * stage["tasks"] / slots)
        for stage in pair["log"]["stages"]
    )
    driver: float = pair["log"]["driver_s"] + pair["log"]["startup_s"]
    return driver + stages


def ernest(pair: Json) -> float:
    """As Ernest (NSDI 2016): a + b / cores + c log(nodes) + d nodes with coefficients that are not
    negative, fitted to the measured times of all other configurations of the job."""
    rows = np.array([_ernest_terms(name) for name in pair["others"]])
    times = np.array(list(pair["others"].values()))
    return float(_ernest_terms(pair["target"]) @ _not_negative(rows, times))


def _ernest_terms(name: str) -> Floats:
    nodes = int(name.split(" x ")[0])
    return np.array([1.0, 1.0 / cores_of(name), math.log(nodes), float(nodes)])


def _not_negative(rows: Floats, times: Floats) -> Floats:
    """The coefficients of least squares that are not negative: the best fit of any of the terms
    whose coefficients are not."""
    count = rows.shape[1]
    best, least = np.zeros(count), float(times @ times)
    for number in range(1, 1 << count):
        terms = [term for term in range(count) if number >> term & 1]
        fitted = np.linalg.lstsq(rows[:, terms], times, rcond=None)[0]
        error = rows[:, terms] @ fitted - times
        if (fitted >= 0).all() and float(error @ error) < least:
            best, least = np.zeros(count), float(error @ error)
            best[terms] = fitted
    return best


BASELINES: dict[str, Callable[[Json], float]] = {
    "linear": linear,
    "Amdahl": amdahl,
    "Sparklens": sparklens,
    "Ernest": ernest,
}


#: Sources of a prediction: the title of its section, the model, and what it is compared with.
HOWS: dict[str, tuple[str, str, dict[str, Callable[[Json], float]]]] = {
    "run": ("By runs: the event log and the traces of the nodes", "tasks", BASELINES),
    "log": ("By event logs alone", "tasks", BASELINES),
    "traces": ("By the traces of the nodes alone, without tasks", "job", {"linear": linear}),
}


def error(time: float, measured: float) -> float:
    """Absolute relative error in percent."""
    return abs(time / measured - 1) * 100


def quantile(values: list[float], share: float) -> float:
    """A quantile by order."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, math.ceil(share * len(ordered)) - 1)]


def error_at(found: list[Json], share: float, of: Callable[[Json], float]) -> float:
    """The error that a share of the pairs does not exceed, by weight."""
    errors = np.array([error(of(pair), pair["measured"]) for pair in found])
    order = np.argsort(errors)
    reached = np.cumsum(np.array([pair["weight"] for pair in found])[order])
    return float(errors[order][np.searchsorted(reached, share * reached[-1] - 1e-9)])


def predicted_time(pair: Json) -> float:
    """The time that the model predicts."""
    time: float = pair["time"]
    return time


def inside(found: list[Json]) -> float:
    """The share of the pairs whose measured time lies in the predicted range, by weight."""
    held = sum(p["weight"] for p in found if p["low"] <= p["measured"] <= p["high"])
    return float(held / sum(p["weight"] for p in found))


def ordered(found: list[Json]) -> tuple[int, int]:
    """Pairs of targets whose measured times are apart, and those whose predictions have their
    order."""
    right = apart = 0
    groups: dict[tuple[str, str, int], list[Json]] = {}
    for pair in found:
        groups.setdefault((pair["job"], pair["source"], pair["number"]), []).append(pair)
    for group in groups.values():
        for index, one in enumerate(group):
            for other in group[index + 1 :]:
                low, high = sorted([one, other], key=lambda pair: pair["measured"])
                if high["measured"] > APART * low["measured"]:
                    apart += 1
                    right += low["time"] < high["time"]
    return right, apart


def _count(found: list[Json]) -> int:
    """Number of pairs of configurations."""
    return len({_configurations(pair) for pair in found})


def table(
    found: list[Json], model: str, baselines: dict[str, Callable[[Json], float]]
) -> list[str]:
    """Rows of the page: the model and the baselines."""
    rows = ["| model | pairs | median error | p90 | in the range |", "|---|---|---|---|---|"]
    count = _count(found)
    for name, of in {model: predicted_time, **baselines}.items():
        median, p90 = error_at(found, 0.5, of), error_at(found, 0.9, of)
        held = f"{inside(found):.0%} " if name == model else ""
        rows.append(f"| {name} | {count} | {median:.1f} % | {p90:.1f} % | {held}|")
    return rows


def _measured(results: Json) -> str:
    """How much was measured."""
    numbers = [len(one["runs"]) for of_job in results["jobs"].values() for one in of_job.values()]
    measured = [number for number in numbers if number > 0]
    least, most = counted(min(measured), "time"), counted(max(measured), "time")
    repeats = least if least == most else f"{least} to {most}"
    runs = [
        run for of_job in results["jobs"].values() for of in of_job.values() for run in of["runs"]
    ]
    busy = sum(any("were busy" in text for text in run.get("warnings", [])) for run in runs)
    other = (
        f" In {busy} of {counted(len(runs), 'run')} all cores of the machine were busy for a part "
        "of the time, some with work of the lowest priority that was not of the run."
        if busy
        else ""
    )
    return (
        f"{len(measured)} of the {counted(len(numbers), 'pair')} of a job and a configuration were"
        f" measured, {repeats} each, in mixed order.{other}"
    )


def _repeats(results: Json) -> list[str]:
    """How far apart the runs of one configuration are, which no prediction can be better than."""
    differences = [
        error(max(one["run_s"]), min(one["run_s"]))
        for of_job in results["jobs"].values()
        for one in of_job.values()
        if len(one["run_s"]) > 1
    ]
    if not differences:
        return []
    return [
        f"Of {len(differences)} configurations that were measured more than once, the longest run"
        f" took {statistics.median(differences):.1f} % longer than the shortest (median;"
        f" p90 {quantile(differences, 0.9):.1f} %): the same job differs by that much on this"
        " machine, whose cores are shared with others.",
        "",
    ]


def page(results: Json) -> str:
    """The page of results."""
    sizes = {job: f"{job} ({size})" for job, size in results["sizes"].items()}
    jobs = ", ".join(of for job, of in sizes.items() if job not in PROGRAMS)
    programs = ", ".join(of for job, of in sizes.items() if job in PROGRAMS)
    lines = [
        "# Clusters on this machine",
        "",
        "Generated by `make validate-cluster`. The jobs of Table 2, and programs of other"
        " shapes, ran on local nodes, which are namespaces and control groups of one machine"
        " with a quota of its cores. From each configuration, the others were predicted: by"
        " the `tasks` model from the run and from its event log alone, and by the `job` model"
        " from the traces of its nodes alone. A pair is of two configurations that ran in one"
        " series, without a pause of"
        f" {SERIES_PAUSE_S / 3600:.0f} hours between its runs; predictions from several runs"
        " of a configuration share its weight. Series may have had different machines, or the"
        " same one with other neighbours. The constants of the model were chosen on the jobs; it"
        " was corrected once by the programs.",
        "",
        f"Gordon {results['version']}; jobs: {jobs};"
        f" programs (scripts/validation/programs): {programs or 'none'};"
        f" configurations (nodes x cores, of 2 GiB): {'; '.join(results['clusters'])}."
        f" {_measured(results)}",
        "",
    ]
    for how, (title, model, baselines) in HOWS.items():
        found = pairs(results, how)
        if not found:
            continue
        right, apart = ordered(found)
        lines += [f"## {title}", "", *table(found, model, baselines), ""]
        if others := pairs(results, how, is_same_series=False):
            median, p90 = (error_at(others, share, predicted_time) for share in (0.5, 0.9))
            lines += [
                f"Across series: {_count(others)} pairs, median error {median:.1f} %,"
                f" p90 {p90:.1f} %, {inside(others):.0%} in the range.",
                "",
            ]
        if own_ones := of_themselves(results, how):
            median, largest = (error_at(own_ones, share, predicted_time) for share in (0.5, 1.0))
            lines += [
                "Of its own configuration a run is predicted with a median error of"
                f" {median:.1f} %, at most {largest:.1f} %.",
                "",
            ]
        lines += [
            f"Of {apart} pairs of configurations whose measured times differ by more than"
            f" {APART - 1:.0%}, {right} are in the right order.",
            "",
            "| job | median error | largest | in the range |",
            "|---|---|---|---|",
        ]
        for job in results["jobs"]:
            own = [pair for pair in found if pair["job"] == job]
            if not own:
                continue
            median, largest = (error_at(own, share, predicted_time) for share in (0.5, 1.0))
            lines.append(f"| {job} | {median:.1f} % | {largest:.1f} % | {inside(own):.0%} |")
        lines.append("")
    lines += [
        "## Measured times",
        "",
        *_repeats(results),
        "| job | nodes x cores | run | application |",
        "|---|---|---|---|",
    ]
    for job, of_job in results["jobs"].items():
        for name, found in of_job.items():
            if found["runs"]:
                run, log = (", ".join(f"{s:.1f}" for s in found[key]) for key in ("run_s", "log_s"))
                lines.append(f"| {job} | {name} | {run} s | {log} s |")
    return "\n".join(line if line.startswith("|") else wrapped(line) for line in lines) + "\n"


def wrapped(text: str) -> str:
    """A paragraph in lines of 100 columns."""
    return textwrap.fill(text, 100, break_long_words=False, break_on_hyphens=False)


def measure_missing(jobs: list[str], repeats: int) -> None:
    """Measures the runs that no archive has, in mixed order."""
    order = random.Random(1)
    todo = []
    for number in range(repeats):
        of_number = [(job, one, number) for job in jobs for one in clusters_of(job)]
        order.shuffle(of_number)
        todo += [key for key in of_number if not (KEPT / name_of(*key)).exists()]
    for at, (job, one, number) in enumerate(todo, 1):
        print(f"{at}/{len(todo)}: {job} on {one.name}", flush=True)
        measure(job, one, number)


def predictions() -> Json:
    """The kept runs of all jobs, and what is predicted from each."""
    space_file = space(WORK / "local-nodes.toml")
    results: Json = {
        "version": __version__,
        "sizes": {job: size for job, size in (JOBS | PROGRAMS).items() if archive_of(job).exists()},
        "clusters": [one.name for one in CLUSTERS],
        "jobs": {},
    }
    for job in results["sizes"]:
        of_job = results["jobs"][job] = {}
        for one in clusters_of(job):
            runs = read(job, one)
            by = {how: [predict(run, one, space_file, how) for run in runs] for how in HOWS}
            of_job[one.name] = {
                "runs": runs,
                "run_s": [made["run_s"] for made in runs],
                "log_s": [predicted["recorded"]["time_s"] for predicted in by["log"]],
                **by,
            }
    return results


def main() -> None:
    """Measures and writes the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--page", type=Path, help="write the page of these results to stdout")
    parser.add_argument("--jobs", default=",".join(JOBS | PROGRAMS))
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument(
        "--measured", action="store_true", help="measure nothing; predict from the kept runs"
    )
    args = parser.parse_args()
    if args.page is not None:
        sys.stdout.write(page(json.loads(args.page.read_text())))
        return
    shutil.rmtree(KEPT, ignore_errors=True)
    for folder in (KEPT, WORK / "runs"):
        folder.mkdir(parents=True, exist_ok=True)
    for archive in ARCHIVES.glob("*.tar.xz"):
        cluster_runs.unpack(archive, KEPT)
    try:
        if not args.measured:
            measure_missing(args.jobs.split(","), args.runs)
        if not any(KEPT.iterdir()):
            sys.exit("error: no run was measured, so that there is no page to write")
        results = predictions()
    except GordonError as failed:
        sys.exit(f"error: {failed.message}")
    RESULTS.write_text(json.dumps(results))
    PAGE.write_text(page(results))
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
