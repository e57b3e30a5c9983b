"""Runs a job on Spark, on local nodes or on an existing cluster, with a trace of each node.

On local nodes (`gordon.run.local`) a run generates its input, spreads it over the disks of the
nodes, starts a cluster of its own (`standalone`), drops the page cache, and traces the job and a
sync of the disks at its end. On an existing cluster it traces the hosts that it is given, each as a
whole, and reads and writes what it is given.
"""

import json
import os
import re
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from gordon import _core
from gordon._core import GordonError
from gordon.options import Path as GivenPath
from gordon.options import Progress, several
from gordon.run import checks, folder
from gordon.run.agents import LOCAL
from gordon.run.capture import Host, NodeCapture, hosts_of, node_sums, trace_totals
from gordon.run.folder import MISSING, RunFolder
from gordon.run.local import LocalNodes, Node, Sizes
from gordon.workload import java, jobs, settings, spark, verify
from gordon.workload.data import generate
from gordon.workload.standalone import WORK, Standalone

NODES = 4
#: The paper's nodes have 2 GB.
MEMORY = "2GiB"
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
DROP_CACHES = Path("/proc/sys/vm/drop_caches")


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
    parameters: dict[str, Any]
    command: list[str]
    interval_ns: int
    notify: Notify = field(default=lambda text: None)


def run(
    job: str,
    out: GivenPath,
    *,
    size: str = "1GB",
    nodes: int = NODES,
    memory: str = MEMORY,
    network: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 1,
    sources: GivenPath | Sequence[GivenPath] = (),
    interval_ns: int = 1_000_000_000,
    cluster: Cluster | None = None,
    command: Sequence[str] | None = None,
    progress: Progress | None = None,
    notify: Notify | None = None,
) -> dict[str, Any]:
    """Runs a job and returns the contents of `run.json` of the new folder `out`.

    `job` is an id of `jobs.JOBS`. On local nodes, `size` is that of the input (randomwriter: of the
    output), generated with `seed`, as `gordon.workload.data` does with `sources`; each of `nodes`
    has `memory`, and `network` limits their links, as `1gbit`. `progress` is called with the bytes
    of input that are generated. With `cluster` these have no effect. `parameters` are those of the
    job. Raises GordonError; a run whose output is wrong is kept, and raises the kind
    `wrong-output`.
    """
    chosen = jobs.get(job)
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
    if interval_ns < SHORTEST_NS:
        raise GordonError(
            f"an interval of {interval_ns / 1e6:g} ms is too short for traces of nodes",
            "0.1s or more",
            kind="out-of-range",
        )
    sizes = sizes_of(chosen, size, nodes, memory, network)
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
    return made.report


def sizes_of(
    job: jobs.Job, size: str, nodes: int, memory: str = MEMORY, network: str | None = None
) -> Sizes:
    """What each local node gets for an input of `size`. Raises GordonError."""
    if nodes < 1:
        raise GordonError(f"{nodes} nodes: at least one is needed", kind="out-of-range")
    disk = DISK_BASE + job.disk_per_byte * _core.parse_bytes(size) // nodes
    return Sizes(nodes, _core.parse_bytes(memory), disk, network)


def _run_locally(
    made: RunFolder,
    work: Work,
    sizes: Sizes,
    found: java.Java,
    corpus: Corpus,
) -> None:
    with LocalNodes(made.target.resolve().parent, sizes) as nodes:
        made.report["warnings"] += nodes.warnings
        inputs = _spread(made, work, nodes, corpus)
        output = nodes.folder / "out"
        output.mkdir()
        logs = made.path / "logs"
        logs.mkdir()
        work.notify("starting Spark")
        with Standalone(nodes, found.home, output, logs) as cluster:
            own = {
                "spark.driver.host": nodes.address,
                "spark.driver.bindAddress": nodes.address,
                "spark.executor.memory": f"{cluster.memory_mib}m",
                "spark.sql.shuffle.partitions": str(
                    settings.shuffle_partitions(corpus.size, cluster.cores * sizes.count)
                ),
            }
            if not nodes.is_isolated:
                # Executors fetch from one another, as they would from hosts of their own.
                own["spark.shuffle.readHostLocalDisk"] = "false"
            with _job_session(made, work, cluster.master, found, own) as session:
                jobs.check_input(session, work.job, inputs)
                scopes = [_scope(node) for node in nodes.nodes]
                is_cold = _drop_caches(made)
                capture = NodeCapture(
                    made, [Host(LOCAL, scopes)], work.command, interval_ns=work.interval_ns
                )
                with capture:
                    work.notify(f"running {work.job.id}")
                    target = f"file://{output}/result"
                    try:
                        figures = work.job.run(session, inputs, target, work.parameters)
                    except spark.errors() as error:
                        raise _failed(work.job, error, nodes.nodes) from error
                    finally:
                        capture.lost |= {node.name for node in nodes.nodes if _is_lost(node)}
                    os.sync()
        made.report["job"] |= figures
        _read_event_log(made)
        if not nodes.is_isolated:
            _estimate_network(made, nodes)
        checks.compare_engine(
            made.report, has_disks=nodes.is_isolated, is_cold=is_cold, has_network=True
        )
        view = _view(nodes, output / "result")
        _verify(made, work, f"local[{os.cpu_count() or 1}]", found, inputs, f"file://{view}")


