"""`gordon flash`: runs that other simulators break at; the same every time."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gordon import flash
from limits import PATIENCE_S

from conftest import CHANGES, SMALL, Json, Run, mqsim

# What breaks others.


def test_a_run_shorter_than_a_second(flash_report: Json, tmp_path: Path) -> None:
    report = flash_report("replay", mqsim(tmp_path / "t", (0, 0, 8, 0)), *SMALL)
    assert 0 < report["simulated_s"] < 0.001
    assert report["write"]["bandwidth_mb_s"] == pytest.approx(4096 / report["simulated_s"] / 1e6)
    assert report["lifetime_years"] is None
    assert report["endurance_used"] > 0


def test_a_write_only_trace(run: Run, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", *((i, i * 8, 8, 0) for i in range(100)))
    ran = run("flash", "replay", trace, *SMALL, "--json", str(tmp_path / "j"))
    assert ran.status == 0
    report = json.loads((tmp_path / "j").read_text())
    assert (report["read"]["requests"], report["write"]["requests"]) == (0, 100)
    assert report["read"]["latency_us"]["mean"] is None
    assert "read  " not in ran.out.split("write amplification")[0]


def test_a_trace_again_and_again(flash_report: Json, mixed: str) -> None:
    once, thrice = (
        flash_report("replay", mixed, *SMALL),
        flash_report("replay", mixed, *SMALL, "--repeat", "3"),
    )
    assert thrice["requests"] == 3 * once["requests"]
    assert thrice["simulated_s"] == pytest.approx(3 * once["simulated_s"], rel=0.1)
    assert thrice["provenance"]["trace"] == once["provenance"]["trace"]


@pytest.mark.parametrize("fraction", ["0", "0.8", "1"])
def test_preconditioning_leads_to_collection(flash_report: Json, fraction: str) -> None:
    report = flash_report(
        "bench", "--pattern", "random-write", "--size", "64KiB", "--requests", "2000",
        "--set", "capacity=1GiB", "--precondition", fraction,
    )  # fmt: skip
    assert report["write"]["requests"] == 2000
    assert (report["pages"]["gc_program"] > 0) == (fraction != "0")
    assert report["preloaded_pages"] == int(16384 * float(fraction))


def test_a_full_trace_on_a_full_device(flash_report: Json, tmp_path: Path) -> None:
    """All of the capacity is written, twice, after it was all in use."""
    rows = ((i * 1000, i % 1024 * 128, 128, 0) for i in range(2048))
    report = flash_report("replay", mqsim(tmp_path / "t", *rows), *SMALL, "--precondition", "1")
    assert report["write"]["bytes"] == 2 * 64 * 2**20
    assert report["failed_requests"] == 0


def test_time_units(flash_report: Json, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", *((i, i * 8, 8, 0) for i in range(100)))
    report = flash_report("replay", trace, *SMALL, "--time-unit", "1ms")
    assert report["simulated_s"] == pytest.approx(0.1, rel=0.02)


def test_wear_ends_the_device(run: Run, tmp_path: Path) -> None:
    ran = run(
        "flash", "bench", "--pattern", "random-write", "--size", "64KiB", "--requests", "300000",
        *SMALL, "--set", "endurance.erase_budget=20", "--json", str(tmp_path / "j"),
    )  # fmt: skip
    assert ran.status == 0
    report = json.loads((tmp_path / "j").read_text())
    assert report["worn_out"] is True
    assert report["grown_bad"] > 0
    assert 0 < report["failed_requests"] < report["requests"] == 300_000
    assert f"worn out: {report['failed_requests']:,} requests failed" in ran.out
    assert re.search(
        r"warning: the device wore out [\d.]+m?s into the run, after [\d.]+GiB", ran.err
    )


def test_a_device_worn_out_before_the_run_has_its_own_warning(
    run: Run, flash_report: Json, tmp_path: Path
) -> None:
    kept = str(tmp_path / "worn.checkpoint")
    worn = ("--size", "64KiB", *SMALL, "--set", "endurance.erase_budget=2")
    flash_report(
        "bench", "--pattern", "random-write", "--requests", "50000", *worn, "--checkpoint", kept
    )
    failed = ": 30 of 30 requests failed, and count neither in latencies nor in rates"
    for pattern, more in (("random-read", ""), ("random-write", failed)):
        load = ("--pattern", pattern, "--requests", "30", "--from-checkpoint", kept)
        ran = run("flash", "bench", *load, *worn)
        assert ran.err == f"warning: the device was worn out before the run{more}\n"


# The same every time.


def test_a_run_continues_from_a_checkpoint(run: Run, flash_report: Json, tmp_path: Path) -> None:
    kept = str(tmp_path / "aged.checkpoint")
    pattern = ("--pattern", "random-write", "--size", "64KiB", "--requests", "3000", *SMALL)
    flash_report("bench", *pattern, "--precondition", "0.9", "--checkpoint", kept)
    on = flash_report("bench", *pattern, "--from-checkpoint", kept)
    assert on["wear"]["max_erases"] > 1
    assert on["write_amplification"] > 1
    assert on["preloaded_pages"] > 0, "what was mapped is mapped"
    other = run("flash", "bench", *pattern, "--from-checkpoint", kept, "--set", "ftl.victim=fifo")
    assert other.status == 1
    assert "other parameters" in other.err
    assert "try:" in other.err
    assert [file.name for file in tmp_path.iterdir()] == ["aged.checkpoint"]


@pytest.mark.parametrize("option", ["--checkpoint", "--json", "--report", "--parquet"])
def test_a_run_is_shown_if_its_files_do_not_fit(tmp_path: Path, option: str) -> None:
    pattern = ["--pattern", "random-write", "--requests", "3000", *SMALL]
    kept = "kept.html" if option == "--report" else "kept"
    ran = subprocess.run(
        [sys.executable, "-m", "gordon", "flash", "bench", *pattern, option, kept],
        cwd=tmp_path,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    assert "3,000 requests" in ran.stdout
    assert "cannot write kept" in ran.stderr.rpartition("error: ")[2]
    assert [file for file in tmp_path.rglob("*") if file.is_file()] == []


def test_a_checkpoint_error_has_the_result_of_the_run(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(flash.CheckpointError) as failed:
            flash.bench("mixed", requests=300, set=CHANGES, checkpoint=tmp_path / "kept")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert failed.value.result.report["requests"] == 300


def test_same_seed_same_bytes(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        monkeypatch.chdir(tmp_path / folder)
        ran = run(
            "flash", "bench", "--pattern", "mixed", "--requests", "3000", *SMALL, "--precondition",
            "0.9", "--seed", "7", "--json", "j", "--report", "r.html", "--parquet", "tables",
            "--requests-out", "q.parquet",
        )  # fmt: skip
        assert ran.status == 0, ran.err
        files = sorted(p for p in Path().rglob("*") if p.is_file())
        made.append([ran.out, *((str(p), p.read_bytes()) for p in files)])
    assert made[0] == made[1]
    assert len(made[0]) == 1 + 3 + len(("series", "latency", "outstanding", "erases"))
    other = flash.bench("mixed", requests=3000, set=CHANGES, seed=8)
    same = flash.bench("mixed", requests=3000, set=CHANGES, seed=7)
    assert other.report["simulated_s"] != same.report["simulated_s"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_it_and_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    args = ["bench", "--pattern", "random-write", "--requests", str(10**12), "--requests-out", "q"]
    running = subprocess.Popen(
        [sys.executable, "-m", "gordon", "flash", *args],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not any(tmp_path.iterdir()) and running.poll() is None:
        time.sleep(0.05)
    running.send_signal(number)
    out, err = running.communicate(timeout=PATIENCE_S)
    assert (running.returncode, out, err.strip()) == (128 + number, b"", b"")
    assert list(tmp_path.iterdir()) == []
