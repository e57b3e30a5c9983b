"""The traces of a survey: given one by one, or as what holds them or can be converted to them.

A run folder is one job. It is what `gordon.run.folder` describes, or a folder with several runs of
the same job, its repeats. A folder that holds run folders stands for all of them. A folder with
traces of hosts, as `gordon trace convert` writes it, stands for its traces. An event log of Spark,
and what was converted from one, is one job too; a folder of several logs stands for all of them.
Other files that `gordon trace convert` reads (`gordon.run.converted`) are read as one, and their
hosts are nodes of one job.
"""

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from os import fspath
from pathlib import Path
from typing import TypedDict, TypeVar

from gordon import bundled
from gordon._core import spark_recorded_stages
from gordon.errors import GordonError
from gordon.options import Path as GivenPath
from gordon.options import Progress
from gordon.reports.shared import NamedStage
from gordon.reports.spark import RecordedStage, RecordedStages
from gordon.run import converted, folder, not_traces
from gordon.run.converted import Workplace
from gordon.run.report import RunNode, RunReport

#: Warnings of a survey about a trace whose conversion said that the input has no such section.
_AGAIN = {
    "network": "no network: the input has no such section",
    "memory": "no memory: the input has no such section",
    "disks": "no block I/O in it; storage never limits",
}
#: Starts of the warnings of a survey of a service, which is about all nodes, in their place.
_AGAIN_OF_SERVICE = {
    "network": "the record has no network: ",
    "disks": "the record has no disks: ",
}


class JobStage(TypedDict):
    """A stage of a job, in seconds after the start of the first trace."""

    name: str
    start_s: float
    end_s: float


Result = TypeVar("Result")


@dataclass
class Inputs:
    """The traces of one job."""

    paths: list[str]
    lags: list[int] = field(default_factory=list)
    """Samples by which each trace starts after the first of its run; empty without a run."""
    stages: list[JobStage] = field(default_factory=list)
    """The stages that the engine of the job recorded, in seconds after the start of the first
    trace. Repeats have none: their stages are at different times."""
    name: str = ""
    """Id of the job, or the name of its folder or log; empty for traces of nodes."""
    repeats: int = 1
    warnings: list[str] = field(default_factory=list)
    """Errors of the run or the file, and what was left out."""
    folder: str = ""
    """The run, the trace or the folder of traces, which may have tables of stages and tasks; empty
    for several."""
    log: str = ""
    """The event log of the engine, which has the tasks of the job; empty if there is none."""
    window: tuple[int, int] | None = None
    """Start and end of the job by the clock of its driver, in nanoseconds since 1970, if the log
    has more than the job."""
    storage_rate: float | None = None
    """Bytes a second to which the disk of each node was limited, if it was."""
    scattered_input: bool = False
    """Whether the input lies on the disks of all nodes, and any node may read any of it."""
    full_share: float = 0.0
    """Share of the run in which a machine whose parts are nodes had no idle core."""
    is_application: bool = False
    """Whether the traces are estimated from an event log alone, and nothing recorded a machine."""
    place: Workplace | None = None
    """Where files were converted to, if any."""

    def joined(self, warnings: list[str]) -> list[str]:
        """The warnings about the inputs and these of a survey, without those that say again what
        the conversion of a file said of a section that it lacks."""
        lacking = {text.partition(": the input has none")[0] for text in self.warnings}

        def is_new(text: str) -> bool:
            for section, start in _AGAIN_OF_SERVICE.items():
                if text.startswith(start):
                    return not any(one.endswith(f": {section}") for one in lacking)
            return not any(
                text.endswith(again) and f"{text.removesuffix(again)}{section}" in lacking
                for section, again in _AGAIN.items()
            )

        return [*self.warnings, *filter(is_new, warnings)]

    @contextmanager
    def naming(self) -> Iterator[None]:
        """Errors in it name the files that were converted."""
        with nullcontext() if self.place is None else self.place.naming():
            yield

    def named(self, result: Result) -> Result:
        """A result of the traces, with the names of the files that were converted."""
        if self.place is None:
            return result
        named: Result = self.place.named(result)
        return named


@dataclass
class _Job:
    """A path that is a whole job: a run, or an event log, converted or not."""

    path: Path
    is_run: bool = False
    is_log: bool = False


