"""Traces of all nodes of a run: starts agents, compares clocks, and collects what they captured."""

import json
import shutil
import time
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gordon import _core
from gordon.errors import GordonError
from gordon.reports.trace import MachineUse, TraceSummary
from gordon.run import checks, load
from gordon.run.agents import LOCAL, Agent, ClockReading, HostClock
from gordon.run.folder import COMPLETE, DRIVER, LOST, MISSING, WORKER, RunFolder, workers
from gordon.run.replies import AgentTrace
from gordon.run.report import CaptureScope, RunNode, RunReport, RunTotals, Sums, Totals

#: Seconds within which an agent completes its traces.
PATIENCE_S = 120.0
#: Columns of a trace that are added up.
_Bytes = Literal["disk_read_bytes", "disk_write_bytes", "rx_bytes", "tx_bytes"]


@dataclass
class Host:
    """A host, with the scopes that are captured there; each is a node of the run."""

    name: str
    scopes: list[CaptureScope]
    """The scopes as the agent takes them, without `out`; `{"kind": "machine", "name": NAME}` is all
    of the host."""
    driver: str | None = None
    """Name of the scope that is the driver of the job; the others are workers."""
    agent: Agent = field(init=False)
    clock_start: ClockReading = field(init=False)
    warnings: list[str] = field(init=False, default_factory=list)
    """Warnings of the start of the capture, each with the names of its scopes."""

    def has_warned(self, name: str, warning: str) -> bool:
        """Whether the start of the capture gave a warning for this scope."""
        groups = [text.removesuffix(f": {warning}") for text in self.warnings]
        return any(
            name in group.split(", ")
            for group, text in zip(groups, self.warnings, strict=True)
            if group != text
        )

    @property
    def is_local(self) -> bool:
        return self.name == LOCAL

    @property
    def is_shared(self) -> bool:
        """Whether the nodes are parts of the host, which they share."""
        return any(scope["kind"] == "node" for scope in self.scopes)


class NodeCapture:
    """A context manager that captures nodes while its body runs. At the end `folder.report` has
    `nodes`, `machines`, `totals` and the times of the run, whether the body failed or not."""

    def __init__(
        self,
        folder: RunFolder,
        hosts: Sequence[Host],
        command: Sequence[str],
        via: str | None = None,
        interval_ns: int = 1_000_000_000,
    ) -> None:
        self.folder = folder
        self.hosts = list(hosts)
        self.command = list(command)
        self.via = via
        self.interval_ns = interval_ns
        #: Names of nodes whose processes were lost while the job ran; the body of the context adds
        #: them.
        self.lost: set[str] = set()
        self._stack = ExitStack()

    def __enter__(self) -> "NodeCapture":
        with self._stack:
            for host in self.hosts:
                via = None if host.is_local else self.via
                host.agent = self._stack.enter_context(Agent(host.name, via))
                host.clock_start = host.agent.clock()
            self._started = time.time_ns()
            for host in self.hosts:
                self._start(host)
            # The agents stay until the end, unless an error came before this line.
            self._stack = self._stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        with self._stack:
            ended = time.time_ns()
            stopped = [self._stop(host) for host in self.hosts]
            report = self.folder.report
            report["command"] = self.command
            report["start_unix_ns"] = self._started
            report["duration_s"] = (ended - self._started) / 1e9
            report["interval_ns"] = self.interval_ns
            report["nodes"] = [node for nodes, _ in stopped for node in nodes]
            report["machines"] = [
                load.of_machine(host.name, machine)
                for host, (_, machine) in zip(self.hosts, stopped, strict=True)
                if machine is not None
            ]
            shared = {host.name for host in self.hosts if host.is_shared}
            report["warnings"] += load.judge(report["machines"], shared)
            report["totals"] = self._totals([machine for _, machine in stopped])
            if report["totals"]["machine"] is not None:
                # The disk of a node may be in the page cache of its machine, and its network is
                # its own.
                cpu_s = report["totals"]["machine"]["cpu_s"]
                checks.compare(report, "cpu_s", "at most", ("machine", cpu_s))

    def _start(self, host: Host) -> None:
        """Starts the capture on a host. Samples are taken at the same times on all hosts: when our
        clock is a multiple of the interval after the start."""
        place = None if not host.is_local else self.folder.path.resolve()
        scopes = [scope.copy() for scope in host.scopes]
        if place is not None:
            for scope in scopes:
                scope["out"] = str(place / scope["name"])
        phase_unix_ns = self._started + host.clock_start.offset_ns
        host.warnings = host.agent.start(scopes, self.interval_ns, phase_unix_ns, self.command)
        for warning in host.warnings:
            self._warn(host, warning)

    def _stop(self, host: Host) -> tuple[list[RunNode], MachineUse | None]:
        """The nodes of a host, and the totals of its machine."""
        try:
            clock = HostClock(host.clock_start, host.agent.clock())
            reply = host.agent.stop(PATIENCE_S)
        except GordonError as error:
            self._warn(host, error.message)
            return [self._node(host, scope, None, None) for scope in host.scopes], None
        traces = {trace["name"]: trace for trace in reply["traces"]}
        nodes = [self._node(host, scope, traces.get(scope["name"]), clock) for scope in host.scopes]
        if not host.is_local and all(node["status"] != MISSING for node in nodes):
            # The traces are here; on the host they would fill its temporary folder.
            with suppress(GordonError):
                host.agent.request("remove")
        return nodes, reply["machine"]

    def _node(
        self,
        host: Host,
        scope: CaptureScope,
        trace: AgentTrace | None,
        clock: HostClock | None,
    ) -> RunNode:
        name = scope["name"]
        made: RunNode = {
            "name": name,
            "host": host.name,
            "folder": name,
            "role": DRIVER if name == host.driver else WORKER,
            "status": MISSING,
            "clock": None if clock is None else clock.report(),
            "totals": None,
            "load": None,
        }
        if trace is None:
            return made
        for warning in trace["warnings"]:
            if not host.has_warned(name, warning):
                self._warn(host, f"{name}: {warning}")
        if trace["error"] is not None:
            self._warn(host, f"{name}: {trace['error']['message']}")
            return made
        made["scope"] = trace["scope"]
        place = self.folder.path / name
        try:
            if not host.is_local:
                host.agent.fetch(trace["folder"], trace["files"], place)
            summary: TraceSummary = json.loads(_core.trace_summary(str(place)))
        except (GordonError, OSError) as error:
            # The traces of the other hosts are kept.
            why = error.message if isinstance(error, GordonError) else str(error)
            self._warn(host, f"{name}: {why}")
            if not host.is_local:
                shutil.rmtree(place, ignore_errors=True)
            return made
        made["status"] = LOST if name in self.lost else COMPLETE
        made["totals"] = _totals_of(summary)
        made["load"] = load.of_node(summary)
        return made

    def _totals(self, machines: list[MachineUse | None]) -> RunTotals:
        """Sums over the nodes and over the machines, without comparisons yet."""
        nodes = node_sums(self.folder.report)
        known = [machine for machine in machines if machine is not None]
        if len(known) < len(machines):
            return {"nodes": nodes, "machine": None, "checks": []}
        machine: Sums = {
            "cpu_s": sum(one["cpu_ns"] for one in known) / 1e9,
            "read_bytes": sum(one["read_bytes"] for one in known),
            "write_bytes": sum(one["write_bytes"] for one in known),
            "rx_bytes": sum(one["rx_bytes"] for one in known),
            "tx_bytes": sum(one["tx_bytes"] for one in known),
        }
        return {"nodes": nodes, "machine": machine, "checks": []}

    def _warn(self, host: Host, text: str) -> None:
        self.folder.report["warnings"].append(text if host.is_local else f"{host.name}: {text}")


