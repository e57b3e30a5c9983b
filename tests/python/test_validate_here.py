"""The validation on this machine: figures and page of recorded results, without devices."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import pairwise
from math import log
from pathlib import Path
from typing import Any

import pytest

import validate_here as here
import validation_page

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/validation/validate_here.py"

Json = dict[str, Any]

#: Predicted seconds of each job on one core, flash and disk, and those that were measured.
TIMES = {
    "sort": ((8.0, 9.0, 20.0), (10.0, 9.0, 16.0)),
    "compress": ((20.0, 11.0, 12.0), (20.0, 10.0, 10.0)),
    "scan": ((1.0, 3.0, 6.0), (1.0, 2.0, 6.3)),
}


def run_of(seconds: float) -> Json:
    counts = {"busy_s": 1.0, "read_bytes": 6e8, "written_bytes": 2e8}
    return {"time_s": seconds, "cpu_s": 2.0, "other_cpu_s": 0.5} | counts


def target_of(predicted: float, measured: float) -> Json:
    bounds = {"time_s_low": predicted * 0.95, "time_s_high": predicted * 1.3}
    runs = [run_of(measured * factor) for factor in (1.04, 1.0, 0.98)]
    limits = {"cpu": 0.25, "storage": 0.75}
    return {"predicted": {"time_s": predicted, "limits": limits} | bounds, "runs": runs}


@pytest.fixture
def results() -> Json:
    trace = {"time_s": 6.0, "cpu_s": 5.0, "read_bytes": 6e8, "written_bytes": 2e8}
    jobs = {
        name: {
            "command": f"{name} records.txt",
            "trace": trace | {"memory_bytes": 1.2e9},
            "here": [run_of(6.0)],
            "targets": {
                target: target_of(*pair)
                for target, pair in zip(
                    validation_page.TARGETS, zip(*times, strict=True), strict=True
                )
            },
            "half": target_of(6.0, 9.0) | {"memory_bytes": 6e8},
        }
        for name, times in TIMES.items()
    }
    machine = {"cpu": "a CPU", "cores": 2, "memory_bytes": 8e9, "kernel": "6.1", "disk": "vda"}
    return {
        "machine": machine | {"read_ahead_bytes": 8 << 20, "load": 0.1},
        "versions": {"sort": "9.1"},
        "seed": 1,
        "records": 6_000_000,
        "input_bytes": 600_000_000,
        "jobs": jobs,
    }


def test_an_error_is_relative_to_the_median_of_the_runs() -> None:
    one = validation_page.case("scan", "flash", target_of(3.0, 2.0))
    assert one.median == 2.0
    assert one.error == pytest.approx(50.0)
    assert (one.low, one.high) == pytest.approx((2.85, 3.9))


def test_bars_count_all_nine_cases(results: Json) -> None:
    of = validation_page.cases(results)
    assert len(of) == 9
    (_, median, median_met), (_, above, above_met), (_, wrong, order_met) = validation_page.verdict(
        of
    )
    # In order: 0, 0, 0, 4.8, 10, 20, 20, 25, 50.
    assert (median, median_met) == ("10.0 %", True)
    assert (above, above_met) == ("1", True)
    assert (wrong, order_met) == ("sort", False)


def test_a_second_case_above_the_largest_error_misses_its_bar(results: Json) -> None:
    results["jobs"]["scan"]["targets"]["disk"] = target_of(6.0, 2.5)
    _, (_, above, met), _ = validation_page.verdict(validation_page.cases(results))
    assert (above, met) == ("2", False)


def test_targets_whose_runs_overlap_have_no_order() -> None:
    fast, slow = (
        validation_page.Case("j", "a", 2.0, 2, 2, (1.0, 1.1)),
        validation_page.Case("j", "b", 1.0, 1, 1, (1.2,)),
    )
    assert validation_page.misordered([fast, slow]) == [("a", "b")]
    slow = validation_page.Case("j", "b", 1.0, 1, 1, (1.05, 1.3))
    assert validation_page.misordered([fast, slow]) == []


def test_the_page_has_every_case_and_fits_its_columns(results: Json) -> None:
    text = validation_page.page(results)
    lines = text.splitlines()
    assert "| scan | flash | 3.0 | 2.8 to 3.9 | 2.0 | 2.0 to 2.1 | +50 | no |" in lines
    assert "| scan | disk | 6.0 | 5.7 to 7.8 | 6.3 | 6.2 to 6.6 | -5 | yes |" in lines
    assert "| sort | one core, flash, disk | flash, one core, disk | no |" in lines
    assert "| scan | 0.60 | 6.0 | 9.0 | -33 | 1.50 | 0.60 | 0.20 |" in lines
    assert "- median error under 15 %: 10.0 %; met" in lines
    assert "seed 1" in text
    assert all(len(line) <= 100 for line in lines if not line.startswith("|"))
    # Every row of a table has as many cells as its head.
    for above, below in pairwise(lines):
        if above.startswith("|") and below.startswith("|"):
            assert above.count("|") == below.count("|"), below


def test_recorded_results_are_printed_as_a_page(results: Json, tmp_path: Path) -> None:
    recorded = tmp_path / "results.json"
    recorded.write_text(json.dumps(results))
    command = [sys.executable, str(SCRIPT), "--page", str(recorded)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout) == (0, validation_page.page(results)), ran.stderr


def test_a_machine_without_the_programs_is_skipped_by_name(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "--work", str(tmp_path / "work")]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=60, env={"PATH": str(tmp_path)}
    )
    assert ran.returncode == 0, ran.stderr
    assert "skipped: not on this machine: " in ran.stdout
    assert "nbdfuse" in ran.stdout
    assert not (tmp_path / "work").exists()


def test_a_busy_machine_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(here, "lacks", list)
    monkeypatch.setattr(os, "getloadavg", lambda: (3.0, 3.0, 3.0))
    monkeypatch.setattr(sys, "argv", ["validate_here.py", "--work", str(tmp_path / "work")])
    with pytest.raises(SystemExit, match=r"the load average is 3\.00"):
        here.main()
    assert not (tmp_path / "work").exists()


def test_every_target_is_predicted_from_one_trace(trace: str, tmp_path: Path) -> None:
    (tmp_path / "here.toml").write_text(here.SPACE)
    found = here.surveys(Path(trace), tmp_path / "here.toml", "machine")
    assert set(found) == {"as traced", *validation_page.TARGETS}
    traced, one = found["as traced"], found["one core"]
    # Runs differ. The range also covers what other programs took of this machine, if they did: the
    # job waited for cores, and how much of that time it waited for write-back is not known.
    sources = set(traced["range_by_s"])
    assert "runs" in sources
    assert sources <= ({"runs", "waiting", "storage"} if "waiting" in sources else {"runs"})
    for bound in ("time_s_low", "time_s_high"):
        assert abs(log(traced[bound] / traced["time_s"])) >= 0.02 * (1 - 1e-3), bound
    # All have cores of the same known speed.
    for target in ("flash", "disk"):
        assert "speed" not in found[target]["range_by_s"]
    assert one["time_s"] >= traced["time_s"] * (1 - 1e-12)
    assert found["disk"]["time_s"] > 0
    assert found["flash"]["limits"]