def expand(
    given: Sequence[GivenPath], *, keep_log: bool = False, progress: Progress | None = None
) -> list[Inputs]:
    """The traces by job: one job for traces of nodes, one for each run folder and event log.

    Files are converted first; with `keep_log`, a single event log is not. `progress` is called with
    the bytes read of each conversion (done, total), before decompression. Raises GordonError for
    jobs next to traces of nodes, for a job or a file that is given twice, for files of several
    formats, for a run that lacks a trace, and for a file that cannot be converted.
    """
    place = Workplace(progress)
    try:
        return _expand(given, place, keep_log)
    except GordonError as error:
        place.close()
        with place.naming():
            raise error from None


def _expand(given: Sequence[GivenPath], place: Workplace, keep_log: bool) -> list[Inputs]:
    jobs: list[_Job] = []
    nodes: list[Path] = []
    files: list[tuple[str, Path]] = []
    warnings: list[str] = []
    listed: set[Path] = set()
    if any(fspath(one) == "" for one in given):
        # Path would take it as the current folder, and survey what is in there.
        raise GordonError(
            "the name of a trace is empty, as that of a shell variable without a value",
            "the name of the trace, or . for this folder",
            kind="missing-trace",
        )
    for path in (_found(Path(one), place) for one in given):
        if path.is_file():
            not_traces.check_part(path)
        runs = _run_folders(path)
        if runs:
            jobs += [_Job(run, is_run=True) for run in runs]
            warnings += _left_out(path, runs)
        elif not_traces.is_trace(path) or not_traces.hosts(path):
            if _is_application(path):
                jobs.append(_Job(path))
            else:
                nodes.append(path)
        elif (name := converted.format_of(path)) == converted.SPARK:
            logs, others = converted.logs(path)
            jobs += [_Job(log, is_log=True) for log in logs]
            listed.update(logs if logs != [path] else [])
            warnings += others
        elif name is not None:
            files.append((name, path))
        else:
            not_traces.check(path)
            nodes.append(path)
    if keep_log and len(jobs) == 1 and jobs[0].is_log and not nodes and not files:
        return [_kept(jobs[0], warnings, place)]
    if jobs:
        several = _jobs(jobs, [*nodes, *(path for _, path in files)], listed, place)
        several[0].warnings[:0] = warnings
        return several
    traces = [fspath(trace) for path in nodes for trace in not_traces.hosts(path) or [path]]
    _check_once(traces)
    made = Inputs(traces)
    return [_with_files(made, nodes, files, place)]


def _check_once(traces: Sequence[str]) -> None:
    """Raises GordonError for a trace that is given twice, whose load would count twice."""
    seen: set[Path] = set()
    for trace in traces:
        place = Path(trace).resolve()
        if place in seen:
            raise GordonError(
                f"{trace} is given twice, and would count twice",
                "each trace once, or the folder that holds them",
                kind="given-twice",
            )
        seen.add(place)


def _found(path: Path, place: Workplace) -> Path:
    """The path; that of a bundled file of this name; or that of a copy of standard input."""
    if path.exists():
        return path
    if fspath(path) in bundled.FILES:
        file = bundled.FILES[fspath(path)]
        place.names[fspath(file)] = fspath(path)
        return file
    if fspath(path) == converted.STDIN:
        return converted.spooled(place)
    raise _missing(path)


def _missing(path: Path) -> GordonError:
    """The error for a path at which nothing is, with a file of a similar name."""
    from difflib import get_close_matches

    folder = path.parent
    readable = folder.is_dir() and os.access(folder, os.R_OK | os.X_OK)
    names = [fspath(one) for one in folder.iterdir()] if readable else []
    near = get_close_matches(fspath(path), [*names, *bundled.FILES], 1, cutoff=0.75)
    hint = near[0] if near else f"gordon trace -o {path} -- COMMAND"
    return GordonError(f"no trace at {path}: it does not exist", hint, kind="missing-trace")


def _is_application(path: Path) -> bool:
    """Whether the traces in a folder were converted from an event log."""
    return (path / "stages.parquet").is_file()