def _run_on(made: RunFolder, work: Work, cluster: Cluster, found: java.Java) -> None:
    if cluster.master.startswith("sc://"):
        raise GordonError(
            f"{cluster.master} is a server of Spark Connect, which keeps the event log to itself",
            "spark://HOST:PORT; the jobs alone run in a session of Spark Connect: "
            "gordon.workload.JOBS[ID].run(session, inputs, output)",
            kind="no-cluster",
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
    made.report["job"] |= figures
    executors = _read_event_log(made)
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
    )
    made.report["data"] = {key: value for key, value in data.items() if key != "output"}
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


def _scope(node: Node) -> dict[str, Any]:
    """What an agent captures of a node."""
    worker = node.processes[-1].pid
    scope: dict[str, Any] = {"kind": "node", "name": node.name}
    if node.group is None:
        return scope | {"processes": [worker]}
    return scope | {
        "cgroup": node.group.path,
        "netns": node.namespace,
        "devices": [node.loop],
        "cores": node.cores,
    }


def _is_lost(node: Node) -> bool:
    return any(process.poll() is not None for process in node.processes)


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


def _drop_caches(made: RunFolder) -> bool:
    """Drops the page cache, so that a job reads its input from the disk, as in the paper. Returns
    whether the kernel did."""
    os.sync()
    try:
        DROP_CACHES.write_text("3\n")
    except OSError as error:
        made.report["warnings"].append(
            f"the page cache was not dropped: {error.strerror}; the job may find its input there"
        )
        return False
    return True


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
    with _session(f"gordon verify {work.job.id}", master, found, own) as session:
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


def _read_event_log(made: RunFolder) -> list[dict[str, Any]]:
    """Writes the tables of stages and tasks, and adds stages and totals to the report. Returns the
    executors."""
    (log,) = (made.path / "eventlog").iterdir()
    start = made.report["start_unix_ns"]
    found = json.loads(_core.spark_event_log(str(log), str(made.path), start))
    ended = made.report["duration_s"]
    made.report["event_log"] = f"eventlog/{log.name}"
    made.report["stages"] = [stage for stage in found["stages"] if stage["start_s"] < ended]
    made.report["totals"]["engine"] = found["totals"]
    made.report["warnings"] += found["warnings"]
    executors: list[dict[str, Any]] = found["executors"]
    return executors


def _estimate_network(made: RunFolder, nodes: LocalNodes) -> None:
    """Adds to the traces of nodes that are plain processes their network, from the event log."""
    report = made.report
    present = {node["name"]: node for node in report["nodes"] if node["status"] != MISSING}
    if not present:
        return
    of_node = []
    replaced: set[str] = set()
    for node in nodes.nodes:
        if node.name in present:
            manifest = json.loads((made.path / node.name / "manifest.json").read_text())
            lacking = [each for each in manifest["unavailable"] if each["what"] == "network"]
            replaced |= {f"no network: {each['why']}" for each in lacking}
            # A worker makes a folder for each executor: work/APPLICATION/EXECUTOR.
            places = (node.disk / WORK).glob("*/*")
            executors = [place.name for place in places if place.is_dir()]
            of_node.append((str(made.path / node.name), executors))
    _core.trace_estimate_network(str(made.path / report["event_log"]), of_node)
    for name, entry in present.items():
        entry["totals"] = trace_totals(made.path / name)
    report["totals"]["nodes"] = node_sums(report)
    report["warnings"] = [text for text in report["warnings"] if not text.endswith(tuple(replaced))]
    report["warnings"].append(
        "network: what nodes received and sent is estimated from the shuffle bytes that tasks read"
        " from other executors, because plain processes have no network of their own"
    )


@contextmanager
def _job_session(
    made: RunFolder, work: Work, master: str, found: java.Java, own: dict[str, str]
) -> Iterator[Any]:
    """A session whose settings and event log become part of the run."""
    log = made.path.resolve() / "eventlog"
    log.mkdir()
    own = own | {"spark.eventLog.dir": f"file://{log}"}
    with _session(f"gordon {work.job.id}", master, found, own) as session:
        made.report["engine"] = {
            "name": "spark",
            "version": session.version,
            "java": found.version,
            "python": sys.version.split()[0],
            "settings": {key: session.conf.get(key, None) for key in settings.values() | own},
        }
        yield session


@contextmanager
def _session(name: str, master: str, found: java.Java, own: dict[str, str]) -> Iterator[Any]:
    """A session of Spark with the pinned settings, and those of the run."""
    before = os.environ.get("JAVA_HOME")
    os.environ["JAVA_HOME"] = str(found.home)
    try:
        builder = import_module("pyspark.sql").SparkSession.builder.master(master).appName(name)
        for key, value in (settings.values() | own).items():
            builder = builder.config(key, value)
        session = builder.getOrCreate()
        session.sparkContext.setLogLevel("ERROR")
    finally:
        if before is None:
            del os.environ["JAVA_HOME"]
        else:
            os.environ["JAVA_HOME"] = before
    try:
        yield session
    finally:
        session.stop()
        # The next session would have the settings of this one.
        session.builder._options.clear()
