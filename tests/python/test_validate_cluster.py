"""The page of predicted and measured times of local nodes, of made-up results; kept runs."""

from __future__ import annotations

import gzip
import importlib
import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gordon import bundled, survey

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts/validation"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("validate_cluster")
    sys.modules.pop("validate_cluster", None)


def predicted(time: float, low: float, high: float) -> dict[str, float]:
    return {"time_s": time, "time_s_low": low, "time_s_high": high}


def results() -> dict[str, Any]:
    """One job on two configurations: 10 s on one, 20 s on the other."""
    recorded = {
        "driver_s": 2.0,
        "startup_s": 0.0,
        "time_s": 10.0,
        "stages": [{"longest_s": 3.0, "median_s": 2.0, "tasks": 8}],
    }
    fast = {"1 x 0.4": predicted(25.0, 18.0, 30.0), "2 x 0.4": predicted(10.0, 9.0, 11.0)}
    slow = {"1 x 0.4": predicted(20.0, 19.0, 21.0), "2 x 0.4": predicted(5.0, 4.0, 6.0)}
    of = {"2 x 0.4": (10.0, fast), "1 x 0.4": (20.0, slow)}
    return {
        "version": "0",
        "runs": 1,
        "sizes": {"sort": "1MB"},
        "clusters": list(of),
        "jobs": {
            "sort": {
                name: {
                    "runs": [{"start_s": 0.0}],
                    "run_s": [secs],
                    "log_s": [secs],
                    "run": [made | {"recorded": recorded}],
                    "log": [{}],
                    "traces": [{}],
                }
                for name, (secs, made) in of.items()
            }
        },
    }


def test_errors_and_ranges_are_those_of_other_configurations(script: Any) -> None:
    found = script.pairs(results(), "run")
    assert [(pair["source"], pair["target"]) for pair in found] == [
        ("2 x 0.4", "1 x 0.4"),
        ("1 x 0.4", "2 x 0.4"),
    ]
    assert [script.error(pair["time"], pair["measured"]) for pair in found] == [25.0, 50.0]
    assert script.linear(found[0]) == 20.0
    # 2 s of the driver stay, the other 8 s double.
    assert script.amdahl(found[0]) == 18.0
    # 8 tasks of 2 s on one slot, and the driver.
    assert script.sparklens(found[0]) == 18.0
    page = script.page(results())
    assert "| tasks | 2 | 25.0 % | 50.0 % | 50% |" in page
    assert "a run is predicted with a median error of 0.0 %, at most 0.0 %" in page
    assert "## By event logs alone" not in page


def test_a_configuration_with_several_runs_counts_as_often_as_one_with_one(script: Any) -> None:
    made = results()
    fast = made["jobs"]["sort"]["2 x 0.4"]
    worse = predicted(40.0, 39.0, 41.0)
    fast["run"] += [{**fast["run"][0], "1 x 0.4": worse}] * 2
    fast |= {key: fast[key] * 3 for key in ("runs", "run_s", "log_s", "log", "traces")}
    found = script.pairs(made, "run")
    assert sum(pair["weight"] for pair in found if pair["source"] == "2 x 0.4") == pytest.approx(1)
    # 25 % once and 100 % twice from the fast configuration, 50 % from the other.
    assert [script.error_at(found, share, script.predicted_time) for share in (0.6, 0.7)] == [
        50,
        100,
    ]
    assert script.inside(found) == pytest.approx(1 / 6)
    assert "| tasks | 2 | 50.0 % | 100.0 % | 17% |" in script.page(made)


def test_runs_of_different_series_are_compared_apart(script: Any) -> None:
    """Both configurations ran again after a day, on a machine that took twice as long."""
    made = results()
    for of in made["jobs"]["sort"].values():
        of["runs"].append({"start_s": 86400.0})
        of["run_s"].append(2 * of["run_s"][0])
        of |= {key: of[key] * 2 for key in ("run", "log_s", "log", "traces")}
    found = script.pairs(made, "run")
    times = {
        (pair["source"], pair["number"]): (pair["recorded"], pair["measured"]) for pair in found
    }
    assert times == {
        ("2 x 0.4", 0): (10.0, 20.0),
        ("2 x 0.4", 1): (20.0, 40.0),
        ("1 x 0.4", 0): (20.0, 10.0),
        ("1 x 0.4", 1): (40.0, 20.0),
    }
    across = script.pairs(made, "run", is_same_series=False)
    assert {pair["measured"] for pair in across if pair["source"] == "2 x 0.4"} == {20.0, 40.0}
    assert sum(pair["weight"] for pair in across) == sum(pair["weight"] for pair in found) == 2
    assert "Across series: 2 pairs" in script.page(made)
    assert "Across series" not in script.page(results())