def _jobs(
    found: list[_Job], nodes: list[Path], listed: set[Path], place: Workplace
) -> list[Inputs]:
    """The jobs of runs and of event logs. A log of a folder of several (`listed`) that cannot be
    converted is left out, unless no other one can."""
    if nodes:
        what = "a run" if found[0].is_run else "a whole job, an application of Spark"
        raise GordonError(
            f"{nodes[0]} is not a run, and {found[0].path} is {what}: they cannot be surveyed "
            "together",
            "runs and event logs only, or the traces of nodes only (RUN/NODE)",
            kind="runs-and-traces",
        )
    seen: set[Path] = set()
    for one in found:
        for path in (_repeats(one.path) if one.is_run else []) or [one.path]:
            if path.resolve() in seen:
                what = "run" if one.is_run else "event log"
                raise GordonError(
                    f"the {what} {path} is given twice", f"each {what} once", kind="same-run"
                )
            seen.add(path.resolve())
    made: list[Inputs] = []
    failed: list[tuple[Path, GordonError]] = []
    for one in found:
        try:
            made.append(_job(one.path) if one.is_run else _application(one, place))
        except GordonError as error:
            if one.path not in listed:
                raise
            failed.append((one.path, error))
    if not made:
        raise failed[0][1]
    made[0].warnings += [f"{error.message}; {path} is left out" for path, error in failed]
    ids = [job.name for job in made]
    if len(set(ids)) < len(ids):
        failures = {path for path, _ in failed}
        kept = [one for one in found if one.path not in failures]
        for job, one in zip(made, kept, strict=True):
            job.name = fspath(one.path)
    return made


def _kept(one: _Job, warnings: list[str], place: Workplace) -> Inputs:
    """An event log as it is."""
    made = Inputs([], log=fspath(one.path), warnings=warnings, is_application=True)
    made.place = place
    made.name = place.names.get(made.log, one.path.name)
    return made


def _application(one: _Job, place: Workplace) -> Inputs:
    """The traces of an application of Spark, with its stages."""
    if one.is_log:
        done = converted.convert([one.path], converted.SPARK, place)
        made = Inputs(done.paths, warnings=done.warnings, folder=done.folder, place=place)
        made.name = place.names.get(fspath(one.path), one.path.name)
        made.log = fspath(one.path)
    else:
        hosts = not_traces.hosts(one.path) or [one.path]
        made = Inputs([fspath(host) for host in hosts], folder=fspath(one.path))
        made.name = one.path.resolve().name
    made.is_application = True
    found = spark_recorded_stages(made.folder)
    if found is not None:
        recorded: RecordedStages = json.loads(found)
        made.stages = [_shifted(stage, 0.0) for stage in recorded["stages"]]
    return made


def _with_files(
    made: Inputs, nodes: list[Path], files: list[tuple[str, Path]], place: Workplace
) -> Inputs:
    """The traces of nodes with those of the hosts in files, which are of one format."""
    if not files:
        if len(nodes) == 1:
            made.folder = fspath(nodes[0])
        return made
    first_format, first = files[0]
    for name, path in files:
        if name != first_format:
            raise GordonError(
                f"{first} is a file of the format {first_format}, and {path} of {name}: they "
                "cannot be read as one job",
                "files of one format, or `gordon trace convert` for each, and the traces that it "
                "writes",
                kind="several-formats",
            )
    paths = [path for _, path in files]
    for index, path in enumerate(paths):
        if path.resolve() in (other.resolve() for other in paths[:index]):
            raise GordonError(f"the file {path} is given twice", "each file once", kind="same-file")
    made.place = place
    done = converted.convert(paths, first_format, made.place)
    made.paths += done.paths
    made.warnings += done.warnings
    made.folder = "" if nodes else done.folder
    return made


def _run_folders(path: Path) -> list[Path]:
    """The run folders that a path stands for, by name; none for a trace."""
    if folder.is_run(path) or _repeats(path):
        return [path]
    if (path / "manifest.json").exists():
        return []
    below = sorted(child for child in path.glob("*/") if folder.is_run(child) or _repeats(child))
    return [path / child.name for child in below]


def _left_out(path: Path, runs: list[Path]) -> list[str]:
    """A warning for each folder of traces below `path` that is not in one of its runs."""
    if runs == [path]:
        return []
    others = [child for child in sorted(path.glob("*/")) if path / child.name not in runs]
    return [
        f"{child} has traces and no run.json, and is left out"
        for child in others
        if any(child.glob("*/manifest.json"))
    ]


def _repeats(path: Path) -> list[Path]:
    """The runs in a folder of repeats, which have numbers as names."""
    numbered = [child for child in path.glob("*/") if child.name.isdecimal()]
    return sorted(filter(folder.is_run, numbered), key=lambda child: int(child.name))


