"""Whether a machine had cores and memory left for its nodes, and how many cores nodes may have."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import gordon
from gordon import _core
from gordon.reports.trace import MachineUse
from gordon.run import folder, load, quotas
from gordon.run.report import NodeLoad
from test_run import made_run

from conftest import raises

SECOND = 10**9


def reply(**given: Any) -> Any:
    """The report of an agent on a machine with nothing to complain about, in a run of 100 s."""
    idle = dict.fromkeys(MachineUse.__annotations__, 0)
    levels = {"cores": 2, "memory_bytes": 1000, "memory_peak_bytes": 500}
    return idle | levels | {"span_ns": 100 * SECOND, "cpu_ns": 50 * SECOND} | given


def judged(*, is_shared: bool = True, **given: Any) -> list[str]:
    machine = load.of_machine("local", reply(**given))
    return load.judge([machine], {"local"} if is_shared else set())


def test_a_machine_with_cores_and_memory_left_is_no_warning() -> None:
    assert judged() == []
    assert judged(full_ns=5 * SECOND, steal_ns=10 * SECOND, throttled_ns=10 * SECOND) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"full_ns": 6 * SECOND}, ("all 2 cores", "6 s of 100 s (6%)", "--cores")),
        ({"steal_ns": 11 * SECOND}, ("hypervisor", "11 s of 200 s")),
        ({"throttled_ns": 11 * SECOND}, ("quota", "11 s of 200 s")),
        ({"psi_memory_some_ns": 11 * SECOND}, ("waited for memory", "11%")),
        ({"memory_peak_bytes": 960}, ("96% of the memory",)),
    ],
)
def test_a_machine_that_had_nothing_left_is_a_warning(
    given: dict[str, Any], words: tuple[str, ...]
) -> None:
    (warning,) = judged(**given)
    for word in words:
        assert word in warning


def test_a_machine_that_is_a_node_of_its_own_may_use_all_of_its_cores() -> None:
    assert judged(is_shared=False, full_ns=100 * SECOND) == []


def test_what_an_agent_does_not_count_is_unknown_and_not_zero() -> None:
    machine = load.of_machine("a", reply(throttled_ns=None, psi_memory_some_ns=None))
    assert machine["cpu_s"] == 50.0
    assert machine["throttled_s"] is machine["psi_memory_some_s"] is None
    assert load.judge([machine], {"a"}) == []


def test_the_load_of_a_node_is_the_sum_over_its_trace(trace: str) -> None:
    summary = json.loads(_core.trace_summary(trace))
    found: Any = load.of_node(summary)
    for name in NodeLoad.__annotations__:
        column = f"{name.removesuffix('_s')}_ns"
        if summary["kinds"].get(column) == "missing":
            assert found[name] is None
        else:
            assert found[name] == pytest.approx(sum(summary["samples"][name]))
    summary["kinds"]["throttled_ns"] = "missing"
    assert load.of_node(summary)["throttled_s"] is None


@pytest.mark.parametrize(("count", "machine"), [(1, 2), (4, 2), (3, 16), (160, 2)])
def test_nodes_have_80_percent_of_the_cores_together(count: int, machine: int) -> None:
    each, warnings = quotas.cores_of(count, None, machine)
    assert each * count == pytest.approx(0.8 * machine)
    assert warnings == []


@pytest.mark.parametrize(("count", "cores"), [(4, 0.4), (2, 0.8), (1, 0.2), (8, 0.2), (1, 1.6)])
def test_cores_that_leave_the_driver_a_fifth_are_no_warning(count: int, cores: float) -> None:
    assert quotas.cores_of(count, cores, 2) == (cores, [])


def test_cores_that_leave_the_driver_less_are_a_warning() -> None:
    each, (warning,) = quotas.cores_of(2, 1.0, 2)
    assert each == 1.0
    assert "0.8 for each node" in warning


@pytest.mark.parametrize(("count", "cores"), [(4, 0.8), (1, 2.1), (1, 0), (1, -1), (1, 0.001)])
def test_cores_that_the_machine_does_not_have_are_refused(count: int, cores: float) -> None:
    with raises("out-of-range", f"{cores:g}"):
        quotas.cores_of(count, cores, 2)


def test_the_driver_of_a_run_is_not_one_more_worker_of_its_survey(
    tmp_path: Path, trace: str
) -> None:
    without = made_run(tmp_path / "without", trace, [0, 0])
    driven = made_run(tmp_path / "driven", trace, [0, 0, 0])
    run = json.loads((driven / "run.json").read_text())
    shutil.move(driven / "node-3", driven / "driver")
    run["nodes"][2] |= {"name": "driver", "folder": "driver", "role": "driver"}
    (driven / "run.json").write_text(json.dumps(run))
    assert [node["name"] for node in folder.workers(run)] == ["node-1", "node-2"]
    driver = folder.driver(run)
    assert driver is not None
    assert driver["name"] == "driver"
    results = [gordon.survey.run(each, space="gordon-2009") for each in (without, driven)]
    assert results[0]["designs"] == results[1]["designs"]
    # A run without the trace of its driver has the traces of all workers.
    run["nodes"][2]["status"] = "missing"
    (driven / "run.json").write_text(json.dumps(run))
    shutil.rmtree(driven / "driver")
    assert gordon.survey.run(driven, space="gordon-2009")["nodes"] == 2
