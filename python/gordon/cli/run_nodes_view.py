"""The nodes of a run for people: `gordon trace show RUN`."""

from pathlib import Path
from typing import Literal

from gordon.cli import warn
from gordon.cli.terminal import Column, data
from gordon.human import counted, duration, short
from gordon.run import folder
from gordon.run.report import MachineLoad, RunNode, RunReport

_Bytes = Literal["read_bytes", "write_bytes", "rx_bytes", "tx_bytes"]
BYTES: tuple[tuple[str, _Bytes], ...] = (
    ("read", "read_bytes"),
    ("written", "write_bytes"),
    ("received", "rx_bytes"),
    ("sent", "tx_bytes"),
)
_Time = Literal["throttled_s", "steal_s", "psi_memory_some_s"]
TIMES: tuple[tuple[str, _Time], ...] = (
    ("throttled", "throttled_s"),
    ("stolen", "steal_s"),
    ("waited for memory", "psi_memory_some_s"),
)
UNKNOWN = "-"


def show(path: str, run: RunReport) -> None:
    """The job, each node with its role and totals, and the load of the machines."""
    console = data()
    job, command = run.get("job"), " ".join(run.get("command", []))
    name = job["id"] if job else command or path
    console.text(name, style="bold")
    facts = []
    if "duration_s" in run:
        facts.append(f"ran {duration(run['duration_s'])}")
    if run.get("exit_status") is not None:
        facts.append(f"exit status {run['exit_status']}")
    if run.get("stages"):
        facts.append(f"{counted(len(run['stages']), 'stage')} of {run['engine']['name']}")
    if log := run.get("event_log"):
        facts.append(f"event log {Path(path) / log}")
    if facts:
        console.text(", ".join(facts))
    nodes = run["nodes"]
    columns = [
        Column("node", [node["name"] for node in nodes]),
        Column("role", [node.get("role", folder.WORKER) for node in nodes]),
        Column("trace", [node["status"] for node in nodes]),
        Column("CPU", [_cpu(node) for node in nodes], True),
    ]
    for title, key in BYTES:
        columns.append(Column(title, [_bytes(node, key) for node in nodes], True))
    throttled = [_throttled(node) for node in nodes]
    if set(throttled) - {UNKNOWN}:
        columns.append(Column("throttled", throttled, True))
    console.table(columns)
    for machine in run.get("machines") or []:
        console.text(_machine(machine))
    if run.get("error"):
        console.text(f"the run failed: {run['error']}")
    warn(run.get("warnings") or [])


def _machine(machine: MachineLoad) -> str:
    """The load of a machine in a line."""
    cores, span, cpu_s = machine["cores"], machine["span_s"], machine["cpu_s"]
    where = "this run's machine" if machine["host"] == "local" else machine["host"]
    facts = []
    if cores and span and cpu_s is not None:
        facts.append(f"{cpu_s / (cores * span):.0%} of {cores} cores used")
        facts.append(f"all of them for {_time(machine['full_s'])}")
    for name, key in TIMES:
        if machine[key] is not None:
            facts.append(f"{name} {_time(machine[key])}")
    if machine["memory_bytes"] and machine["memory_peak_bytes"]:
        peak = short(machine["memory_peak_bytes"], "B")
        facts.append(f"at most {peak} of {short(machine['memory_bytes'], 'B')} of memory in use")
    return f"{where}: {', '.join(facts) or 'its load was not recorded'}"


def _time(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else duration(seconds)


def _cpu(node: RunNode) -> str:
    totals = node.get("totals")
    return UNKNOWN if totals is None else _time(totals["cpu_s"])


def _throttled(node: RunNode) -> str:
    load = node.get("load")
    return UNKNOWN if load is None else _time(load["throttled_s"])


def _bytes(node: RunNode, key: _Bytes) -> str:
    totals = node.get("totals")
    amount = None if totals is None else totals[key]
    return UNKNOWN if amount is None else short(amount, "B")
