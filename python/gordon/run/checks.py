"""Comparisons of what the nodes of a run did with what others counted: their machines, and the
engine that ran the job.

Each comparison has one direction, because the parties do not count the same: a node has the CPU
time of everything that runs in it, an engine only that of its tasks. `docs/design/workload.md`
gives the reason of each direction.
"""

from typing import Literal

from gordon.run.folder import COMPLETE, workers
from gordon.run.report import Amount, Bound, Comparison, Reference, RunReport

#: Share by which a bound may be exceeded before it is a warning.
MUCH = 0.05
#: Bytes for each node that a bound on its disk may be exceeded by: metadata of its file system.
SLACK_BYTES = 1 << 20

#: Quantities that are compared, for messages.
QUANTITIES = {
    "cpu_s": "s of CPU time",
    "input_bytes": "bytes read from disks",
    "read_bytes": "bytes read from disks",
    "write_bytes": "bytes written to disks",
    "rx_bytes": "bytes received",
    "tx_bytes": "bytes sent",
}
#: Whose amount a comparison is with, for messages.
EXPECTED = {
    "machine": "their machines",
    "engine": "the engine's tasks",
    "corpus": "the input, which was not in the page cache",
}
#: The most that tasks read from the disks of the nodes: nothing of it is in the page cache, and all
#: shuffle data was spilled and merged before it was complete.
READS = (
    "shuffle_write_bytes",
    "input_bytes",
    "shuffle_read_local_bytes",
    "shuffle_read_remote_bytes",
    "shuffle_read_to_disk_bytes",
    "spill_disk_bytes",
)


def compare(
    report: RunReport,
    name: Amount | Literal["input_bytes"],
    bound: Bound,
    reference: tuple[Reference, float],
    *,
    of_nodes: float | None = None,
    slack: float = 0.0,
) -> None:
    """Adds a comparison to `totals.checks` of a run, and a warning if it fails.

    The nodes must have `bound` the amount of the `reference`, within 5 %; its first part names it:
    `machine`, `engine`, or `corpus`. `of_nodes` is `totals.nodes[name]` unless it is given, as it
    is for `input_bytes`. `slack` is added to the bound."""
    label, expected = reference
    totals = report["totals"]
    nodes = of_nodes if name == "input_bytes" or of_nodes is not None else totals["nodes"][name]
    assert nodes is not None
    if bound == "at least":
        passed = nodes + slack >= expected * (1 - MUCH)
    else:
        passed = nodes - slack <= expected * (1 + MUCH)
    made: Comparison = {
        "name": name,
        "with": label,
        "bound": bound,
        "nodes": nodes,
        "ratio": nodes / expected if expected > 0 else None,
        "passed": passed,
    }
    made[label] = expected
    totals["checks"].append(made)
    if not passed:
        word = "less" if bound == "at least" else "more"
        report["warnings"].append(
            f"{name}: the nodes have {nodes:.4g} {QUANTITIES[name]}, {word} than the "
            f"{expected:.4g} of {EXPECTED[label]}"
        )


def compare_engine(report: RunReport, *, has_disks: bool, is_cold: bool, has_network: bool) -> None:
    """Compares the nodes of a run with the `totals.engine` of its tasks.

    `has_disks`: whether all files of the job are on disks of the nodes that nothing else uses.
    `is_cold`: whether the page cache was dropped before the job. `has_network`: whether the nodes
    have network interfaces, which all remote reads of the tasks cross. Nothing is compared if the
    trace of a node is missing."""
    nodes = workers(report)
    if any(node["totals"] is None for node in nodes) or not nodes:
        return
    engine = report["totals"]["engine"]
    count = len(nodes)
    compare(report, "cpu_s", "at least", ("engine", engine["cpu_ns"] / 1e9))
    if has_network:
        remote = engine["shuffle_read_remote_bytes"]
        compare(report, "rx_bytes", "at least", ("engine", remote))
        compare(report, "tx_bytes", "at least", ("engine", remote))
    if not has_disks:
        return
    slack = count * SLACK_BYTES
    compare(report, "write_bytes", "at least", ("engine", engine["output_bytes"]))
    # The reads of a lost executor's tasks are missing, so that the bound would be too low.
    if all(node["status"] == COMPLETE for node in nodes):
        requested = sum(engine[key] for key in READS)
        compare(report, "read_bytes", "at most", ("engine", requested), slack=slack)
    data = report.get("data")
    if is_cold and data is not None and engine["input_bytes"] >= data["bytes"]:
        read = report["totals"]["nodes"]["read_bytes"]
        compare(report, "input_bytes", "at least", ("corpus", data["bytes"]), of_nodes=read)
