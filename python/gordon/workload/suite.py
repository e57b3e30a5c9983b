"""Several runs: all jobs, at a share of the paper's sizes, and repeats with other input.

RUN/             one job, once
RUN/1, RUN/2     one job with repeats
RUNS/JOB, RUNS/JOB/1, RUNS/JOB/2    all jobs
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from gordon.errors import GordonError
from gordon.options import Path as GivenPath
from gordon.options import Progress, Size, in_bytes
from gordon.options.workloads import JobInput, JobRuns, NodeShares, Sampling
from gordon.run import folder
from gordon.run.local import check_space
from gordon.run.report import Parameters, RunResult
from gordon.workload import jobs
from gordon.workload.run import Cluster, Notify, run, sizes_of

ALL = "all"


@dataclass(frozen=True)
class Planned:
    """A run that is to be made."""

    job: str
    out: Path
    size: Size
    seed: int


def plan(
    job: str,
    out: GivenPath,
    *,
    size: Size = JobRuns.size,
    scale: Fraction | None = None,
    repeats: int = JobRuns.repeats,
    seed: int = JobInput.seed,
) -> list[Planned]:
    """The runs of `job`, or of all jobs for `all`. The input of each has `size`, or `scale` times
    the size in Table 2 of the paper. Repeats have the seeds after `seed`.

    Raises GordonError if a folder exists, and for a scale that is not positive.
    """
    if scale is not None and scale <= 0:
        raise GordonError(f"scale {scale} is not above 0", "--scale 1/8", kind="out-of-range")
    ids = list(jobs.JOBS) if job == ALL else [jobs.get(job).id]
    place = Path(out)
    runs = []
    for id in ids:
        of_job = place / id if job == ALL else place
        given = size if scale is None else f"{int(jobs.get(id).paper_bytes * scale)}B"
        for number in range(repeats):
            own = of_job / str(number + 1) if repeats > 1 else of_job
            runs.append(Planned(id, own, given, seed + number))
    folder.check_new(place)
    return runs


def run_planned(
    runs: Sequence[Planned],
    *,
    nodes: int = NodeShares.nodes,
    memory: Size = NodeShares.memory,
    network: str | None = None,
    cores: float | None = None,
    disk_rate: Size | None = None,
    parameters: Parameters | None = None,
    sources: GivenPath | Sequence[GivenPath] = (),
    interval_ns: int = Sampling.interval_ns,
    cluster: Cluster | None = None,
    command: Sequence[str] | None = None,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> Iterator[tuple[Planned, RunResult]]:
    """Makes the runs sequentially, with what `gordon.workload.run` returns for each, and its
    parameters. The first error ends them; complete runs are kept. Parameters and the space on the
    disk are checked for all runs before the first."""
    for planned in runs:
        job = jobs.get(planned.job)
        job.complete(parameters or {})
        if cluster is None:
            size = in_bytes(planned.size)
            sizes = sizes_of(
                job, size, nodes, in_bytes(memory), network, cores, in_bytes(disk_rate)
            )
            check_space(
                next(path for path in planned.out.resolve().parents if path.exists()), sizes
            )
    for planned in runs:
        above = [path for path in planned.out.parents if not path.exists()]
        planned.out.parent.mkdir(parents=True, exist_ok=True)
        try:
            report = run(
                planned.job,
                planned.out,
                size=planned.size,
                seed=planned.seed,
                nodes=nodes,
                memory=memory,
                network=network,
                cores=cores,
                disk_rate=disk_rate,
                parameters=parameters,
                sources=sources,
                interval_ns=interval_ns,
                cluster=cluster,
                command=command,
                progress=progress,
                notify=notify,
            )
        except BaseException:
            for path in above:
                # A failed run with traces is kept.
                with suppress(OSError):
                    path.rmdir()
            raise
        yield planned, report