def test_the_order_of_times_that_are_apart_is_compared(script: Any) -> None:
    def pair(measured: float, time: float) -> dict[str, Any]:
        of = {"job": "sort", "source": "a", "number": 0}
        return {**of, "measured": measured, "time": time}

    assert script.ordered([pair(10, 9), pair(20, 8), pair(10.5, 30)]) == (0, 2)
    assert script.ordered([pair(10, 9), pair(20, 18)]) == (1, 1)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.syspath_prepend(str(SCRIPTS))
    yield importlib.import_module("cluster_runs")
    sys.modules.pop("cluster_runs", None)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run with an event log that names the machine."""
    made = tmp_path / "run"
    shutil.copytree(bundled.FOLDER / "sort/1", made)
    log = made / "eventlog/app-1"
    log.parent.mkdir()
    text = gzip.decompress((bundled.FOLDER / "spark-sort.gz").read_bytes()).decode()
    log.write_text(text.replace("node-1", "10.77.0.2"))
    return made


def test_a_kept_run_has_no_name_of_the_machine_and_gives_the_same_predictions(
    runs: Any, run: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    runs.keep(run, kept)
    log = gzip.decompress((kept / runs.LOG).read_bytes()).decode()
    assert "10.77.0.2" in (run / "eventlog/app-1").read_text()
    assert "10.77.0.2" not in log
    assert not {"command", "data", "output"} & set(json.loads((kept / "run.json").read_text()))
    one, other = (
        survey.run(log, space="ec2", nodes=[2], reference="m5.large", model="tasks")
        for log in (run / "eventlog/app-1", kept / runs.LOG)
    )
    assert one["designs"] == other["designs"]


def test_an_archive_has_the_runs_and_is_the_same_of_the_same_runs(
    runs: Any, run: Path, tmp_path: Path
) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    for name in ("sort-1x1-0", "sort-1x1-1"):
        runs.keep(run, kept / name)
    archives = [tmp_path / f"{name}.tar.xz" for name in "ab"]
    for archive in archives:
        runs.pack(list(kept.iterdir()), archive)
    assert archives[0].read_bytes() == archives[1].read_bytes()
    runs.unpack(archives[0], tmp_path / "read")

    def files(folder: Path) -> dict[str, bytes]:
        paths = (path for path in folder.rglob("*") if path.is_file())
        return {str(path.relative_to(folder)): path.read_bytes() for path in paths}

    assert files(tmp_path / "read") == files(kept)


def test_output_in_memory_is_written_at_the_rate_of_the_disks(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nodes without a limit wrote 500 MB back within a second after the last stage. Two disks of
    20 MB/s take 12.5 s for them."""
    monkeypatch.setattr(script, "KEPT", tmp_path)
    shutil.unpack_archive(script.archive_of("randomwriter"), tmp_path)
    unlimited, limited = script.Cluster(2, 0.4), script.Cluster(2, 0.4, disk="20MB")
    run = script.read("randomwriter", unlimited)[0]
    measured = [one["run_s"] for one in script.read("randomwriter", limited)]
    found = script.predict(run, unlimited, script.space(tmp_path / "space.toml"), "run")
    slow = found[limited.name]
    assert slow["time_s"] > found[unlimited.name]["time_s"] + 10
    assert all(slow["time_s_low"] < secs < slow["time_s_high"] for secs in measured)
    assert all(abs(slow["time_s"] / secs - 1) < 0.15 for secs in measured)


def test_nodes_of_a_full_machine_may_have_waited_for_cores(
    script: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "KEPT", tmp_path)
    shutil.unpack_archive(script.archive_of("sort"), tmp_path)
    nodes = script.Cluster(2, 0.8)
    run = script.read("sort", nodes)[0]
    file = Path(run["folder"]) / "run.json"
    made = json.loads(file.read_text())
    (machine,) = made["machines"]
    found = {}
    for full_s in (0.0, machine["span_s"] / 2, machine["span_s"]):
        machine["full_s"] = full_s
        file.write_text(json.dumps(made))
        space = script.space(tmp_path / "space.toml")
        found[full_s] = script.predict(run, nodes, space, "run")[nodes.name]
    none, half, full = found.values()
    assert none["time_s"] == half["time_s"] == full["time_s"]
    assert none["time_s_high"] == half["time_s_high"] == full["time_s_high"]
    assert none["time_s_low"] > half["time_s_low"] > full["time_s_low"]
    assert "contention" not in none["range_by_s"]
    less = [row["time_s"] - row["range_by_s"]["contention"][0] for row in (half, full)]
    assert less[1] == pytest.approx(2 * less[0])
    assert full["range_by_s"]["contention"][1] == full["time_s"]
