"""Runs of programs on local nodes: the sizes of the nodes, Spark on them, their capture, and the
event log of Spark."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gordon import _core
from gordon.errors import GordonError
from gordon.human import short
from gordon.reports.spark import EventLogSummary, ExecutorSummary
from gordon.reports.trace import Manifest
from gordon.run import quotas
from gordon.run.agents import LOCAL
from gordon.run.capture import Host, NodeCapture, node_sums, trace_totals
from gordon.run.folder import MISSING, RunFolder
from gordon.run.local import LocalNodes, Node, Sizes
from gordon.run.report import CaptureScope
from gordon.workload import java
from gordon.workload.standalone import HEAP_SHARE, WORK, Standalone

#: Folder of the output of a job; on each node it is one on the node's disk.
OUTPUT = "out"
#: Folder of a run with what programs print.
LOGS = "logs"
DROP_CACHES = Path("/proc/sys/vm/drop_caches")
#: Bytes of the heap with which Spark starts an executor, at least: 1.5 times the 300 MiB that it
#: reserves (UnifiedMemoryManager.scala).
LEAST_HEAP = 450 << 20
#: The slowest disk, in bytes a second: the metadata of an empty file system take seconds.
SLOWEST_DISK = 100_000


def check_nodes(nodes: int) -> None:
    """Raises GordonError for less than one node."""
    if nodes < 1:
        raise GordonError(f"{nodes} nodes: at least one is needed", kind="out-of-range")


def sizes_of(
    nodes: int,
    disk: int | None,
    memory: str,
    network: str | None,
    cores: float | None,
    disk_rate: str | None,
) -> Sizes:
    """The share of each local node. `disk` is in bytes. Raises GordonError for a share on which no
    node of Spark runs, or which this machine does not have."""
    check_nodes(nodes)
    quotas.cores_of(nodes, cores)
    bytes_ = _core.parse_bytes(memory)
    least = int(LEAST_HEAP / HEAP_SHARE)
    if bytes_ < least:
        raise GordonError(
            f"a node with {short(bytes_, 'B')} of memory cannot run an executor of Spark",
            f"{least >> 20}MiB or more: half of it is the heap",
            kind="out-of-range",
        )
    rate = None if disk_rate is None else _core.parse_bytes(disk_rate)
    if rate is not None and rate < SLOWEST_DISK:
        raise GordonError(
            f"a disk with {short(rate, 'B/s')} is too slow for a run",
            f"{short(SLOWEST_DISK, 'B/s')} or more",
            kind="out-of-range",
        )
    return Sizes(nodes, bytes_, disk, network, cores, rate)


@contextmanager
def spark_on(
    nodes: LocalNodes, made: RunFolder, found: java.Java, notify: Callable[[str], None]
) -> Iterator[Standalone]:
    """A cluster of Spark on the nodes, whose logs are part of the run."""
    output, logs = nodes.folder / OUTPUT, made.path / LOGS
    output.mkdir()
    logs.mkdir()
    notify("starting Spark")
    with Standalone(nodes, found.home, output, logs) as cluster:
        yield cluster


def event_log_settings(made: RunFolder) -> dict[str, str]:
    """The settings of Spark with which its event log is a part of the run."""
    log = made.path.resolve() / "eventlog"
    log.mkdir(exist_ok=True)
    return {"spark.eventLog.dir": f"file://{log}"}


@contextmanager
def capture(
    made: RunFolder, nodes: LocalNodes, command: Sequence[str], interval_ns: int
) -> Iterator[None]:
    """Captures the nodes and their driver while the body runs. The disks are synced at the end,
    inside the traces."""
    scopes = [_scope(node) for node in nodes.nodes]
    host = Host(LOCAL, [*scopes, _scope(nodes.driver)], driver=nodes.driver.name)
    with NodeCapture(made, [host], command, interval_ns=interval_ns) as running:
        try:
            yield
        finally:
            running.lost |= {node.name for node in nodes.nodes if _is_lost(node)}
        os.sync()


def _scope(node: Node) -> CaptureScope:
    """The capture of a node by an agent."""
    if node.group is None:
        processes = [process.pid for process in node.processes]
        return {"kind": "node", "name": node.name, "processes": processes}
    return {
        "kind": "node",
        "name": node.name,
        "cgroup": node.group.path,
        "netns": node.namespace,
        "devices": [] if node.loop is None else [node.loop],
        "cores": node.cores,
    }


def _is_lost(node: Node) -> bool:
    return any(process.poll() is not None for process in node.processes)


def drop_caches(made: RunFolder) -> bool:
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


def find_event_log(made: RunFolder) -> Path | None:
    """The event log of the run, whose path in the run becomes `event_log` of the report. Of several
    applications it is the longest log, and a warning names the others. None without any."""
    logs = sorted((made.path / "eventlog").iterdir(), key=lambda log: log.stat().st_size)
    if not logs:
        return None
    *others, log = logs
    made.report["event_log"] = f"eventlog/{log.name}"
    if others:
        names = ", ".join(sorted(other.name for other in others))
        made.report["warnings"].append(
            f"the program ran {len(logs)} applications of Spark: stages and tasks are those of "
            f"{log.name}, which has the longest event log, and not of {names}"
        )
    return log


def read_event_log(made: RunFolder, log: Path | None = None) -> list[ExecutorSummary]:
    """Writes the tables of stages and tasks, and adds stages and totals to the report. Returns the
    executors. `log` is by default that of `find_event_log`."""
    log = log or find_event_log(made)
    if log is None:
        raise GordonError("Spark wrote no event log", kind="no-event-log")
    start = made.report["start_unix_ns"]
    found: EventLogSummary = json.loads(_core.spark_event_log(str(log), str(made.path), start))
    ended = made.report["duration_s"]
    made.report["stages"] = [stage for stage in found["stages"] if stage["start_s"] < ended]
    made.report["totals"]["engine"] = found["totals"]
    made.report["warnings"] += found["warnings"]
    return found["executors"]


def estimate_network(made: RunFolder, nodes: LocalNodes) -> None:
    """Adds to the traces of nodes that are plain processes their network, from the event log."""
    report = made.report
    present = {node["name"]: node for node in report["nodes"] if node["status"] != MISSING}
    if not present:
        return
    of_node = []
    replaced: set[str] = set()
    for node in nodes.nodes:
        if node.name in present:
            text = (made.path / node.name / "manifest.json").read_text()
            manifest: Manifest = json.loads(text)
            lacking = [each for each in manifest["unavailable"] if each["what"] == "network"]
            replaced |= {f"no network: {each['why']}" for each in lacking}
            # A worker makes a folder for each executor: work/APPLICATION/EXECUTOR.
            places = (node.disk / WORK).glob("*/*")
            executors = [place.name for place in places if place.is_dir()]
            of_node.append((str(made.path / node.name), executors))
    log = report["event_log"]
    assert log is not None, "the run has read its event log"
    _core.trace_estimate_network(str(made.path / log), of_node)
    for name, entry in present.items():
        entry["totals"] = trace_totals(made.path / name)
    report["totals"]["nodes"] = node_sums(report)
    report["warnings"] = [text for text in report["warnings"] if not text.endswith(tuple(replaced))]
    report["warnings"].append(
        "network: what nodes received and sent is estimated from the shuffle bytes that tasks read"
        " from other executors, because plain processes have no network of their own; that of the"
        " driver is unknown"
    )
