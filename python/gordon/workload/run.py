"""Runs a job on Spark, on local nodes or on an existing cluster, with a trace of each node.

On local nodes (`gordon.run.local`) a run generates its input, spreads it over the disks of the
nodes, starts a cluster of its own (`standalone`), drops the page cache, and traces the job and a
sync of the disks at its end. On an existing cluster it traces the hosts that it is given, each as a
whole, and reads and writes what it is given.
"""

import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gordon import _core
from gordon.errors import GordonError
from gordon.options import Path as GivenPath
from gordon.options import Progress, Size, in_bytes, several
from gordon.options.workloads import JobInput, JobRuns, NodeShares, Sampling
from gordon.run import checks, folder
from gordon.run.capture import Host, NodeCapture, hosts_of
from gordon.run.folder import RunFolder
from gordon.run.local import LocalNodes, Node, Sizes
from gordon.run.report import Parameters, RunResult
from gordon.workload import java, jobs, local_run, settings, spark, verify
from gordon.workload.data import generate
from gordon.workload.driver import Driver, JobFailed, Request
from gordon.workload.session import describe, opened

#: Bytes of a file of the input, at least and at most; each node should get several.
SMALLEST_PART, LARGEST_PART = 1 << 20, 64 << 20
PARTS_PER_NODE = 4
#: Bytes of the disk of a node besides: journal of ext4, work folder of Spark.
DISK_BASE = 512 << 20
#: Receives the steps of a run, for messages.
Notify = Callable[[str], None]

#: Bytes; a disk with less free space is full. Spark removes files of a task that failed.
FULL = 64 << 20

#: The shortest interval of samples, which agents accept.
SHORTEST_NS = 100_000_000

#: Seconds within which a master answers.
PATIENCE_S = 10

LOOPBACK = "127.0.0.1"
#: Seconds for which a job waits for its executors to start, at most.
EXECUTORS_WAIT_S = 120


@dataclass(frozen=True)
class Cluster:
    """An existing cluster."""

    master: str
    """Address of the master, such as `spark://host:7077`."""
    inputs: list[str]
    output: str
    via: str | None = None
    """Command template that runs a program on a host: `ssh {host}`."""
    hosts: Path | None = None
    """File with the hosts to trace."""


@dataclass(frozen=True)
class Corpus:
    """The input to generate on local nodes."""

    size: int
    """Bytes."""
    seed: int
    sources: list[GivenPath]
    """Folders with text to learn from. Default: installed packages."""
    progress: Progress | None


@dataclass
class Work:
    """A job with what it works on."""

    job: jobs.Job
    parameters: Parameters
    command: list[str]
    interval_ns: int
    notify: Notify = field(default=lambda text: None)


