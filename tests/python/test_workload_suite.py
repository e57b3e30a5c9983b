"""Runs of all jobs, and repeats: which runs are made, and where."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import gordon.workload
from gordon import GordonError
from gordon.run import RunResult
from gordon.workload import jobs, suite

from conftest import Run, raises

_Usage = type(shutil.disk_usage("/"))


@pytest.fixture
def terabyte(monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk with 1 TB free: runs are refused for what they are, not for the disk of the tests."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(2 * 10**12, 10**12, 10**12))


def test_all_jobs_have_a_share_of_the_papers_sizes(tmp_path: Path) -> None:
    runs = gordon.workload.plan("all", tmp_path / "runs", scale=Fraction(1, 8), repeats=2, seed=5)
    assert [(run.job, run.out.name, run.seed) for run in runs] == [
        (job, str(number), 4 + number) for job in jobs.JOBS for number in (1, 2)
    ]
    sizes = {run.job: run.size for run in runs}
    assert sizes["sort"] == "125000000B"
    assert sizes["identity"] == "1875000000B"
    assert runs[2].out == tmp_path / "runs/identity/1"


def test_one_job_once_has_the_folder_itself(tmp_path: Path) -> None:
    (run,) = gordon.workload.plan("sort", tmp_path / "run", size="3MB")
    assert run == suite.Planned("sort", tmp_path / "run", "3MB", 1)
    again = gordon.workload.plan("sort", tmp_path / "run", repeats=3)
    assert [run.out for run in again] == [tmp_path / "run" / str(n) for n in (1, 2, 3)]
    assert {run.size for run in again} == {"1GB"}


def test_folders_that_exist_or_cannot_be_made_are_refused(tmp_path: Path) -> None:
    with raises("exists", str(tmp_path)):
        gordon.workload.plan("all", tmp_path)
    with raises("missing-folder", str(tmp_path / "none")):
        gordon.workload.plan("all", tmp_path / "none/runs")
    with raises("out-of-range", "scale"):
        gordon.workload.plan("all", tmp_path / "runs", scale=Fraction(-1, 8))
    with raises("unknown-name", "sork"):
        gordon.workload.plan("sork", tmp_path / "runs")


def fake(job: str, out: Path, *, size: str, seed: int, **options: Any) -> RunResult:
    """A run that fails for the job ngram."""
    if job == "ngram":
        raise GordonError("no", kind="fake")
    out.mkdir()
    if options.get("memory") == "1GiB":
        raise GordonError("its traces are kept", kind="kept")
    report: Any = {
        "job": {"id": job},
        "duration_s": 1.0,
        "nodes": [],
        "warnings": [],
        "verification": {"checks": []},
        "size": size,
        "seed": seed,
    }
    return RunResult(report)


@pytest.mark.usefixtures("terabyte")
def test_the_command_makes_the_runs_until_one_fails(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "run", fake)
    out = tmp_path / "runs"
    ran = run("workload", "run", "all", "--scale", "1/1000", "-o", str(out))
    assert (ran.status, ran.kind) == (1, "fake")
    # Complete runs are kept; the run that failed leaves no folder.
    assert sorted(path.name for path in out.iterdir()) == [
        "grep-complex", "grep-simple", "identity", "randomwriter", "sort",
    ]  # fmt: skip
    report = tmp_path / "report.json"
    ran = run("workload", "run", "sort", "--repeats", "2", "--seed", "7", "-o",
              str(tmp_path / "sort"), "--json", str(report))  # fmt: skip
    assert ran.status == 0, ran.err
    made = json.loads(report.read_text())["runs"]
    assert [(each["seed"], each["folder"]) for each in made] == [
        (7, str(tmp_path / "sort/1")),
        (8, str(tmp_path / "sort/2")),
    ]
    ran = run("workload", "run", "ngram", "--repeats", "2", "-o", str(tmp_path / "ngram"))
    assert ran.kind == "fake"
    assert not (tmp_path / "ngram").exists()


@pytest.mark.usefixtures("terabyte")
def test_the_error_of_a_run_that_is_kept_is_that_of_the_run(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "run", fake)
    ran = run("workload", "run", "sort", "--repeats", "2", "--memory", "1GiB", "--size", "1MB",
              "-o", str(tmp_path / "sort"))  # fmt: skip
    assert (ran.status, ran.kind) == (1, "kept")
    assert (tmp_path / "sort/1").exists()


@pytest.mark.usefixtures("terabyte")
@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("all", "--parameter", "n=2"), "unknown-name"),
        (("all", "--scale", "1000"), "disk-full"),
        (("sort", "--interval", "1ms"), "out-of-range"),
        (("randomwriter", "--parameter", "seed=2"), "bad-parameter"),
        (("randomwriter", "--parameter", "size=2"), "bad-parameter"),
    ],
)
def test_options_are_checked_before_the_first_run(
    run: Run, tmp_path: Path, words: tuple[str, ...], kind: str
) -> None:
    ran = run("workload", "run", *words, "-o", str(tmp_path / "runs"))
    assert (ran.status, ran.kind) == (1, kind), ran.err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "words",
    [
        ("all", "--scale", "1/0"),
        ("sort", "--memory", "much"),
        ("sort", "--size", "much"),
        ("all", "--scale", "0"),
        ("all", "--scale", "much"),
        ("sort", "--scale", "1/8", "--size", "1GB"),
        ("all", "--master", "spark://h:1", "--input", "x", "--result", "y"),
        ("sort", "--master", "spark://h:1", "--input", "x", "--result", "y", "--repeats", "2"),
    ],
)
def test_what_does_not_fit_together_is_a_usage_error(run: Run, words: tuple[str, ...]) -> None:
    assert run("workload", "run", *words, "-o", "runs").status == 2
