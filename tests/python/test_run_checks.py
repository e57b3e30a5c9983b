"""Comparisons of the nodes of a run with their machines and with the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gordon.run import checks

MB = 10**6
#: Figures of a run of `sort` of 125 MB on four nodes.
NODES = {
    "cpu_s": 21.3,
    "read_bytes": 125.2 * MB,
    "write_bytes": 251.7 * MB,
    "rx_bytes": 94.1 * MB,
    "tx_bytes": 93.6 * MB,
}
ENGINE = {
    "cpu_ns": 10.9e9,
    "input_bytes": 250 * MB,
    "output_bytes": 125 * MB,
    "shuffle_read_local_bytes": 31 * MB,
    "shuffle_read_remote_bytes": 93 * MB,
    "shuffle_read_to_disk_bytes": 0,
    "shuffle_write_bytes": 124 * MB,
    "spill_disk_bytes": 0,
}
ALL = {
    ("cpu_s", "engine"),
    ("rx_bytes", "engine"),
    ("tx_bytes", "engine"),
    ("write_bytes", "engine"),
    ("read_bytes", "engine"),
    ("input_bytes", "corpus"),
}


def report(
    nodes: Mapping[str, float] | None = None, engine: Mapping[str, float] | None = None
) -> Any:
    return {
        "nodes": [{"status": "complete", "totals": {}} for _ in range(4)],
        "totals": {
            "nodes": {**NODES, **(nodes or {})},
            "engine": {**ENGINE, **(engine or {})},
            "checks": [],
        },
        "data": {"bytes": 125 * MB},
        "warnings": [],
    }


def compared(run: Any, **facts: bool) -> set[tuple[str, str]]:
    every = {"has_disks": True, "is_cold": True, "has_network": True}
    checks.compare_engine(run, **(every | facts))
    return {(check["name"], check["with"]) for check in run["totals"]["checks"]}


def test_a_run_whose_capture_is_whole_passes_all_comparisons() -> None:
    run = report()
    assert compared(run) == ALL
    assert run["warnings"] == []
    assert all(check["passed"] for check in run["totals"]["checks"])
    [cpu] = [check for check in run["totals"]["checks"] if check["name"] == "cpu_s"]
    assert (cpu["bound"], cpu["nodes"], cpu["engine"]) == ("at least", 21.3, 10.9)
    assert cpu["ratio"] == pytest.approx(21.3 / 10.9)


@pytest.mark.parametrize(
    ("name", "amount", "failed"),
    [
        ("cpu_s", 10.2, {"cpu_s"}),
        ("read_bytes", 118 * MB, {"input_bytes"}),
        ("read_bytes", 528 * MB, {"read_bytes"}),
        ("write_bytes", 118 * MB, {"write_bytes"}),
        ("rx_bytes", 88 * MB, {"rx_bytes"}),
        ("tx_bytes", 0, {"tx_bytes"}),
    ],
)
def test_more_than_five_percent_in_one_direction_is_one_warning(
    name: str, amount: float, failed: set[str]
) -> None:
    run = report({name: amount})
    compared(run)
    assert {check["name"] for check in run["totals"]["checks"] if not check["passed"]} == failed
    [warning] = run["warnings"]
    assert warning.partition(":")[0] in failed


def test_less_than_five_percent_is_no_warning() -> None:
    amounts = {"cpu_s": 10.4, "read_bytes": 119 * MB, "write_bytes": 119 * MB, "rx_bytes": 89 * MB}
    run = report(amounts)
    compared(run)
    assert run["warnings"] == []


def test_the_file_system_of_a_node_may_read_its_metadata() -> None:
    nothing = dict.fromkeys(checks.READS, 0)
    run = report({"read_bytes": 4 << 20}, nothing)
    compared(run)
    [reads] = [check for check in run["totals"]["checks"] if check["name"] == "read_bytes"]
    assert (reads["passed"], reads["ratio"]) == (True, None)
    run = report({"read_bytes": (4 << 20) + 1}, nothing)
    compared(run)
    assert [warning.partition(":")[0] for warning in run["warnings"]] == ["read_bytes"]


def test_what_cannot_be_compared_is_left_out() -> None:
    network = {("rx_bytes", "engine"), ("tx_bytes", "engine")}
    assert compared(report(), has_network=False) == ALL - network
    assert compared(report(), has_disks=False) == network | {("cpu_s", "engine")}
    assert compared(report(), is_cold=False) == ALL - {("input_bytes", "corpus")}
    # A job that reads a part of the input, and one without input.
    part = report(engine={"input_bytes": 100 * MB})
    assert compared(part) == ALL - {("input_bytes", "corpus")}
    writer = report()
    del writer["data"]
    assert compared(writer) == ALL - {("input_bytes", "corpus")}
    lost = report()
    lost["nodes"][1]["status"] = "lost"
    assert compared(lost) == ALL - {("read_bytes", "engine")}
    missing = report()
    missing["nodes"][1]["totals"] = None
    assert compared(missing) == set()


def test_the_nodes_are_part_of_their_machines() -> None:
    run = report()
    checks.compare(run, "cpu_s", "at most", ("machine", 29.8))
    assert run["warnings"] == []
    checks.compare(run, "cpu_s", "at most", ("machine", 20.0))
    assert [check["passed"] for check in run["totals"]["checks"]] == [True, False]
    assert len(run["warnings"]) == 1