def run(
    job: str,
    out: GivenPath,
    *,
    size: Size = JobRuns.size,
    nodes: int = NodeShares.nodes,
    memory: Size = NodeShares.memory,
    network: str | None = None,
    cores: float | None = None,
    disk_rate: Size | None = None,
    parameters: Parameters | None = None,
    seed: int = JobInput.seed,
    sources: GivenPath | Sequence[GivenPath] = (),
    interval_ns: int = Sampling.interval_ns,
    cluster: Cluster | None = None,
    command: Sequence[str] | None = None,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> RunResult:
    """Runs a job and returns the contents of `run.json` of the new folder `out`.

    `job` is an id of `jobs.JOBS`. On local nodes, `size` is that of the input (randomwriter: of the
    output), generated with `seed`, as `gordon.workload.data` does with `sources`; each of `nodes`
    has `memory` and `cores` (default: an equal share of 80 % of the machine's), `network` limits
    their links, as `1gbit`, and `disk_rate` the reads and the writes of their disks, each in bytes
    a second, as `50MB`. `progress` is called with the bytes of input that are generated. With
    `cluster` these have no effect. `parameters` are those of the job. Raises GordonError; a run
    whose output is wrong is kept, and raises the kind `wrong-output`.
    """
    chosen = jobs.get(job)
    size, memory = in_bytes(size, "--size"), in_bytes(memory, "--memory")
    disk_rate = in_bytes(disk_rate, "--disk-rate")
    given = dict(parameters or {})
    if chosen.id == "randomwriter":
        for name in ("size", "seed"):
            if name in given:
                raise GordonError(
                    f"the parameter {name} of randomwriter is that of the run",
                    f"--{name} {given[name]}",
                    kind="bad-parameter",
                )
        given = {"size": _core.parse_bytes(size), "seed": seed} | given
    work = Work(
        chosen,
        chosen.complete(given),
        list(command or sys.argv),
        interval_ns,
        notify or (lambda text: None),
    )
    check_interval(interval_ns)
    sizes = sizes_of(chosen, size, nodes, memory, network, cores, disk_rate)
    with folder.created(out) as made:
        spark.require()
        found = java.find()
        made.report["job"] = {"id": chosen.id, "parameters": work.parameters}
        if cluster is None:
            corpus = Corpus(_core.parse_bytes(size), seed, several(sources), progress)
            _run_locally(made, work, sizes, found, corpus)
        else:
            _run_on(made, work, cluster, found)
    wrong = [check for check in made.report["verification"]["checks"] if not check["passed"]]
    if wrong:
        raise GordonError(
            f"the output of {chosen.id} is wrong: {wrong[0]['name']}: {wrong[0]['detail']}",
            f"{os.fspath(out)}/run.json has all checks",
            kind="wrong-output",
        )
    return RunResult(made.report)


def check_interval(interval_ns: int) -> None:
    """Raises GordonError for an interval that agents refuse."""
    if interval_ns < SHORTEST_NS:
        raise GordonError(
            f"an interval of {interval_ns / 1e6:g} ms is too short for traces of nodes",
            "0.1s or more",
            kind="out-of-range",
        )


def sizes_of(
    job: jobs.Job,
    size: str,
    nodes: int = NodeShares.nodes,
    memory: str = NodeShares.memory,
    network: str | None = None,
    cores: float | None = None,
    disk_rate: str | None = None,
) -> Sizes:
    """The share of each local node for an input of `size`. Raises GordonError."""
    local_run.check_nodes(nodes)
    disk = DISK_BASE + job.disk_per_byte * _core.parse_bytes(size) // nodes
    return local_run.sizes_of(nodes, disk, memory, network, cores, disk_rate)


def _run_locally(
    made: RunFolder,
    work: Work,
    sizes: Sizes,
    found: java.Java,
    corpus: Corpus,
) -> None:
    with LocalNodes(made.target.resolve().parent, sizes) as nodes:
        made.report["warnings"] += nodes.warnings
        made.report["limits"] = nodes.limits()
        inputs = _spread(made, work, nodes, corpus)
        with local_run.spark_on(nodes, made, found, work.notify) as cluster:
            result = cluster.output / "result"
            own = {
                "spark.driver.host": nodes.driver.address,
                "spark.driver.bindAddress": nodes.driver.address,
                "spark.executor.memory": f"{cluster.memory_mib}m",
                # The job starts when all executors have started: their start is not a part of it.
                "spark.cores.max": str(cluster.cores * sizes.count),
                "spark.scheduler.minRegisteredResourcesRatio": "1.0",
                "spark.scheduler.maxRegisteredResourcesWaitingTime": f"{EXECUTORS_WAIT_S}s",
                "spark.sql.shuffle.partitions": str(
                    settings.shuffle_partitions(corpus.size, cluster.cores * sizes.count)
                ),
            }
            if not nodes.is_isolated:
                # Executors fetch from one another, as they would from hosts of their own.
                own["spark.shuffle.readHostLocalDisk"] = "false"
            request: Request = {
                "job": work.job.id,
                "parameters": work.parameters,
                "inputs": inputs,
                "output": f"file://{result}",
                "master": cluster.master,
                "settings": own | local_run.event_log_settings(made),
                "java_home": str(found.home),
                "java_version": found.version,
            }
            log = made.path / local_run.LOGS / "driver.log"
            with Driver(nodes.driver, found, request, log) as driver:
                made.report["engine"] = driver.engine
                is_cold = local_run.drop_caches(made)
                with local_run.capture(made, nodes, work.command, work.interval_ns):
                    work.notify(f"running {work.job.id}")
                    try:
                        figures = driver.run()
                    except JobFailed as error:
                        raise _failed(work.job, error, nodes.nodes) from error
        made.report["job"] = {**made.report["job"], **figures}
        local_run.read_event_log(made)
        if not nodes.is_isolated:
            local_run.estimate_network(made, nodes)
        checks.compare_engine(
            made.report, has_disks=nodes.is_isolated, is_cold=is_cold, has_network=True
        )
        view = _view(nodes, result)
        _verify(made, work, f"local[{os.cpu_count() or 1}]", found, inputs, f"file://{view}")


def _run_on(made: RunFolder, work: Work, cluster: Cluster, found: java.Java) -> None:
    if cluster.master.startswith("sc://"):
        raise GordonError(
            f"{cluster.master} is a server of Spark Connect, which keeps the event log to itself",
            "spark://HOST:PORT; the jobs alone run in a session of Spark Connect: "
            "gordon.workload.JOBS[ID].run(session, inputs, output)",
            kind="no-cluster",
        )
    if cluster.hosts is not None and cluster.via is None:
        raise GordonError(
            f"--hosts {cluster.hosts} needs a command that reaches the hosts",
            "--via 'ssh {host}'",
            kind="bad-via",
        )
    if cluster.hosts is None and cluster.via is not None:
        raise GordonError(
            f"--via {cluster.via!r} reaches hosts, and none is named",
            "--hosts FILE, with a host a line",
            kind="bad-via",
        )
    hosts = [] if cluster.hosts is None else hosts_of(cluster.hosts)
    _knock(cluster.master)
    with _job_session(made, work, cluster.master, found, {}) as session:
        jobs.check_input(session, work.job, cluster.inputs)
        scopes = [Host(host, [{"kind": "machine", "name": host}]) for host in hosts]
        with NodeCapture(made, scopes, work.command, cluster.via, work.interval_ns):
            work.notify(f"running {work.job.id}")
            try:
                figures = work.job.run(session, cluster.inputs, cluster.output, work.parameters)
            except spark.errors() as error:
                raise _failed(work.job, error, []) from error
    made.report["job"] = {**made.report["job"], **figures}
    executors = local_run.read_event_log(made)
    places = {executor["host"] for executor in executors if executor["id"] != "driver"}
    if 0 < len(places) <= len(hosts):
        checks.compare_engine(made.report, has_disks=False, is_cold=False, has_network=False)
    _verify(made, work, cluster.master, found, cluster.inputs, cluster.output)


def _spread(
    made: RunFolder,
    work: Work,
    nodes: LocalNodes,
    corpus: Corpus,
) -> list[str]:
    """Generates the input and spreads its files over the disks of the nodes."""
    if work.job.data == "none":
        return []
    share = corpus.size // (len(nodes.nodes) * PARTS_PER_NODE)
    part = max(SMALLEST_PART, min(LARGEST_PART, share))
    folder = nodes.folder / "corpus"
    data = generate(
        work.job.data,
        folder,
        size=f"{corpus.size}B",
        part_size=f"{part}B",
        seed=corpus.seed,
        sources=corpus.sources,
        progress=corpus.progress,
    ).report
    del data["output"]
    made.report["data"] = data
    places = [node.disk / "input" for node in nodes.nodes]
    for place in places:
        place.mkdir()
    inputs = []
    for number, path in enumerate(sorted(folder.glob("part-*"))):
        target = places[number % len(places)] / path.name
        shutil.move(path, target)
        inputs.append(f"file://{target}")
    shutil.rmtree(folder)
    return inputs


def _failed(job: jobs.Job, error: Exception, nodes: Sequence[Node]) -> GordonError:
    """The error for a job that Spark gave up."""
    full = [node.name for node in nodes if shutil.disk_usage(node.disk).free < FULL]
    if full:
        return GordonError(
            f"{job.id} failed: the disk of {', '.join(full)} is full",
            "a smaller --size",
            kind="disk-full",
        )
    lines = [line.strip() for line in str(error).splitlines()]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    what = (causes or [line for line in lines if "Exception: " in line] or lines[:1])[-1]
    return GordonError(
        f"{job.id} failed: {what.removeprefix('Caused by: ')}",
        "logs and event log of the run say more",
        kind="job-failed",
    )


def _view(nodes: LocalNodes, result: Path) -> Path:
    """A folder with links to the output files on the disks of all nodes."""
    view = nodes.folder / "view"
    view.mkdir()
    for node in nodes.nodes:
        place = node.disk / result.parent.name / result.name
        for path in place.glob("part-*") if node.group is not None else result.glob("part-*"):
            link = view / path.name
            if not link.is_symlink():
                link.symlink_to(path)
    return view


def _verify(
    made: RunFolder, work: Work, master: str, found: java.Java, inputs: list[str], output: str
) -> None:
    """Verifies the output, in an application of its own: its work is not the job's."""
    work.notify("verifying the output")
    own = {"spark.eventLog.enabled": "false"}
    if master.startswith("local"):
        # By default Spark takes the address of an interface, and keeps it for as long as its JVM
        # lives: that of nodes of another run may be gone.
        own |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    with opened(f"gordon verify {work.job.id}", master, found.home, own) as session:
        made.report["verification"] = verify.verify(
            session, work.job.id, inputs, output, work.parameters
        )


def _knock(master: str) -> None:
    """Raises GordonError if no master answers. Spark itself would try for a minute."""
    addresses = re.findall(r"([^/,]+):(\d+)", master.removeprefix("spark://"))
    if not master.startswith("spark://") or not addresses:
        return
    for host, port in addresses:
        with suppress(OSError):
            socket.create_connection((host, int(port)), timeout=PATIENCE_S).close()
            return
    raise GordonError(
        f"no Spark master answers at {master}",
        "start the cluster, or leave --master out to run on nodes of this machine",
        kind="no-cluster",
    )


@contextmanager
def _job_session(
    made: RunFolder, work: Work, master: str, found: java.Java, own: dict[str, str]
) -> Iterator[Any]:
    """A session whose settings and event log become part of the run."""
    own = own | local_run.event_log_settings(made)
    with opened(f"gordon {work.job.id}", master, found.home, own) as session:
        made.report["engine"] = describe(session, found.version, own)
        yield session
