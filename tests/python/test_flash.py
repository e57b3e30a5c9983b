"""`gordon flash` and `gordon.flash`: every command, its numbers, its errors, its files."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from gordon import GordonError, flash
from gordon.cli.flash_options import PATTERNS, POLICIES

from conftest import Run

# 64 MiB of 192: quickly worn and quickly full.
CHANGES = ["capacity=64MiB", "geometry.blocks_per_plane=12"]
SMALL = tuple(word for change in CHANGES for word in ("--set", change))
LATENCIES = {"mean", "p50", "p99", "p999", "max"}

Json = Callable[..., dict[str, Any]]


@pytest.fixture
def told(run: Run) -> Json:
    """The JSON of `gordon flash ARGS...`, which must succeed."""

    def call(*args: str) -> dict[str, Any]:
        ran = run("flash", *args, "--json", "-")
        assert ran.status == 0, ran.err
        report: dict[str, Any] = json.loads(ran.out)
        return report

    return call


def mqsim(path: Path, *rows: tuple[int, int, int, int]) -> str:
    """A trace as MQSim has it, of (time in ns, sector, sectors, 0 to write and 1 to read)."""
    lines = [f"{at} 0 {sector} {count} {way}\n" for at, sector, count, way in rows]
    path.write_text("".join(lines))
    return str(path)


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    """2000 reads and writes in 20 ms, 16 KiB each, in a MiB."""
    rows = [(i * 10_000, i * 37 % 64 * 32, 32, i % 2) for i in range(2000)]
    return mqsim(tmp_path / "mixed.trace", *rows)


def assert_keys(report: dict[str, Any]) -> None:
    """What others rely on."""
    assert {
        "requests", "simulated_s", "read", "write", "write_amplification", "erases", "pages",
        "energy_j", "lifetime_years",
    } <= set(report)  # fmt: skip
    for op in ("read", "write"):
        assert {"requests", "bytes", "bandwidth_mb_s", "latency_us"} <= set(report[op])
        assert set(report[op]["latency_us"]) >= LATENCIES
    assert {"host_read", "host_program", "gc_read", "gc_program"} <= set(report["pages"])


# Each command.


@pytest.mark.parametrize("name", flash.names())
def test_every_preset_runs(told: Json, name: str) -> None:
    args = ("bench", "--requests", "2000", "--preset", name)
    written = told(*args, "--pattern", "random-write")
    assert (written["write"]["requests"], written["failed_requests"]) == (2000, 0)
    report = told(*args, "--pattern", "mixed", "--span", "1GiB")
    assert_keys(report)
    assert report["requests"] == 2000
    assert report["read"]["requests"] + report["write"]["requests"] == 2000
    assert report["failed_requests"] == report["unmapped_reads"] == 0
    assert report["write"]["latency_us"]["p50"] > report["read"]["latency_us"]["p50"]
    assert 0 < report["energy_j"] == pytest.approx(sum(report["energy_by_part_j"].values()))


def test_presets_are_listed_and_shown(run: Run, tmp_path: Path) -> None:
    listed = run("flash", "presets").out
    for name in flash.names():
        assert name in listed
        shown = run("flash", "show", name).out
        (tmp_path / "own.toml").write_text(shown)
        assert flash.load(tmp_path / "own.toml") == flash.load(name)
    assert "256GB" in listed


def test_replay_has_the_traces_numbers(told: Json, mixed: str) -> None:
    report = told("replay", mixed, *SMALL)
    assert_keys(report)
    for op in ("read", "write"):
        assert report[op]["requests"] == 1000
        assert report[op]["bytes"] == 1000 * 16384
        latency = report[op]["latency_us"]
        assert latency["p50"] <= latency["p99"] <= latency["p999"] <= latency["max"]
        rate = report[op]["bytes"] / report["simulated_s"] / 1e6
        assert report[op]["bandwidth_mb_s"] == pytest.approx(rate)
    # The last request comes at 19.99 ms and takes some time.
    assert 0.01999 < report["simulated_s"] < 1
    assert report["unmapped_reads"] == 0
    assert report["provenance"]["trace"]["format"] == "mqsim"


def test_closed_loop_keeps_so_many_outstanding(told: Json, mixed: str) -> None:
    slow = told("replay", mixed, *SMALL, "--closed-loop", "--queue-depth", "1")
    fast = told("replay", mixed, *SMALL, "--closed-loop", "--queue-depth", "16")
    assert (slow["outstanding"]["max"], fast["outstanding"]["max"]) == (1, 16)
    assert fast["bandwidth_mb_s"] > 1.5 * slow["bandwidth_mb_s"]


def test_speed_scales_arrivals(told: Json, mixed: str) -> None:
    slow, fast = (told("replay", mixed, *SMALL, "--speed", x) for x in ("0.1", "1"))
    assert slow["simulated_s"] == pytest.approx(10 * fast["simulated_s"], rel=0.2)


def test_split_makes_more_requests_of_the_device(told: Json, mixed: str) -> None:
    report = told("replay", mixed, *SMALL, "--split", "4KiB")
    assert (report["requests"], report["device_requests"]) == (2000, 8000)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_runs(told: Json, pattern: str) -> None:
    report = told("bench", "--pattern", pattern, "--requests", "500", *SMALL)
    assert report["requests"] == 500
    reads = {"random-read": 500, "sequential-read": 500, "gordon-pair": 500}
    if pattern != "mixed":
        assert report["read"]["requests"] == reads.get(pattern, 0)
    assert report["unmapped_reads"] == 0


def test_bench_is_a_closed_loop_of_32_unless_told(told: Json) -> None:
    args = ("bench", "--pattern", "random-read", "--requests", "2000", *SMALL)
    assert told(*args)["outstanding"]["max"] == 32
    assert told(*args, "--queue-depth", "4")["outstanding"]["max"] == 4
    # A read every millisecond never waits for another.
    apart = told(*args, "--every", "1ms")
    assert apart["outstanding"]["max"] == 1
    assert apart["simulated_s"] == pytest.approx(2, rel=0.01)


def test_bench_takes_its_own_options(told: Json) -> None:
    args = ("bench", "--requests", "2000", *SMALL)
    report = told(*args, "--pattern", "mixed", "--read-share", "0", "--size", "8KiB")
    assert report["write"]["bytes"] == 2000 * 8192
    report = told(*args, "--pattern", "random-write", "--span", "128KiB", "--size", "64KiB")
    assert report["write"]["requests"] == 2000
    pair = told(*args, "--pattern", "gordon-pair", "--way", "write", "--order", "sequential")
    assert pair["write"]["bytes"] == 1000 * 131072
    queues = told(*args, "--pattern", "random-write", "--queues", "2", "--weights", "3,1")
    assert [q["weight"] for q in queues["queues"]] == [3, 1]
    for hot in ("0.05", "0.5"):
        more = ("--hot-space", hot, "--hot-share", "0.9")
        assert told(*args, "--pattern", "hot-cold", *more)["requests"] == 2000
    assert told(*args, "--pattern", "zipf", "--exponent", "1.2")["requests"] == 2000


@pytest.mark.parametrize("policy", POLICIES)
def test_wa_is_simulated_with_theory_beside_it(told: Json, policy: str) -> None:
    args = ("wa", "--policy", policy, "--rho", "0.7", "--blocks", "256", "--pages-per-block", "16")
    report = told(*args, "--seed", "3")
    pages = report["pages"]
    simulated = (pages["host_program"] + pages["gc_program"]) / pages["host_program"]
    assert report["write_amplification"] == simulated
    assert report["seed"] == 3
    if policy in ("greedy", "fifo", "random", "d-choices"):
        assert simulated == pytest.approx(report["theory"], rel=0.05)
    else:
        assert report["theory"] is None
    assert told(*args, "--seed", "4")["write_amplification"] != simulated


def test_wa_takes_hot_and_cold_and_choices(told: Json) -> None:
    args = ("wa", "--rho", "0.8", "--blocks", "256", "--pages-per-block", "16")
    hot = ("--hot-space", "0.1", "--hot-share", "0.9")
    alike, told_apart = told(*args, *hot), told(*args, *hot, "--separate")
    assert told_apart["write_amplification"] < alike["write_amplification"]
    few, many = (told(*args, "--policy", "d-choices", "--choices", d) for d in ("2", "32"))
    assert many["write_amplification"] < few["write_amplification"]


def test_compare_is_each_run_alone(run: Run, told: Json, mixed: str, tmp_path: Path) -> None:
    own = tmp_path / "one-bus.toml"
    text = flash.text("gordon-slc-256g").replace(
        'bus_rate = { value = "133MHz"', 'bus_rate = { value = "40MHz"'
    )
    own.write_text(text)
    names = ("gordon-slc-256g", "gordon-mlc-512g", str(own))
    together = told("compare", mixed, *names, *SMALL)
    assert together["baseline"] == names[0]
    assert [d["name"] for d in together["devices"]] == [*names[:2], "one-bus"]
    for name, row in zip(names, together["devices"], strict=True):
        assert row["report"] == told("replay", mixed, "--preset", name, *SMALL)
        first = together["devices"][0]["report"]
        assert row["relative"]["energy_j"] == row["report"]["energy_j"] / first["energy_j"]
    slow = together["devices"][2]["relative"]
    assert slow["read_p99_us"] > 1
    shown = run("flash", "compare", mixed, *names, *SMALL)
    assert f"relative to {names[0]}" in shown.out
    assert "one-bus" in shown.out


def test_compare_takes_a_pattern(told: Json) -> None:
    both = told(
        "compare", "gordon-slc-256g", "nvme-tlc-1tb", "--pattern", "random-write", "--requests",
        "500", *SMALL,
    )  # fmt: skip
    assert [d["report"]["requests"] for d in both["devices"]] == [500, 500]


# What the device is.


def test_capacity_scales_the_planes_and_keeps_the_spare_part(told: Json) -> None:
    args = ("bench", "--pattern", "random-write", "--requests", "100")
    report = told(*args, "--set", "capacity=8GiB")
    device = report["provenance"]["config"]["device"]
    # 16384 blocks a plane for 256 GB.
    assert device["geometry"]["blocks_per_plane"] == -(-16384 * 8 * 2**30 // 256_000_000_000)
    assert device["capacity"] == "8GiB"
    both = ("--set", "capacity=8GiB", "--set", "geometry.blocks_per_plane=800")
    device = told(*args, *both)["provenance"]["config"]["device"]
    assert device["geometry"]["blocks_per_plane"]["value"] == 800
    assert "--set" in device["capacity"]["assumed"]


def test_settings_reach_the_device(told: Json) -> None:
    args = ("bench", "--pattern", "random-read", "--size", "2KiB", "--requests", "500", *SMALL)
    fast = told(*args)
    slow = told(*args, "--set", "timing.read=250us", "--set", "ftl.victim=fifo")
    difference = slow["read"]["latency_us"]["p50"] - fast["read"]["latency_us"]["p50"]
    assert difference >= 225
    listed = told(*args, "--set", 'timing.read=["25us", "475us"]')
    assert listed["read"]["latency_us"]["max"] > slow["read"]["latency_us"]["p50"]
    shaped = told(*args, "--super-page", "8KiB", "--write-points", "2")
    device = shaped["provenance"]["config"]["device"]
    assert device["super_page"]["size"]["value"] == "8KiB"
    assert device["ftl"]["write_points"]["value"] == 2
    # A key that the preset's file does not have.
    assert told(*args, "--set", "host.latency=1ms")["read"]["latency_us"]["p50"] >= 1000


@pytest.mark.parametrize(
    ("setting", "what", "hint"),
    [
        ("write_points=4", "no key `write_points`", "try: `ftl.write_points`"),
        ("ftl.write_pionts=4", "no key `write_pionts`", "try: `write_points`"),
        ("flt.write_points=4", "no table `flt`", "try: `ftl`"),
        ("ftl=4", "not one value but a table", "one by one"),
        ("ftl.write_points", "not KEY=VALUE", "--set ftl.write_points=4"),
        ("ftl.write_points=many", "ftl.write_points", ""),
        ("ftl.victim=gredy", "unknown variant `gredy`", "`greedy`"),
        ("capacity=much", "`much`", ""),
        ("timing.read=25", "timing.read", ""),
    ],
)
def test_bad_settings_are_one_clear_error(run: Run, setting: str, what: str, hint: str) -> None:
    ran = run("flash", "bench", "--pattern", "mixed", "--set", setting)
    assert (ran.status, ran.out) == (1, "")
    assert what in ran.err
    assert hint in ran.err
    assert ran.err.startswith("error: ")


# Bad input.


@pytest.mark.parametrize(
    ("text", "args", "what"),
    [
        ("0 0 0 8 1\n10 0 many 8 1\n", (), ("bad.trace", "line 2", "`many`")),
        ("0 0 0 8 1\n10 0 8\n", (), ("bad.trace", "line 2")),
        ("0 0 0 8 1\n10 0 8 8 7\n", (), ("bad.trace", "line 2", "type", "`7`")),
        ("50 0 0 8 1\n10 0 8 8 1\n", (), ("bad.trace", "line 2", "--order")),
        ("0 0 0 8 1\n1 0 131072 8 0\n", SMALL, ("request 2", "64MiB", "--fit wrap")),
        ("0 0 0 8 1\n1 0 131065 8 0\n", SMALL, ("request 2", "capacity=")),
        ("", ("--format", "mqsim"), ("bad.trace",)),
        ("0 0 0 8 1\n", ("--format", "mqsin"), ("mqsin",)),
        ("0 0 0 8 1\n", ("--super-page", "48KiB"), ("super-page of 49152 bytes", "multiple")),
        ("0 0 0 8 1\n", ("--set", "super_page.unit=48KiB"), ("does not divide",)),
        ("0 0 0 8 1\n", ("--set", "geometry.pages_per_block=0"), ("pages_per_block",)),
        ("0 0 0 8 1\n", ("--set", "geometry.blocks_per_plane=100"), ("exceed the array's",)),
        ("0 0 0 8 1\n", ("--preset", "gordon-slc"), ("no flash preset", "gordon-slc-256g")),
        ("0 0 0 8 1\n", ("--preset", "none.toml"), ("none.toml", "No such file")),
        ("0 0 0 8 1\n", ("--preset", "bad.toml"), ("bad.toml, line 1", "summary")),
        ("0 0 0 8 1\n", ("--speed", "0"), ("speed",)),
        ("0 0 0 8 1\n", ("--split", "100B"), ("split",)),
        ("0 0 0 8 1\n", ("--closed-loop", "--gaps"), ("exclude each other",)),
        ("0 0 0 8 1\n", ("--requests-out", "no/r.parquet"), ("no folder no",)),
        ("0 0 0 8 1\n", ("--report", "."), ("it is a folder",)),
    ],
)
def test_bad_input_is_one_clear_error(
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    args: tuple[str, ...],
    what: tuple[str, ...],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.trace").write_text(text)
    (tmp_path / "bad.toml").write_text("sumary = 'x'\n")
    ran = run("flash", "replay", "bad.trace", *args)
    assert (ran.status, ran.out) == (1, "")
    assert ran.err.startswith("error: ")
    assert ran.err.count("error:") == 1
    assert "Traceback" not in ran.err
    for part in what:
        assert part in ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.toml", "bad.trace"]


@pytest.mark.parametrize(
    ("args", "status", "what"),
    [
        (("replay",), 2, "Missing argument 'TRACE'"),
        (("replay", "missing.trace"), 1, "missing.trace"),
        (("bench",), 2, "--pattern"),
        (("bench", "--pattern", "backwards"), 2, "backwards"),
        (("bench", "--pattern", "mixed", "--requests", "0"), 2, "--requests"),
        (("bench", "--pattern", "mixed", "--precondition", "1.5"), 2, "--precondition"),
        (("bench", "--pattern", "mixed", "--weights", "a,b"), 2, "not numbers with commas"),
        (("bench", "--pattern", "mixed", "--weights", "0"), 1, "weight 0"),
        (("bench", "--pattern", "mixed", "--size", "100B"), 1, "size"),
        (("bench", "--pattern", "mixed", "--span", "1TB"), 1, "more than the device's"),
        (("bench", "--pattern", "random-read", "--read-share", "1"), 1, "no use for it"),
        (("wa", "--rho", "1"), 1, "rho"),
        (("wa", "--policy", "best"), 2, "best"),
        (("wa", "--choices", "4"), 1, "d-choices"),
        (("show", "gordon"), 1, "no flash preset `gordon`"),
        (("compare", "t", "gordon-slc-256g"), 1, "two devices"),
        (("compare", "t", "gordon-slc-256g", "gordon-slc-256g"), 1, "two devices are called"),
        (("compare", "t", "gordon-slc-256g", "nvme-tlc-1tb", "--size", "4KiB"), 1, "`size`"),
        (("melt",), 2, "melt"),
    ],
)
def test_wrong_usage_is_told(run: Run, args: tuple[str, ...], status: int, what: str) -> None:
    ran = run("flash", *args)
    assert (ran.status, ran.out) == (status, "")
    assert what in ran.err


def test_bad_lines_are_skipped_and_counted(run: Run, told: Json, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 0 0 8 1\nnonsense\n50 0 8 8 0\n40 0 16 8 0\n")
    args = ("replay", str(tmp_path / "t"), "--format", "mqsim", "--skip-bad")
    report = told(*args, "--order", "sort", *SMALL)
    assert report["requests"] == 3
    assert report["provenance"]["trace"]["skipped"] == 1
    assert any("line 2" in warning for warning in report["warnings"])
    clamped = told(*args, "--order", "clamp", *SMALL)
    assert clamped["provenance"]["trace"]["clamped"] == 1
    assert "warning: " in run("flash", *args, "--order", "clamp", *SMALL).err
    # Times that are not used need not be in order.
    assert told(*args, "--closed-loop", *SMALL)["requests"] == 3


def test_addresses_may_wrap(told: Json, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", (0, 0, 8, 1), (1000, 10**9, 8, 1))
    assert told("replay", trace, "--fit", "wrap", *SMALL)["read"]["requests"] == 2


def test_only_one_device_of_a_trace(told: Json, tmp_path: Path) -> None:
    (tmp_path / "t").write_text("0 0 0 8 1\n10 3 8 8 0\n20 3 16 8 0\n")
    args = ("replay", str(tmp_path / "t"), *SMALL)
    assert told(*args)["requests"] == 3
    assert told(*args, "--device", "3")["write"]["requests"] == 2
    assert told(*args, "--device", "0")["read"]["requests"] == 1
    by = told(*args, "--queue-by", "device")
    assert [q["requests"] for q in by["queues"]] == [1, 2]


# What breaks others.


def test_a_run_shorter_than_a_second(told: Json, tmp_path: Path) -> None:
    report = told("replay", mqsim(tmp_path / "t", (0, 0, 8, 0)), *SMALL)
    assert 0 < report["simulated_s"] < 0.001
    assert report["write"]["bandwidth_mb_s"] == pytest.approx(4096 / report["simulated_s"] / 1e6)
    assert report["lifetime_years"] > 0


def test_a_write_only_trace(run: Run, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", *((i, i * 8, 8, 0) for i in range(100)))
    ran = run("flash", "replay", trace, *SMALL, "--json", str(tmp_path / "j"))
    assert ran.status == 0
    report = json.loads((tmp_path / "j").read_text())
    assert (report["read"]["requests"], report["write"]["requests"]) == (0, 100)
    assert report["read"]["latency_us"]["mean"] is None
    assert "read  " not in ran.out.split("write amplification")[0]


def test_a_trace_again_and_again(told: Json, mixed: str) -> None:
    once, thrice = told("replay", mixed, *SMALL), told("replay", mixed, *SMALL, "--repeat", "3")
    assert thrice["requests"] == 3 * once["requests"]
    assert thrice["simulated_s"] == pytest.approx(3 * once["simulated_s"], rel=0.1)
    assert thrice["provenance"]["trace"] == once["provenance"]["trace"]


@pytest.mark.parametrize("fraction", ["0", "0.8", "1"])
def test_preconditioning_leads_to_collection(told: Json, fraction: str) -> None:
    report = told(
        "bench", "--pattern", "random-write", "--size", "64KiB", "--requests", "2000",
        "--set", "capacity=1GiB", "--precondition", fraction,
    )  # fmt: skip
    assert report["write"]["requests"] == 2000
    assert (report["pages"]["gc_program"] > 0) == (fraction != "0")
    assert report["preloaded_pages"] == int(16384 * float(fraction))


def test_a_full_trace_on_a_full_device(told: Json, tmp_path: Path) -> None:
    """All of the capacity is written, twice, after it was all in use."""
    rows = ((i * 1000, i % 1024 * 128, 128, 0) for i in range(2048))
    report = told("replay", mqsim(tmp_path / "t", *rows), *SMALL, "--precondition", "1")
    assert report["write"]["bytes"] == 2 * 64 * 2**20
    assert report["failed_requests"] == 0


def test_time_units(told: Json, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", *((i, i * 8, 8, 0) for i in range(100)))
    report = told("replay", trace, *SMALL, "--time-unit", "1ms")
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
    assert "warning: the device wore out" in ran.err


# The same every time.


def test_a_device_is_kept_and_gone_on_with(run: Run, told: Json, tmp_path: Path) -> None:
    kept = str(tmp_path / "aged.checkpoint")
    pattern = ("--pattern", "random-write", "--size", "64KiB", "--requests", "3000", *SMALL)
    told("bench", *pattern, "--precondition", "0.9", "--checkpoint", kept)
    on = told("bench", *pattern, "--from-checkpoint", kept)
    assert on["wear"]["max_erases"] > 1
    assert on["write_amplification"] > 1
    assert on["preloaded_pages"] > 0, "what was mapped is mapped"
    other = run("flash", "bench", *pattern, "--from-checkpoint", kept, "--set", "ftl.victim=fifo")
    assert other.status == 1
    assert "other parameters" in other.err
    assert "try:" in other.err
    assert [file.name for file in tmp_path.iterdir()] == ["aged.checkpoint"]


def test_same_seed_same_bytes(run: Run, tmp_path: Path) -> None:
    made = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        os.chdir(tmp_path / folder)
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
    other = flash.bench("mixed", requests=3000, set_values=CHANGES, seed=8)
    same = flash.bench("mixed", requests=3000, set_values=CHANGES, seed=7)
    assert other.report["simulated_s"] != same.report["simulated_s"]


def test_ctrl_c_ends_it_and_leaves_nothing(tmp_path: Path) -> None:
    args = ["bench", "--pattern", "random-write", "--requests", str(10**12), "--requests-out", "q"]
    running = subprocess.Popen(
        [sys.executable, "-m", "gordon", "flash", *args],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    while not any(tmp_path.iterdir()) and running.poll() is None:
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err.strip()) == (130, b"", b"")
    assert list(tmp_path.iterdir()) == []


# What people see.


def test_it_is_one_screen(run: Run, mixed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("flash", "replay", mixed, *SMALL)
    assert "modelled" in ran.out
    for word in ("read", "write amplification", "erases", "busy", "energy", "lifetime", "p99.9"):
        assert word in ran.out
    assert len(ran.out.splitlines()) <= 24
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "dumb")
    compare = ("compare", mixed, "gordon-slc-256g", "gordon-mlc-512g", *SMALL)
    for args in (("replay", mixed, *SMALL), ("presets",), compare, ("wa", "--blocks", "64")):
        text = re.sub(r"\x1b\[[0-9;]*m", "", run("flash", *args).out)
        assert text
        assert "…" not in text
        assert max(map(cell_len, text.splitlines())) <= 80, text


def test_json_is_alone_on_stdout(run: Run, mixed: str) -> None:
    ran = run("flash", "replay", mixed, *SMALL, "--json", "-")
    assert json.loads(ran.out)["requests"] == 2000
    assert "write amplification" in ran.err


# From Python.


def test_a_result_has_its_tables(tmp_path: Path, mixed: str) -> None:
    result = flash.replay(mixed, "gordon-slc-256g", set_values=CHANGES)
    assert result.tables == ["series", "latency", "outstanding", "erases"]
    for name in result.tables:
        table = result.table(name)
        assert "arrow_array_stream" in repr(table.__arrow_c_stream__())
        assert all(len(column) == len(table) for column in result.columns(name).values())
    assert sum(result.columns("latency")["requests"]) == result.report["requests"]
    series = result.columns("series")
    written = zip(series["write_mb_s"], series["length_s"], strict=True)
    assert sum(mb * s for mb, s in written) == pytest.approx(result.report["write"]["bytes"] / 1e6)
    # Work that was booked at once is spread over the time that it takes.
    assert max(map(sum, zip(series["die_read"], series["die_write"], strict=True))) <= 1
    assert max(series["controller"]) <= 1
    spans = series["length_s"]
    dies = [a + b for a, b in zip(series["die_read"], series["die_write"], strict=True)]
    busy = sum(part * s for part, s in zip(dies, spans, strict=True))
    whole = result.report["utilisation"]["die"] * result.report["simulated_s"]
    assert busy == pytest.approx(whole, rel=0.02)
    result.to_parquet(tmp_path / "tables")
    for name in result.tables:
        content = (tmp_path / "tables" / f"{name}.parquet").read_bytes()
        assert content[:4] == content[-4:] == b"PAR1"
    with pytest.raises(GordonError, match="no table `serie`"):
        result.table("serie")


def test_pyarrow_reads_what_is_written(tmp_path: Path, mixed: str) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "q.parquet"
    result = flash.replay(mixed, set_values=CHANGES, requests_out=out)
    result.to_parquet(tmp_path)
    for name in result.tables:
        assert pa.table(result.table(name)).to_pydict() == result.columns(name)
        assert pq.read_table(tmp_path / f"{name}.parquet").to_pydict() == result.columns(name)
    assert pq.read_table(out).num_rows == 2000


def test_the_api_is_the_command(told: Json, mixed: str) -> None:
    changes = [*CHANGES, "ftl.victim=fifo"]
    result = flash.replay(mixed, closed_loop=True, queue_depth=8, set_values=changes)
    args = ("--closed-loop", "--queue-depth", "8", *SMALL, "--set", "ftl.victim=fifo")
    assert told("replay", mixed, *args) == result.report
    device = flash.load("gordon-slc-256g")
    assert flash.replay(mixed, device, set_values=changes).report["requests"] == 2000
    wa = flash.wa("fifo", 0.7, blocks=64, pages_per_block=16)
    small = ("--rho", "0.7", "--blocks", "64", "--pages-per-block", "16")
    assert told("wa", "--policy", "fifo", *small) == wa


def test_an_option_that_is_none_is_named(mixed: str) -> None:
    with pytest.raises(GordonError, match="no option `queue_dept`") as raised:
        flash.replay(mixed, queue_dept=3)
    assert raised.value.args[1] == "`queue_depth`"
    with pytest.raises(GordonError, match="one load"):
        flash.compare(None, ["gordon-slc-256g", "nvme-tlc-1tb"])


def test_progress_is_told() -> None:
    ticks: list[tuple[int, int]] = []
    told = flash.bench(
        "random-write", requests=3000, set_values=CHANGES,
        progress=lambda *tick: ticks.append(tick),
    )  # fmt: skip
    assert ticks[-1] == (3000, 3000)
    assert repr(told) == (
        f"<gordon.flash.Result gordon-slc-256g: 3000 requests in "
        f"{told.report['simulated_s']:.3g} s>"
    )


def test_a_pipe_is_written_to_and_stays(run: Run, tmp_path: Path) -> None:
    """As a device would be: a renamed file must not take its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    load = ("flash", "bench", "--pattern", "random-write", "--requests", "10")
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert run(*load, "--json", str(pipe)).status == 0
        answer, _ = reader.communicate(timeout=60)
    assert json.loads(answer)["requests"] == 10
    assert pipe.is_fifo()
    for option in ("--requests-out", "--checkpoint"):
        refused = run(*load, option, str(pipe))
        assert refused.status == 1
        assert str(pipe) in refused.err
        assert pipe.is_fifo()