def _job(path: Path) -> Inputs:
    """The traces of a run folder."""
    runs = [_run(run) for run in _repeats(path) or [path]]
    one = runs[0]
    if len(runs) == 1:
        return one
    names = {run.name for run in runs}
    if len(names) > 1:
        raise GordonError(
            f"{path} holds runs of several jobs: {', '.join(sorted(names))}",
            "repeats of one job, or folders with names instead of numbers",
            kind="several-jobs",
        )
    return Inputs(
        [trace for run in runs for trace in run.paths],
        lags=[lag for run in runs for lag in run.lags],
        name=one.name,
        repeats=len(runs),
        warnings=[warning for run in runs for warning in run.warnings],
    )


def _run(path: Path) -> Inputs:
    run = folder.read(path)
    paths = folder.traces(path, run)
    interval = run["interval_ns"]
    # The driver is not a machine that the job runs on: its trace is left out.
    nodes = folder.workers(run)
    starts = [_start(trace, node) for trace, node in zip(paths, nodes, strict=True)]
    first = min(starts)
    # Agents take samples at multiples of the interval after the start of the run.
    samples = [(start - run["start_unix_ns"]) // interval for start in starts]
    after = (first - run["start_unix_ns"]) / 1e9
    stages = [_shifted(stage, after) for stage in run.get("stages") or []]
    job, limits = run.get("job"), run.get("limits")
    return Inputs(
        [fspath(trace) for trace in paths],
        lags=[number - min(samples) for number in samples],
        # Before the traces, or shorter than the clock of the engine shows: nothing is in it.
        stages=[stage for stage in stages if stage["end_s"] > stage["start_s"]],
        name=job["id"] if job else path.resolve().name,
        warnings=_wrong(path, run),
        folder=fspath(path),
        log=fspath(path / log) if (log := run.get("event_log")) else "",
        window=_window(run),
        storage_rate=limits.get("disk_bytes_per_s") if limits else None,
        # Local nodes with disks of their own: `gordon.workload.run` spreads the input over them.
        scattered_input=bool(limits and limits.get("disk_bytes")),
        full_share=_full_share(run),
    )


def _full_share(run: RunReport) -> float:
    def is_part(node: RunNode) -> bool:
        scope = node.get("scope")
        return scope is not None and scope["kind"] == "node"

    shared = {node["host"] for node in run["nodes"] if is_part(node)}
    machines = [machine for machine in run.get("machines", []) if machine["host"] in shared]
    shares = [(machine["full_s"] or 0.0) / (machine["span_s"] or 1.0) for machine in machines]
    return min(max(shares, default=0.0), 1.0)


def _window(run: RunReport) -> tuple[int, int] | None:
    """Start and end of the job; None of a run that does not say how long it was."""
    if "duration_s" not in run:
        return None
    start = run["start_unix_ns"]
    return start, start + round(run["duration_s"] * 1e9)


def _wrong(path: Path, run: RunReport) -> list[str]:
    """The warnings of a run, such as that its machine had nothing left, and those about a run that
    failed or that lost a node."""
    found = [f"the run {path}: {text}" for text in run.get("warnings") or []]
    verification = run.get("verification")
    if run.get("error"):
        found.append(f"the run {path} failed: {run['error']}")
    elif verification is not None and not verification["passed"]:
        found.append(f"the output of the run {path} is wrong")
    lost = [node["name"] for node in folder.workers(run) if node["status"] == folder.LOST]
    if lost:
        found.append(f"the run {path} lost {', '.join(lost)} before its end")
    return found


def _start(path: Path, node: RunNode) -> int:
    """Start of a trace by the clock of the machine that ran the job, in nanoseconds since 1970."""
    try:
        manifest = json.loads((path / "manifest.json").read_text())
        start: int = manifest["start_unix_ns"]
    except (OSError, ValueError, KeyError) as error:
        raise GordonError(
            f"cannot read {path}/manifest.json: {error}",
            "restore the folder of the node",
            kind="bad-run",
        ) from None
    clock = node["clock"]
    return start - (0 if clock is None else clock["offset_ns"])


def _shifted(stage: NamedStage | RecordedStage, after: float) -> JobStage:
    return {
        "name": stage["name"],
        "start_s": max(stage["start_s"] - after, 0.0),
        "end_s": stage["end_s"] - after,
    }
