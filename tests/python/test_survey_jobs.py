"""Surveys of several jobs: which traces are a job, and their mean."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

import gordon
import sadf
from gordon.run.inputs import expand
from gordon.survey import jobs_page as report
from gordon.survey.table6 import MODELS
from spaces import GRID, MACHINES, without
from surveyed import mean_of_grids, mean_of_machines, of_grid
from test_run import SECOND, made_run

from conftest import Run, raises


def job(out: Path, trace: str, id: str) -> Path:
    """A run of the job `id` on one node."""
    made_run(out, trace, [0])
    run = json.loads((out / "run.json").read_text())
    run["job"] = {"id": id}
    (out / "run.json").write_text(json.dumps(run))
    return out


@pytest.fixture
def jobs(tmp_path: Path, trace: str) -> Path:
    """A folder with runs of two jobs. One has two nodes, which are a tenth of a second apart."""
    folder = tmp_path / "runs"
    folder.mkdir()
    job(folder / "grep", trace, "grep-simple")
    made_run(folder / "other", trace, [0, 7 * SECOND])
    return folder


@pytest.fixture
def space(tmp_path: Path) -> str:
    path = tmp_path / "own.toml"
    path.write_text(GRID)
    return str(path)


def test_run_folders_and_folders_of_them_are_jobs(tmp_path: Path, trace: str, jobs: Path) -> None:
    assert [given.name for given in expand([jobs])] == ["grep-simple", "other"]
    assert [given.name for given in expand([jobs / "other", jobs / "grep"])] == [
        "other",
        "grep-simple",
    ]
    assert [given.name for given in expand([jobs / "grep"])] == ["grep-simple"]
    # Two runs of one job that are not repeats.
    second = job(tmp_path / "big", trace, "grep-simple")
    assert [given.name for given in expand([jobs / "grep", second])] == [
        str(jobs / "grep"),
        str(second),
    ]


def test_numbered_runs_are_repeats_of_a_job(tmp_path: Path, trace: str) -> None:
    folder = tmp_path / "sort"
    folder.mkdir()
    for number in (1, 2, 10):
        job(folder / str(number), trace, "sort")
    (given,) = expand([folder])
    assert (given.name, given.repeats, given.lags) == ("sort", 3, [0, 0, 0])
    assert [Path(path).parent.name for path in given.paths] == ["1", "2", "10"]
    # Of several runs, the stages of one are not those of the others.
    assert given.stages == []
    job(folder / "3", trace, "identity")
    with raises("several-jobs", "identity", "sort"):
        expand([folder])


def test_the_mean_gives_each_job_the_same_weight(jobs: Path, space: str) -> None:
    found = mean_of_grids(gordon.survey.run(jobs, space=space, nodes=4, model="paper"))
    alone = [
        of_grid(gordon.survey.run(jobs / name, space=space, nodes=4, model="paper"))
        for name in ("grep", "other")
    ]
    assert list(found["jobs"]) == ["grep-simple", "other"]
    for of_job, plain in zip(found["jobs"].values(), alone, strict=True):
        assert of_job["designs"] == plain["designs"]
        assert of_job["named"] == plain["named"]
    bases = [plain["baseline"]["sync"]["time_s"] for plain in alone]
    for model in MODELS:
        of: list[dict[str, Any]] = [{**plain["baseline"][model]} for plain in alone]
        means: dict[str, Any] = {**found["baseline"][model]}
        assert means == {key: pytest.approx(fmean(each[key] for each in of)) for key in of[0]}
        (base,) = [row for row in found["designs"] if row["id"] == found["baseline"]["id"]]
        assert base[model]["time_s"] == pytest.approx(found["baseline"][model]["time_s"])
        assert base[model]["energy_j"] == pytest.approx(found["baseline"][model]["energy_j"])
    for at, design in enumerate(found["designs"]):
        rows = [plain["designs"][at] for plain in alone]
        relative = fmean(row["relative"]["time"] for row in rows)
        assert design["relative"]["time"] == pytest.approx(relative)
        assert design["sync"]["time_s"] == pytest.approx(relative * fmean(bases))
        powers = [row["sync"]["node_power_w"] for row in rows]
        assert design["sync"]["node_power_w"] == pytest.approx(fmean(powers))
        assert sum(design["limits"].values()) == pytest.approx(
            fmean(sum(row["limits"].values()) for row in rows)
        )
        parts = sum(design["energy_by_part_j"].values())
        assert parts == pytest.approx(design["sync"]["energy_j"])
        if design["flash"]:
            used = sum(row["flash"]["endurance_used"] for row in rows if row["flash"])
            assert design["flash"]["endurance_used"] == pytest.approx(used)
            seconds = sum(row["sync"]["time_s"] for row in rows)
            years = seconds / used / (365.25 * 86400)
            assert design["flash"]["lifetime_years"] == pytest.approx(years)
    for other in found["sensitivity"]["alternatives"]:
        for name, figures in other["named"].items():
            (row,) = [row for row in found["designs"] if row["id"] == found["named"][name]]
            scaled = row["sync"]["energy_j"] * other["energy_factor"]
            assert figures["energy_j"] == pytest.approx(scaled)


def test_the_mean_has_a_front_and_names(jobs: Path) -> None:
    found = mean_of_grids(gordon.survey.run(jobs, space="gordon-2009", nodes=4))
    designs = {design["id"]: design for design in found["designs"]}
    times = [designs[id]["sync"]["time_s"] for id in found["front"]]
    energies = [designs[id]["sync"]["energy_j"] for id in found["front"]]
    assert times == sorted(times)
    assert energies == sorted(energies, reverse=True)
    for design in designs.values():
        is_beaten = any(
            time <= design["sync"]["time_s"] and energy < design["sync"]["energy_j"]
            for time, energy in zip(times, energies, strict=True)
        )
        assert design["pareto"] != is_beaten
    assert found["named"]["MinT"] == found["front"][0]
    assert found["named"]["MaxE"] == found["front"][-1]
    by_power = min(designs.values(), key=lambda design: design["sync"]["node_power_w"])
    assert found["named"]["MinP"] == by_power["id"]
    assert "disk" in str(found["named"]["MaxE-disk"])
    assert found["table6"] is not None
    assert {row["design"] for row in found["table6"]["rows"]} >= set(found["front"])
    assert len(found["designs"]) == len(found["jobs"]["other"]["designs"]) == 84


def test_a_warning_about_traces_is_given_once_for_all_jobs(run: Run, jobs: Path) -> None:
    ran = run("survey", str(jobs), "--space", "gordon-2009", "--nodes", "4")
    estimated = [line for line in ran.err.splitlines() if "instructions are not counted" in line]
    # The other job has two traces.
    (line,) = estimated
    assert line.startswith("warning: all 3 traces: "), line


def test_rows_are_limited_in_the_mean_and_in_each_job(jobs: Path) -> None:
    found = mean_of_grids(gordon.survey.run(jobs, space="gordon-2009", nodes=4, rows=0))
    kept = {*found["front"], *found["named"].values(), found["baseline"]["id"]}
    assert found["table6"] is not None
    kept |= {row["design"] for row in found["table6"]["rows"]}
    assert "Table 6" in report.render(found)
    assert {design["id"] for design in found["designs"]} == kept
    for of_job in found["jobs"].values():
        own = {*of_job["front"], *of_job["named"].values()}
        assert {design["id"] for design in of_job["designs"]} == kept | own


def test_the_mean_over_machines_is_of_seconds_and_prices(jobs: Path, tmp_path: Path) -> None:
    space = tmp_path / "machines.toml"
    space.write_text(MACHINES)
    found = mean_of_machines(gordon.survey.run([jobs / "grep", jobs / "other"], space=str(space)))
    rows = [{row["id"]: row for row in of["designs"]} for of in found["jobs"].values()]
    assert "by" not in found
    for design in found["designs"]:
        of: list[dict[str, Any]] = [{**row[design["id"]]["job"]} for row in rows]
        mean: dict[str, Any] = {**design["job"]}
        for key in ("time_s", "time_s_low", "time_s_high", "price", "price_high", "energy_j"):
            assert mean[key] == pytest.approx(fmean(each[key] for each in of))
    # Names go by the upper ends of the ranges.
    best = min(found["designs"], key=lambda design: design["job"]["time_s_high"])
    assert found["named"]["fastest"] == best["id"]
    assert list(found["named"]) == list(found["jobs"]["other"]["named"])
    jobs_of: dict[str, Any] = {design["id"]: design["job"] for design in found["designs"]}
    for name, key in (("cheapest", "price_high"), ("least-energy", "energy_j")):
        assert found["named"][name] == min(jobs_of, key=lambda id: jobs_of[id][key])
    assert best["pareto"]


def test_a_machine_too_small_for_the_jobs_has_no_name_in_the_mean(
    jobs: Path, tmp_path: Path
) -> None:
    space = tmp_path / "machines.toml"
    space.write_text(MACHINES.replace('memory = "16GiB"', 'memory = "1MiB"'))
    found = mean_of_machines(gordon.survey.run([jobs / "grep", jobs / "other"], space=str(space)))
    fits = {design["id"]: design["memory_fits"] for design in found["designs"]}
    assert fits == {"small": False, "large": True, "worse": True}
    assert set(found["named"].values()) <= {"large", "worse"}
    assert "small" not in found["front"]


def test_a_machine_that_may_be_too_small_for_a_job_has_no_name_in_the_mean(
    run: Run, jobs: Path, tmp_path: Path
) -> None:
    samples = [sadf.second(n) for n in range(10)]
    unknown = [{k: v for k, v in sample.items() if k != "memory"} for sample in samples]
    for name, seconds in (("known", samples), ("unknown", unknown)):
        (tmp_path / f"{name}.json").write_text(sadf.day(seconds, "db1"))
        converted = str(tmp_path / f"{name}.trace")
        words = ("trace", "convert", str(tmp_path / f"{name}.json"), converted)
        assert run(*words, "--format", "sysstat").status == 0
        job(jobs / name, converted, name)
    space = tmp_path / "machines.toml"
    space.write_text(MACHINES.replace('memory = "16GiB"', 'memory = "270MiB"'))
    found = mean_of_machines(
        gordon.survey.run([jobs / "known", jobs / "unknown"], space=str(space))
    )
    fits = {
        name: [design["memory_fits"] for design in of["designs"]]
        for name, of in found["jobs"].items()
    }
    assert fits == {"known": [None, True, True], "unknown": [None, None, None]}
    # Nothing is known of the second job, so that the first one decides.
    assert [design["memory_fits"] for design in found["designs"]] == [None, None, None]
    assert set(found["named"].values()) == {"large"}
    assert found["front"] == ["large"]
    sizes = [(d["memory_bytes"], d["network_bytes_per_s"]) for d in found["designs"]]
    assert sizes[0] == (270 << 20, 1.25e9)
    # These traces have no CPU time of a command, unlike that of `gordon trace`.
    assert found["charge"] == "machine"
    mixed = mean_of_machines(gordon.survey.run([jobs / "known", jobs / "grep"], space=str(space)))
    assert [of["charge"] for of in mixed["jobs"].values()] == ["machine", "command"]
    assert mixed["charge"] == "auto"


def test_the_mean_over_machines_has_only_columns_that_are_known(
    run: Run, jobs: Path, tmp_path: Path
) -> None:
    space = tmp_path / "machines.toml"
    for left_out, shown in ((("price",), "energy, J"), (("idle", "active"), "price, USD")):
        space.write_text(without(MACHINES, *left_out))
        ran = run("survey", str(jobs), "--space", str(space))
        (title,) = [line for line in ran.out.splitlines() if line.startswith("  machine")]
        both = {"energy, J", "price, USD"}
        assert {name for name in both if name in title} == {shown}


def test_a_space_without_disks_within_the_budget_has_a_report(jobs: Path) -> None:
    found = mean_of_grids(gordon.survey.run(jobs, space="gordon-2009", set="budget=15W"))
    assert found["named"]["MaxE-disk"] is None
    assert str(found["named"]["MaxE"]) in report.render(found)


def test_all_jobs_have_a_cluster_of_the_same_size(jobs: Path) -> None:
    found = mean_of_grids(gordon.survey.run(jobs, space="gordon-2009"))
    # One job has a trace, the other two: 32 is the number for one trace.
    assert found["nodes"] == 32
    assert {result["nodes"] for result in found["jobs"].values()} == {32}


def test_a_run_that_is_given_twice_is_refused(jobs: Path) -> None:
    for given in ([jobs / "grep", jobs / "grep"], [jobs, jobs / "other"]):
        with raises("same-run", "runs/"):
            expand(given)


def test_what_is_wrong_with_a_run_is_a_warning(jobs: Path, trace: str) -> None:
    run = json.loads((jobs / "other/run.json").read_text())
    run["error"] = "out of luck"
    run["nodes"][1]["status"] = "lost"
    (jobs / "other/run.json").write_text(json.dumps(run))
    made_run(jobs / "half", trace, [0])
    (jobs / "half/run.json").unlink()
    found = mean_of_grids(gordon.survey.run(jobs, space="gordon-2009", nodes=4))
    for words in (("failed", "out of luck"), ("lost node-2",), ("half", "no run.json")):
        assert any(all(word in text for word in words) for text in found["warnings"]), words
    run["nodes"] = []
    (jobs / "other/run.json").write_text(json.dumps(run))
    with raises("missing-trace", "other"):
        gordon.survey.run(jobs, space="gordon-2009")


def test_repeats_have_no_stages(tmp_path: Path, trace: str) -> None:
    (tmp_path / "sort").mkdir()
    for number in (1, 2):
        job(tmp_path / "sort" / str(number), trace, "sort")
    with raises("no-stages", "repeats"):
        gordon.survey.run(tmp_path / "sort", space="gordon-2009", model="stages")


def test_a_space_that_is_too_large_for_a_mean_is_refused_after_one_job(
    jobs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gordon.survey.jobs.MOST", 80)
    with raises("too-many-designs", "84"):
        gordon.survey.run(jobs, space="gordon-2009")


def test_a_table_and_a_file_of_stages_are_for_one_job(jobs: Path, tmp_path: Path) -> None:
    stages = tmp_path / "stages.json"
    stages.write_text('{"stages": [{"name": "map", "start_s": 0, "end_s": 2}]}')
    for option in ({"table": tmp_path / "t.parquet"}, {"stages": stages}):
        with raises("several-jobs", "2 jobs"):
            mean_of_grids(gordon.survey.run(jobs, space="gordon-2009", **option))  # type: ignore[arg-type]


@pytest.mark.parametrize("machines", [False, True])
def test_the_command_shows_each_job_and_the_mean(
    run: Run, jobs: Path, tmp_path: Path, machines: bool
) -> None:
    space = "gordon-2009"
    if machines:
        space = str(tmp_path / "machines.toml")
        Path(space).write_text(MACHINES)
    page = tmp_path / "jobs.html"
    given = [str(jobs / "grep"), str(jobs / "other")]
    ran = run("survey", *given, "--space", space, "-o", str(page))
    assert ran.status == 0, ran.err
    assert "2 jobs surveyed" in ran.out
    assert "grep-simple" in ran.out
    assert "the mean" in ran.out
    text = page.read_text()
    assert "grep-simple" in text
    assert ("Table 6" in text) != machines


def test_traces_or_bundled_is_given_but_not_both(run: Run, trace: str) -> None:
    assert run("survey").status == 2
    assert run("survey", trace, "--bundled").status == 2
