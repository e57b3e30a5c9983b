"""`gordon flash`: every command and its numbers; what the device is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gordon import _core, flash
from gordon.options.devices import POLICIES
from gordon.options.loads import PATTERNS

from conftest import SMALL, Json, Run, mqsim

LATENCIES = {"mean", "p50", "p99", "p999", "max"}


def assert_keys(report: dict[str, Any]) -> None:
    """Keys that other programs rely on."""
    assert {
        "requests", "simulated_s", "read", "write", "write_amplification", "erases", "pages",
        "energy_j", "lifetime_years", "endurance_used", "first_block_years", "startup_s",
    } <= set(report)  # fmt: skip
    for op in ("read", "write"):
        assert {"requests", "bytes", "bandwidth_mb_s", "latency_us"} <= set(report[op])
        assert set(report[op]["latency_us"]) >= LATENCIES
    assert {"host_read", "host_program", "gc_read", "gc_program"} <= set(report["pages"])


# Each command.


@pytest.mark.parametrize("name", flash.names())
def test_every_preset_runs(flash_report: Json, name: str) -> None:
    args = ("bench", "--requests", "2000", "--preset", name)
    written = flash_report(*args, "--pattern", "random-write")
    assert (written["write"]["requests"], written["failed_requests"]) == (2000, 0)
    report = flash_report(*args, "--pattern", "mixed", "--span", "1GiB")
    assert_keys(report)
    assert report["requests"] == 2000
    assert report["read"]["requests"] + report["write"]["requests"] == 2000
    assert report["failed_requests"] == report["unmapped_reads"] == 0
    has_buffer = "write_buffer" in flash.device.load(name)["ftl"]
    slower = report["write"]["latency_us"]["p50"] > report["read"]["latency_us"]["p50"]
    assert slower != has_buffer
    assert 0 < report["energy_j"] == pytest.approx(sum(report["energy_by_part_j"].values()))


def test_presets_are_listed_and_shown(run: Run, tmp_path: Path) -> None:
    listed = run("flash", "presets").out
    for name in flash.names():
        assert name in listed
        shown = run("flash", "show", name).out
        (tmp_path / "own.toml").write_text(shown)
        assert flash.load(tmp_path / "own.toml") == flash.load(name)
    assert "256 GB" in listed


def test_replay_has_the_traces_numbers(flash_report: Json, mixed: str) -> None:
    report = flash_report("replay", mixed, *SMALL)
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


def test_a_closed_loop_keeps_the_queue_depth(flash_report: Json, mixed: str) -> None:
    slow = flash_report("replay", mixed, *SMALL, "--closed-loop", "--queue-depth", "1")
    fast = flash_report("replay", mixed, *SMALL, "--closed-loop", "--queue-depth", "16")
    assert (slow["outstanding"]["max"], fast["outstanding"]["max"]) == (1, 16)
    assert fast["bandwidth_mb_s"] > 1.5 * slow["bandwidth_mb_s"]


def test_speed_scales_arrivals(flash_report: Json, mixed: str) -> None:
    slow, fast = (flash_report("replay", mixed, *SMALL, "--speed", x) for x in ("0.1", "1"))
    assert slow["simulated_s"] == pytest.approx(10 * fast["simulated_s"], rel=0.2)


def test_split_makes_more_requests_of_the_device(flash_report: Json, mixed: str) -> None:
    report = flash_report("replay", mixed, *SMALL, "--split", "4KiB")
    assert (report["requests"], report["device_requests"]) == (2000, 8000)


@pytest.mark.parametrize("pattern", PATTERNS)
def test_every_pattern_runs(flash_report: Json, pattern: str) -> None:
    report = flash_report("bench", "--pattern", pattern, "--requests", "500", *SMALL)
    assert report["requests"] == 500
    reads = {"random-read": 500, "sequential-read": 500, "gordon-pair": 500}
    if pattern != "mixed":
        assert report["read"]["requests"] == reads.get(pattern, 0)
    assert report["unmapped_reads"] == 0


def test_bench_is_a_closed_loop_of_32_by_default(flash_report: Json) -> None:
    args = ("bench", "--pattern", "random-read", "--requests", "2000", *SMALL)
    assert flash_report(*args)["outstanding"]["max"] == 32
    assert flash_report(*args, "--queue-depth", "4")["outstanding"]["max"] == 4
    # A read every millisecond never waits for another.
    apart = flash_report(*args, "--every", "1ms")
    assert apart["outstanding"]["max"] == 1
    assert apart["simulated_s"] == pytest.approx(2, rel=0.01)


def test_one_request_is_one(run: Run) -> None:
    out = run("flash", "bench", "--pattern", "random-write", "--requests", "1", *SMALL).out
    assert "\n1 request in " in out


def test_far_from_theory_says_why(run: Run) -> None:
    near, far = (
        run("flash", "wa", "--blocks", "64", "--rho", rho, "--pages-per-block", "16").out
        for rho in ("0.5", "0.98")
    )
    assert "theory is of an array without end" not in near
    assert "stale pages fill 1.28 blocks only" in far


def test_bench_takes_its_own_options(flash_report: Json) -> None:
    args = ("bench", "--requests", "2000", *SMALL)
    report = flash_report(*args, "--pattern", "mixed", "--read-share", "0", "--size", "8KiB")
    assert report["write"]["bytes"] == 2000 * 8192
    report = flash_report(*args, "--pattern", "random-write", "--span", "128KiB", "--size", "64KiB")
    assert report["write"]["requests"] == 2000
    pair = flash_report(
        *args, "--pattern", "gordon-pair", "--way", "write", "--order", "sequential"
    )
    assert pair["write"]["bytes"] == 1000 * 131072
    queues = flash_report(*args, "--pattern", "random-write", "--queues", "2", "--weights", "3,1")
    assert [q["weight"] for q in queues["queues"]] == [3, 1]
    heavy, light = queues["queues"]
    assert heavy["requests"] == light["requests"] == 1000
    assert heavy["iops"] > 1.3 * light["iops"], "what the weight does is seen"
    for queue in (heavy, light):
        assert queue["bytes"] == 1000 * 4096
        assert queue["iops"] == pytest.approx(1000 / queue["finished_s"])
        assert queue["bandwidth_mb_s"] == pytest.approx(queue["bytes"] / queue["finished_s"] / 1e6)
    assert heavy["finished_s"] < light["finished_s"] == queues["simulated_s"]
    for hot in ("0.05", "0.5"):
        more = ("--hot-space", hot, "--hot-share", "0.9")
        assert flash_report(*args, "--pattern", "hot-cold", *more)["requests"] == 2000
    assert flash_report(*args, "--pattern", "zipf", "--exponent", "1.2")["requests"] == 2000


def test_a_fraction_can_be_a_percentage(run: Run, flash_report: Json) -> None:
    args = ("bench", "--pattern", "random-write", "--requests", "10", *SMALL, "--precondition")
    by_percent, by_fraction = (flash_report(*args, half) for half in ("50%", "0.5"))
    assert by_percent["pages"] == by_fraction["pages"]
    for wrong in ("101%", "%", "50x", "nan%"):
        assert run("flash", *args, wrong).status == 2


def test_the_command_line_offers_the_victim_policies_of_the_core() -> None:
    schema = json.loads(_core.schema("flash"))
    assert tuple(one["const"] for one in schema["$defs"]["Policy"]["oneOf"]) == POLICIES


@pytest.mark.parametrize("policy", POLICIES)
def test_wa_reports_the_simulation_and_the_theory(flash_report: Json, policy: str) -> None:
    args = ("wa", "--policy", policy, "--rho", "0.7", "--blocks", "256", "--pages-per-block", "16")
    report = flash_report(*args, "--seed", "3")
    pages = report["pages"]
    simulated = (pages["host_program"] + pages["gc_program"]) / pages["host_program"]
    assert report["write_amplification"] == simulated
    assert report["seed"] == 3
    if policy in ("greedy", "fifo", "random", "d-choices"):
        assert simulated == pytest.approx(report["theory"], rel=0.05)
    else:
        assert report["theory"] is None
    assert flash_report(*args, "--seed", "4")["write_amplification"] != simulated


def test_wa_takes_hot_and_cold_and_choices(flash_report: Json) -> None:
    args = ("wa", "--rho", "0.8", "--blocks", "256", "--pages-per-block", "16")
    hot = ("--hot-space", "0.1", "--hot-share", "0.9")
    alike, separated = flash_report(*args, *hot), flash_report(*args, *hot, "--separate")
    assert separated["write_amplification"] < alike["write_amplification"]
    few, many = (flash_report(*args, "--policy", "d-choices", "--choices", d) for d in ("2", "32"))
    assert many["write_amplification"] < few["write_amplification"]


def test_compare_is_each_run_alone(
    run: Run, flash_report: Json, mixed: str, tmp_path: Path
) -> None:
    own = tmp_path / "one-bus.toml"
    text = flash.text("gordon-slc-256g").replace(
        'bus_rate = { value = "133MHz"', 'bus_rate = { value = "40MHz"'
    )
    own.write_text(text)
    names = ("gordon-slc-256g", "gordon-mlc-512g", str(own))
    together = flash_report("compare", mixed, *names, *SMALL)
    assert together["baseline"] == names[0]
    assert [d["name"] for d in together["devices"]] == [*names[:2], "one-bus"]
    for name, row in zip(names, together["devices"], strict=True):
        assert row["report"] == flash_report("replay", mixed, "--preset", name, *SMALL)
        first = together["devices"][0]["report"]
        assert row["relative"]["energy_j"] == row["report"]["energy_j"] / first["energy_j"]
    slow = together["devices"][2]["relative"]
    assert slow["read_p99_us"] > 1
    shown = run("flash", "compare", mixed, *names, *SMALL)
    assert f"ratios to {names[0]}" in shown.out
    assert "one-bus" in shown.out


def test_compare_takes_a_pattern(flash_report: Json) -> None:
    both = flash_report(
        "compare", "gordon-slc-256g", "nvme-tlc-1tb", "--pattern", "random-write", "--requests",
        "500", *SMALL,
    )  # fmt: skip
    assert [d["report"]["requests"] for d in both["devices"]] == [500, 500]


# What the device is.


def test_capacity_scales_the_planes_and_keeps_the_spare_part(flash_report: Json) -> None:
    args = ("bench", "--pattern", "random-write", "--requests", "100")
    report = flash_report(*args, "--set", "capacity=8GiB")
    device = report["provenance"]["config"]["device"]
    # 16384 blocks a plane for 256 GB.
    assert device["geometry"]["blocks_per_plane"] == -(-16384 * 8 * 2**30 // 256_000_000_000)
    assert device["capacity"] == "8GiB"
    both = ("--set", "capacity=8GiB", "--set", "geometry.blocks_per_plane=800")
    device = flash_report(*args, *both)["provenance"]["config"]["device"]
    assert device["geometry"]["blocks_per_plane"]["value"] == 800
    assert "--set" in device["capacity"]["assumed"]


def provision(report: dict[str, Any]) -> tuple[int, int, int]:
    names = ("raw", "exported", "spare")
    raw, exported, spare = (report[f"{name}_capacity_bytes"] for name in names)
    assert raw == exported + spare
    return raw, exported, spare


@pytest.mark.parametrize("name", flash.names())
def test_a_changed_geometry_keeps_the_over_provisioning(flash_report: Json, name: str) -> None:
    args = ("bench", "--pattern", "random-read", "--requests", "10", "--span", "1MiB")
    raw, _, _ = provision(flash_report(*args, "--preset", name, "--set", "capacity=200GiB"))
    buses = flash.load(name)["geometry"]["buses"]["value"]
    twice = ("--set", f"geometry.buses={2 * buses}", "--set", "capacity=200GiB")
    for settings in (twice, twice[2:] + twice[:2]):
        report = flash_report(*args, "--preset", name, *settings)
        assert report["exported_capacity_bytes"] == 200 * 2**30
        # Rounded up to one super-block.
        geometry = report["provenance"]["config"]["device"]["geometry"]
        block = report["page_bytes"] * geometry["pages_per_block"]["value"]
        assert abs(report["raw_capacity_bytes"] - raw) <= block
    halved = flash_report(*args, "--preset", name, "--set", f"geometry.buses={buses // 2}")
    half_raw, half_exported, _ = provision(halved)
    whole = flash_report(*args, "--preset", name)
    assert half_raw * 2 == whole["raw_capacity_bytes"]
    # Down to a whole page of the map.
    assert 0 <= whole["exported_capacity_bytes"] / 2 - half_exported < halved["page_bytes"]


def test_unused_blocks_are_kept_if_set(flash_report: Json) -> None:
    args = ("bench", "--preset", "mqsim-mlc-512g", "--pattern", "random-read", "--requests", "10")
    settings = ("--span", "1MiB", "--set", "capacity=4GiB", "--set", "geometry.unused_blocks=5")
    raw = flash_report(*args, *settings)["raw_capacity_bytes"]
    # 18 blocks of 2 MiB in each of 256 planes of two to a die group, less 5.
    assert raw == (18 * 128 - 5) * 2 * 2**20


@pytest.mark.parametrize("capacity", ["512MiB", "2GiB"])
def test_write_amplification_does_not_depend_on_the_number_of_buses(
    flash_report: Json, capacity: str
) -> None:
    """One capacity and one over-provisioning give one write amplification."""
    args = ("bench", "--preset", "mqsim-mlc-512g", "--set", f"capacity={capacity}")
    load = ("--pattern", "random-write", "--size", "8KiB", "--precondition", "1")
    found, spare = [], []
    for buses in (4, 8, 10, 16, 32):
        report = flash_report(*args, *load, "--set", f"geometry.buses={buses}")
        found.append(report["write_amplification"])
        spare.append(report["spare_capacity_bytes"])
    assert len(set(spare)) == 1
    assert max(found) < 1.05 * min(found), found


@pytest.mark.parametrize(("size", "groups"), [("2KiB", 64), ("8KiB", 16), ("256KiB", 1)])
def test_each_die_group_has_a_write_point_unless_set(
    flash_report: Json, size: str, groups: int
) -> None:
    """Figure 4 of the paper: with a write point for each, 8 KiB pages write as fast as 4 KiB."""
    args = ("bench", "--pattern", "sequential-write", "--size", "256KiB", "--requests", "500")
    free = flash_report(*args, "--super-page", size, "--set", "capacity=32GiB")
    assert not any("write_points" in warning for warning in free["warnings"])
    points = ("--write-points", str(groups))
    same = flash_report(*args, "--super-page", size, "--set", "capacity=32GiB", *points)
    assert same["write"]["bandwidth_mb_s"] == free["write"]["bandwidth_mb_s"]
    if groups > 1:
        one = flash_report(
            *args, "--super-page", size, "--set", "capacity=32GiB", "--write-points", "1"
        )
        assert one["write"]["bandwidth_mb_s"] < 0.6 * free["write"]["bandwidth_mb_s"]
        assert any("ftl.write_points=1" in warning for warning in one["warnings"])


def test_the_capacity_is_on_the_screen_and_in_the_report(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "r.html"
    args = ("--pattern", "random-read", "--requests", "10", "--span", "1MiB", "--report", str(page))
    shown = run("flash", "bench", *args, "--super-page", "2KiB")
    assert "275 GB raw, 256 GB exported, 18.9 GB spare (7.4% of the exported)" in shown.out
    text = page.read_text()
    assert all(word in text for word in ("275 GB", "18.9 GB"))
    # The warning and the screen have one mapping table.
    assert "mapping table (L2P) of the device 512 MiB" in shown.out
    assert "the mapping table (L2P) takes 512MiB" in shown.err


def used(report: dict[str, Any]) -> float:
    """Bytes programmed over raw bytes times rated erases."""
    programmed = report["write"]["bytes"] * report["write_amplification_bytes"]
    rated = report["wear"]["erase_budget"]
    return float(programmed / (report["raw_capacity_bytes"] * rated))


YEAR_S = 365.25 * 86400


def test_a_burst_has_no_lifetime_and_uses_endurance(run: Run, flash_report: Json) -> None:
    args = ("bench", "--pattern", "random-write", "--requests", "2000", *SMALL)
    report = flash_report(*args)
    assert report["simulated_s"] < 60
    assert (report["lifetime_years"], report["first_block_years"]) == (None, None)
    assert report["endurance_used"] == pytest.approx(used(report))
    shown = run("flash", *args).out
    assert "of rated endurance" in shown
    assert "years" not in shown


@pytest.mark.parametrize(("seconds", "lasts"), [(59, False), (600, True)])
def test_a_lifetime_is_that_of_the_whole_trace(
    flash_report: Json, tmp_path: Path, seconds: int, lasts: bool
) -> None:
    """Nearly all writes are in a burst at the start; the trace ends with one read."""
    rows = [(10**6 * at, 128 * (at % 100), 128, 0) for at in range(12_000)]
    trace = mqsim(tmp_path / "t", *rows, (seconds * 10**9, 0, 8, 1))
    report = flash_report("replay", trace, *SMALL)
    assert report["lifetime_span_s"] == pytest.approx(seconds, abs=0.01)
    assert report["endurance_used"] == pytest.approx(used(report))
    if not lasts:
        assert (report["lifetime_years"], report["first_block_years"]) == (None, None)
        return
    years = seconds / used(report) / YEAR_S
    assert report["lifetime_years"] == pytest.approx(years, rel=1e-3)
    assert report["operations"]["erase"] >= 100
    assert report["first_block_years"] is None, "no block was erased a hundred times"
    twice = flash_report("replay", trace, *SMALL, "--repeat", "2")
    assert twice["lifetime_span_s"] == pytest.approx(2 * seconds, rel=1e-3)
    fast = flash_report("replay", trace, *SMALL, "--speed", "4")
    assert fast["lifetime_years"] == pytest.approx(years / 4, rel=1e-3)


def test_settings_reach_the_device(flash_report: Json) -> None:
    args = ("bench", "--pattern", "random-read", "--size", "2KiB", "--requests", "500", *SMALL)
    fast = flash_report(*args)
    slow = flash_report(*args, "--set", "timing.read=250us", "--set", "ftl.victim=fifo")
    difference = slow["read"]["latency_us"]["p50"] - fast["read"]["latency_us"]["p50"]
    assert difference >= 225
    listed = flash_report(*args, "--set", 'timing.read=["25us", "475us"]')
    assert listed["read"]["latency_us"]["max"] > slow["read"]["latency_us"]["p50"]
    shaped = flash_report(*args, "--super-page", "8KiB", "--write-points", "2")
    device = shaped["provenance"]["config"]["device"]
    assert device["super_page"]["size"]["value"] == "8KiB"
    assert device["ftl"]["write_points"]["value"] == 2
    # A key that the preset's file does not have.
    assert flash_report(*args, "--set", "host.latency=1ms")["read"]["latency_us"]["p50"] >= 1000
