"""`gordon disk`: real drives, closed forms, the preset, bad input."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from gordon import disk, parts
from gordon._core import parse_bytes, parse_ns

from conftest import Json, Run, mqsim

SHARED = Path(__file__).resolve().parents[3] / "shared/traces"
REAL = Path(os.environ.get("GORDON_TRACES", SHARED)) / "disk"

#: RMS distance in ms that DiskSim 4.0 says of its own runs.
DISKSIM = {"cheetah9LP": 0.107, "barracuda": 0.348}


def rms(these: list[float], those: list[float]) -> float:
    """Of the differences of both, in order of size: the demerit figure of Ruemmler and Wilkes."""
    pairs = zip(sorted(these), sorted(those), strict=True)
    return float((sum((a - b) ** 2 for a, b in pairs) / len(these)) ** 0.5)


@pytest.mark.parametrize("name", sorted(DISKSIM))
def test_response_times_are_those_of_the_drive(run: Run, tmp_path: Path, name: str) -> None:
    folder = REAL / name
    if not folder.is_dir():
        pytest.skip(f"the traces of real drives are not here: {folder}")
    trace, out = folder / f"{name}.trace.gz", tmp_path / "responses.csv"
    ran = run(
        "disk", "replay", str(trace), "--diskspecs", str(folder / f"{name}.diskspecs"),
        "--format", "disksim-validate", "--responses", str(out), "--json", str(tmp_path / "j"),
    )  # fmt: skip
    assert ran.status == 0, ran.err
    ours = [float(line) for line in out.read_text().splitlines()]
    with gzip.open(trace, "rt") as lines:
        theirs = [float(line.split()[4]) / 1000 for line in lines]
    assert rms(ours, theirs) < 1.1 * DISKSIM[name]
    report = json.loads((tmp_path / "j").read_text())
    assert report["requests"] == len(theirs)
    assert report["response_ms"]["mean"] == pytest.approx(sum(ours) / len(ours))
    # Means of the drive itself.
    assert report["response_ms"]["mean"] == pytest.approx(sum(theirs) / len(theirs), rel=0.05)
    assert report["energy_j"] is None


#: Drives by buffer option, with DiskSim's mean responses.
FIELD = SHARED.parent / "field/t3-disk"


def test_buffer_and_queue_options_agree_with_disksim(run: Run, tmp_path: Path) -> None:
    if not FIELD.is_dir():
        pytest.skip(f"DiskSim's means of drives with buffer options are not here: {FIELD}")
    apart: list[str] = []
    rows = (FIELD / "means.tsv").read_text().splitlines()
    runs = [row.split("\t") for row in rows if row and not row.startswith("#")]
    assert len(runs) == 40
    for spec, kind, count, sectors, seed, *means in runs:
        trace = tmp_path / kind
        if not trace.exists():
            make = [sys.executable, str(FIELD / "mktrace.py"), kind, count, sectors, seed]
            subprocess.run([*make, str(trace)], check=True)
        ran = run(
            "disk", "replay", str(trace), "--format", "disksim", "--diskspecs",
            str(FIELD / spec), "--json", str(tmp_path / "json"),
        )  # fmt: skip
        assert ran.status == 0, ran.err
        ours = json.loads((tmp_path / "json").read_text())["response_ms"]["mean"]
        low, high = sorted(map(float, means))
        if not 0.99 * low < ours < 1.01 * high:
            apart.append(f"{spec} {kind}")
    assert apart == []


@pytest.fixture
def disk_report(run: Run, tmp_path: Path) -> Json:
    def ask(*args: str) -> dict[str, object]:
        ran = run("disk", *args, "--json", str(tmp_path / "json"))
        assert ran.status == 0, ran.err
        report: dict[str, object] = json.loads((tmp_path / "json").read_text())
        return report

    return ask


def test_random_reads_one_at_a_time(disk_report: Json) -> None:
    report = disk_report(
        "bench", "--pattern", "random-read", "--queue-depth", "1", "--requests", "5000"
    )  # fmt: skip
    # Seek 8.5 ms and half a revolution of 8.33, and 0.13 for the controller and 4 KiB.
    assert report["response_ms"]["mean"] == pytest.approx(8.5 + 4.17 + 0.13, rel=0.02)
    assert report["seek_ms"]["mean"] == pytest.approx(8.5, rel=0.02)
    assert report["rotation_ms"]["mean"] == pytest.approx(4.17, rel=0.03)
    # All of the time at 13 W, but what the controller takes.
    watts = report["energy_j"] / report["simulated_s"]
    assert watts == pytest.approx(13, rel=0.02)


#: A drive's preset has no slipped sectors, so that it is not quite the drive that was measured.
PRESETS = {"cheetah9LP": "seagate-cheetah-9lp", "barracuda": "seagate-barracuda-4lp"}


@pytest.mark.parametrize("name", sorted(PRESETS))
def test_presets_are_close_to_the_drive(run: Run, tmp_path: Path, name: str) -> None:
    trace, out = REAL / name / f"{name}.trace.gz", tmp_path / "responses.csv"
    if not trace.is_file():
        pytest.skip(f"the traces of real drives are not here: {trace}")
    args = ("--preset", PRESETS[name], "--format", "disksim-validate", "--responses", str(out))
    ran = run("disk", "replay", str(trace), *args)
    assert ran.status == 0, ran.err
    ours = [float(line) for line in out.read_text().splitlines()]
    with gzip.open(trace, "rt") as lines:
        theirs = [float(line.split()[4]) / 1000 for line in lines]
    assert rms(ours, theirs) < 1.1 * DISKSIM[name]


@pytest.mark.parametrize("name", parts.names("drive"))
def test_drives_turn_and_read_one_command_at_a_time(disk_report: Json, name: str) -> None:
    args = ("bench", "--preset", name, "--pattern", "random-read", "--requests", "5000")
    one, many = disk_report(*args, "--queue-depth", "1"), disk_report(*args)
    # First come, first served: no order is better than another. What waits stops no read-ahead.
    assert many["iops"] == pytest.approx(one["iops"], rel=0.15)
    table = disk.load(name)
    # Every move of the head counts, also to the next track, where it waits for less. Of single
    # sectors, with nothing read ahead, there are none of those: half a turn, whose mean over 5000
    # is within 0.8 % (one sigma).
    alone = ("--queue-depth", "1", "--size", "512B", "--set", "buffer.read_ahead=none")
    turns = disk_report(*args, *alone)["rotation_ms"]
    assert turns["total"] / turns["mean"] == pytest.approx(5000)
    half = 30_000 / table["geometry"]["rpm"]
    assert turns["mean"] == pytest.approx(half, rel=0.02)
    assert "DiskSim" in table["source"]
    changed = disk_report(*args, "--set", "scheduler.policy=sptf")
    assert changed["iops"] > 1.3 * many["iops"]


@pytest.mark.parametrize("name", parts.names("disk"))
def test_presets_seek_and_turn_as_their_sheets_say(disk_report: Json, name: str) -> None:
    args = ("bench", "--preset", name, "--pattern", "random-read", "--queue-depth", "1")
    report = disk_report(*args, "--requests", "5000")
    preset = disk.load(name)
    average = parse_ns(preset["seek"]["read"]["average"]["value"]) / 1e6
    # Outer tracks hold more, so that random sectors lie a little nearer to each other.
    assert report["seek_ms"]["mean"] == pytest.approx(average, rel=0.03)
    half = 30_000 / preset["geometry"]["rpm"]["value"]
    assert report["rotation_ms"]["mean"] == pytest.approx(half, rel=0.03)
    args = ("bench", "--preset", name, "--pattern", "sequential-read", "--size", "1MiB")
    report = disk_report(*args, "--queue-depth", "4", "--requests", "1000")
    rate = parse_bytes(preset["geometry"]["zones"]["linear"]["outer_rate_per_s"]["value"])
    assert report["bandwidth_mb_s"] == pytest.approx(rate / 1e6, rel=0.02)


def test_an_idle_disk_draws_what_it_draws_idle(disk_report: Json, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", (0, 0, 8, 1), (100_000_000_000, 0, 8, 1))
    report = disk_report("replay", trace)
    assert report["energy_j"] == pytest.approx(900, rel=0.001)


def test_a_stripe_is_as_fast_as_its_disks_together(disk_report: Json) -> None:
    args = ("bench", "--pattern", "sequential-read", "--size", "1MiB", "--requests", "2000")
    one, four = disk_report(*args), disk_report(*args, "--stripe", "4", "--stripe-unit", "128KiB")
    assert (one["disks"], four["disks"]) == (1, 4)
    assert four["bandwidth_mb_s"] == pytest.approx(4 * one["bandwidth_mb_s"], rel=0.05)
    # Four times the power, a quarter of the time.
    assert four["energy_j"] == pytest.approx(one["energy_j"], rel=0.05)
    assert four["reading"] == pytest.approx(one["reading"], rel=0.05)


def test_mirrors_share_reads_and_repeat_writes(disk_report: Json) -> None:
    def ask(pattern: str, *array: str) -> dict[str, Any]:
        return disk_report("bench", "--pattern", pattern, "--requests", "3000", *array)

    one, two = ask("random-read"), ask("random-read", "--copies", "2", "--queue-depth", "64")
    assert (one["disks"], two["disks"]) == (1, 2)
    assert two["iops"] == pytest.approx(2 * one["iops"], rel=0.05)
    ten = ("--stripe", "4", "--copies", "2", "--queue-depth", "128")
    assert ask("random-read", *ten)["iops"] == pytest.approx(4 * one["iops"], rel=0.05)
    # Each write is two: half the disks' worth, and all of their power.
    one, four = ask("random-write"), ask("random-write", *ten)
    assert four["disks"] == 4
    assert four["iops"] == pytest.approx(2 * one["iops"], rel=0.1)
    assert four["destages"] == pytest.approx(2 * one["destages"], rel=0.1)
    assert four["energy_j"] == pytest.approx(2 * one["energy_j"], rel=0.1)


def test_disks_behind_one_adapter_are_no_faster_than_it(disk_report: Json) -> None:
    args = ("bench", "--pattern", "sequential-read", "--size", "1MiB", "--requests", "1000")
    four = ("--stripe", "4", "--stripe-unit", "1MiB")
    for array, rate in ((four, "200MB"), (four, "50MB"), ((), "50MB")):
        report = disk_report(*args, *array, "--bus-rate", rate)
        assert report["bandwidth_mb_s"] == pytest.approx(parse_bytes(rate) / 1e6, rel=0.02)
    free = disk_report(*args, *four)
    assert disk_report(*args, *four, "--bus-rate", "2GB")["iops"] == pytest.approx(
        free["iops"], rel=0.01
    )


def test_waiting_neighbours_are_coalesced(disk_report: Json) -> None:
    args = ("bench", "--pattern", "sequential-write", "--size", "4KiB", "--requests", "4000",
            "--queue-depth", "64", "--set", "cache.write_through=true")  # fmt: skip
    alone, joined = disk_report(*args), disk_report(*args, "--coalesce", "128KiB")
    assert alone["coalesced"] == 0
    assert alone["requests"] == joined["requests"] == 4000
    assert 1900 < joined["coalesced"] < 4000
    scattered = disk_report(*args, "--coalesce", "128KiB", "--pattern", "random-write")
    assert scattered["coalesced"] < 5


def test_zero_latency_reads_wait_less(disk_report: Json) -> None:
    args = ("bench", "--pattern", "random-read", "--size", "512KiB", "--queue-depth", "1",
            "--requests", "2000", "--set", "cache.read_ahead=0B")  # fmt: skip
    plain, early = disk_report(*args), disk_report(*args, "--set", "cache.zero_latency=true")
    assert early["rotation_ms"]["mean"] < 0.9 * plain["rotation_ms"]["mean"]
    assert early["response_ms"]["mean"] < plain["response_ms"]["mean"]
    assert early["seek_ms"]["mean"] == plain["seek_ms"]["mean"]


def test_an_adaptive_timeout_spins_down_later(disk_report: Json, run: Run, tmp_path: Path) -> None:
    # Every 30 s, and 6 s to wake: a fifth. After 20 s, 25, and then not before 30.
    trace = mqsim(tmp_path / "t", *((i * 30_000_000_000, i << 20, 8, 1) for i in range(8)))
    slow = tmp_path / "slow.toml"
    state = 'name = "standby"\nafter = "20s"\ndraws = "1W"\nwake = "6s"\nwake_energy_j = 90.0\n'
    text = run("disk", "show", "sata-7200-1tb").out + "[[power.states]]\n" + state
    slow.write_text(text)
    fixed = disk_report("replay", trace, "--preset", str(slow))
    assert (fixed["power_states"][0]["wakes"], fixed["unwelcome_wakes"]) == (7, 0)
    bounds = 'tolerance = 0.05\nstep = "5s"\nleast = "1s"\nmost = "60s"\n'
    slow.write_text(text + "[power.adaptive]\n" + bounds)
    adaptive = disk_report("replay", trace, "--preset", str(slow))
    assert (adaptive["power_states"][0]["wakes"], adaptive["unwelcome_wakes"]) == (2, 2)
    slow.write_text(text + "[power.adaptive]\n" + bounds.replace('"60s"', '"10s"'))
    ran = run("disk", "replay", trace, "--preset", str(slow))
    assert ran.status == 1
    assert "power.adaptive.most is 10s" in ran.err


def test_a_drive_of_the_1990s_draws_its_published_power(
    disk_report: Json, run: Run, tmp_path: Path
) -> None:
    trace = mqsim(tmp_path / "t", (0, 0, 8, 1), (100_000_000_000, 1 << 20, 8, 1))
    mine = tmp_path / "mine.toml"
    state = 'name = "standby"\nafter = "20s"\ndraws = "1W"\nwake = "6s"\nwake_energy_j = 90.0\n'
    power = '\n[power]\nidle = "8W"\nread = "10W"\nwrite = "10W"\n'
    mine.write_text(run("disk", "show", "quantum-atlas-3").out + power)
    assert disk_report("replay", trace, "--preset", str(mine))["energy_j"] == pytest.approx(
        800, rel=0.001
    )
    mine.write_text(mine.read_text() + "[[power.states]]\n" + state)
    report = disk_report("replay", trace, "--preset", str(mine))
    assert report["energy_j"] == pytest.approx(8 * 20 + 80 + 90, rel=0.002)


def test_an_idle_disk_spins_down(disk_report: Json, run: Run, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", (0, 0, 8, 1), (100_000_000_000, 1 << 20, 8, 1))
    awake = disk_report("replay", trace)
    slow = tmp_path / "slow.toml"
    state = 'name = "standby"\nafter = "20s"\ndraws = "1W"\nwake = "6s"\nwake_energy_j = 90.0\n'
    text = run("disk", "show", "sata-7200-1tb").out + "[[power.states]]\n" + state
    slow.write_text(text)
    asleep = disk_report("replay", trace, "--preset", str(slow))
    [report] = asleep["power_states"]
    assert (report["name"], report["wakes"], asleep["waking_s"]) == ("standby", 1, 6)
    assert report["time_s"] == pytest.approx(80, rel=0.001)
    # 8 W less for 80 s; it takes 6 s more, and 90 J for them.
    assert asleep["energy_j"] == pytest.approx(awake["energy_j"] - 80 * 8 + 90, rel=0.002)
    later = asleep["response_ms"]["max"] - awake["response_ms"]["max"]
    assert later == pytest.approx(6000, rel=0.01)
    slow.write_text(text.replace('draws = "1W"', 'draws = "10W"'))
    ran = run("disk", "replay", trace, "--preset", str(slow))
    assert ran.status == 1
    assert "power.states[].draws is 10W" in ran.err


def test_the_same_seed_gives_the_same_bytes(run: Run, tmp_path: Path) -> None:
    def bench(seed: str, name: str) -> bytes:
        out = tmp_path / name
        ran = run(
            "disk", "bench", "--pattern", "mixed", "--requests", "2000", "--seed", seed,
            "--responses", str(out),
        )  # fmt: skip
        assert ran.status == 0, ran.err
        return out.read_bytes()

    assert bench("7", "a") == bench("7", "b") != bench("8", "c")


def test_presets_and_changes(run: Run, disk_report: Json) -> None:
    assert "sata-7200-1tb" in run("disk", "presets").out
    assert "7200" in run("disk", "show", "sata-7200-1tb").out
    args = ("bench", "--pattern", "random-read", "--requests", "2000")
    deep, one = disk_report(*args), disk_report(*args, "--set", "interface.queue_depth=1")
    assert deep["iops"] > 1.8 * one["iops"]
    writes = ("bench", "--pattern", "random-write", "--requests", "2000", "--queue-depth", "1")
    back, through = disk_report(*writes), disk_report(*writes, "--set", "cache.write_through=true")
    # One at a time: 9.5 ms to seek, half a revolution; else the best of 128.
    assert through["response_ms"]["mean"] == pytest.approx(9.5 + 4.17 + 0.13, rel=0.03)
    assert back["iops"] > 2 * through["iops"]


@pytest.mark.parametrize(
    ("args", "what"),
    [
        (("replay", "t", "--preset", "no-such"), ("no disk preset `no-such`", "sata-7200-1tb")),
        (("replay", "t", "--diskspecs", "none.diskspecs"), ("none.diskspecs", "No such file")),
        (("replay", "none"), ("none",)),
        (("replay", "far"), ("far", "ends at byte", "--fit wrap")),
        (("replay", "t", "--set", "geometry.rpm=1"), ("geometry.rpm is 1",)),
        (("replay", "t", "--set", "interface.depth=1"), ("interface.depth",)),
        (("replay", "t", "--diskspecs", "x", "--set", "geometry.rpm=1"), ("--set", ".diskspecs")),
        (("bench", "--pattern", "random-read", "--responses", "."), ("folder",)),
        (("show", "no-such"), ("no disk preset",)),
        (("replay", "t", "--stripe", "2", "--stripe-unit", "1000B"), ("chunks of 1KB",)),
        (("replay", "t", "--stripe", "5000"), ("5000 devices",)),
        (("replay", "t", "--stripe", "4", "--copies", "3"), ("4 devices", "multiple of 3")),
        (("replay", "t", "--bus-rate", "0B"), ("a bus of 0B",)),
    ],
)
def test_bad_input_is_one_clear_error(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...],
    what: tuple[str, ...],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    mqsim(tmp_path / "t", (0, 0, 8, 0))
    mqsim(tmp_path / "far", (0, 1 << 40, 8, 0))
    ran = run("disk", *args)
    assert (ran.status, ran.out) == (1, "")
    assert all(word in ran.err for word in what), ran.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["far", "t"]