def node_sums(report: RunReport) -> Sums:
    """Sums over the workers of a run."""
    known = [totals for node in workers(report) if (totals := node["totals"])]
    return {
        "cpu_s": sum(one["cpu_s"] or 0.0 for one in known),
        "read_bytes": sum(one["read_bytes"] or 0 for one in known),
        "write_bytes": sum(one["write_bytes"] or 0 for one in known),
        "rx_bytes": sum(one["rx_bytes"] or 0 for one in known),
        "tx_bytes": sum(one["tx_bytes"] or 0 for one in known),
    }


def trace_totals(trace: Path) -> Totals:
    """Sums over a trace; None for what the trace lacks."""
    return _totals_of(json.loads(_core.trace_summary(str(trace))))


def _totals_of(summary: TraceSummary) -> Totals:
    samples, kinds = summary["samples"], summary["kinds"]
    cpu_s = None if kinds.get("cpu_ns") == "missing" else sum(samples["cpu_s"])

    def known(column: _Bytes) -> int | None:
        return None if kinds.get(column) == "missing" else sum(samples[column])

    return {
        "cpu_s": cpu_s,
        "read_bytes": known("disk_read_bytes"),
        "write_bytes": known("disk_write_bytes"),
        "rx_bytes": known("rx_bytes"),
        "tx_bytes": known("tx_bytes"),
    }


def hosts_of(path: Path) -> list[str]:
    """The hosts of a file: one a line; # starts a comment. Raises GordonError for a file without
    any, or with the same host twice."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text in UTF-8"
        raise GordonError(
            f"cannot read {path}: {why}", "a file with a host a line", kind="no-hosts"
        ) from None
    hosts = [name for line in lines if (name := line.partition("#")[0].strip())]
    if not hosts:
        raise GordonError(f"{path} names no host", "one host a line", kind="no-hosts")
    for name in hosts:
        if hosts.count(name) > 1:
            raise GordonError(f"{path} names {name} twice", "each host once", kind="no-hosts")
    return hosts
