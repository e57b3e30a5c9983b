"""The write buffer of drives: small writes, flushes and FUA, spare capacity, and the latencies of a
data-centre drive. Sizes are a sixteenth of the preset's, with the same share of spare capacity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gordon import GordonError, flash
from gordon import sweep as sweeps

SMALL = ("capacity=60GB",)


def bench(preset: str, pattern: Any = "random-write", **options: Any) -> Any:
    given: Any = {"requests": 20_000, "set": SMALL} | options
    report: Any = flash.bench(pattern, preset, **given).report
    return report


@pytest.mark.parametrize(
    ("preset", "fsync", "least", "most"),
    [
        ("nvme-tlc-1tb", None, 1.0, 1.01),
        # Each flush programs a super-page of 16 pages, and each block has a summary.
        ("nvme-tlc-1tb", 1, 16.0, 16.1),
        ("nvme-tlc-1tb", 4, 4.0, 4.1),
        ("nvme-qlc-2tb", None, 1.0, 1.01),
        ("datacenter-tlc-1tb", None, 1.0, 1.01),
        ("datacenter-tlc-1tb", 1, 1.0, 1.01),
        ("nvme-slc-800g", 1, 1.0, 1.01),
    ],
)
def test_lone_small_writes_cost_a_super_page_only_where_a_flush_demands_it(
    preset: str, fsync: int | None, least: float, most: float
) -> None:
    report = bench(preset, queue_depth=1, every="100us", fsync=fsync)
    assert least <= report["write_amplification"] <= most
    if fsync is not None:
        assert report["flush"]["requests"] == 20_000 // fsync


def test_a_data_centre_drive_has_the_latencies_that_were_measured() -> None:
    # On a small array collection starts late for its few spare blocks, and stalls writes.
    load: Any = {"precondition": 1.0, "read_share": 0.5, "set": ()}
    report = bench("datacenter-tlc-1tb", "mixed", every="100us", requests=100_000, **load)
    read, write = report["read"]["latency_us"], report["write"]["latency_us"]
    assert 56 <= read["p50"] <= 84
    assert 161 <= read["p99"] <= 362
    assert 8 <= write["p50"] <= 13
    assert 11 <= write["p99"] <= 316
    # The knee lies between 10,000 and 110,000 writes a second.
    for every, stalls in (("50us", False), ("4us", True)):
        report = bench("datacenter-tlc-1tb", "mixed", every=every, requests=400_000, **load)
        assert (report["write"]["latency_us"]["p99"] > 10_000) == stalls, every


def test_a_durable_write_of_a_trace_waits_for_its_program(tmp_path: Path) -> None:
    trace = tmp_path / "trace.blkparse"
    lines = [
        f"8,0 0 {number} {number / 1000:.9f} 1 D {kind} {number * 8} + 8 [job]\n"
        for number, kind in enumerate(["W", "WS", "WFS", "W"] * 25, 1)
    ]
    trace.write_text("".join(lines))
    rows = tmp_path / "requests.parquet"
    report: Any = flash.replay(trace, "nvme-tlc-1tb", set=SMALL, requests_out=rows).report
    latencies = report["write"]["latency_us"]
    # A quarter of the writes waits for a program of 496 us.
    assert latencies["p50"] < 20
    assert latencies["p90"] > 496
    protected: Any = flash.replay(trace, "datacenter-tlc-1tb", set=SMALL).report
    assert protected["write"]["latency_us"]["max"] < 20


def test_spare_capacity_varies_without_the_exported_one() -> None:
    found = [
        bench("nvme-tlc-1tb", precondition=1.0, requests=200_000, spare=spare)
        for spare in ("9.1%", "18%", 0.36)
    ]
    assert [report["exported_capacity_bytes"] for report in found] == [60 * 10**9] * 3
    for report, spare in zip(found, (0.091, 0.18, 0.36), strict=True):
        raw = report["raw_capacity_bytes"] / report["exported_capacity_bytes"]
        # A super-block has 96 MiB.
        assert 0 <= raw - (1 + spare) < 96 * 2**20 / 60e9
    amplifications = [report["write_amplification"] for report in found]
    assert amplifications == sorted(amplifications, reverse=True)
    assert amplifications[0] > 1.5 * amplifications[2]


def test_spare_is_a_key_of_devices_and_a_range_of_sweeps(tmp_path: Path) -> None:
    text = flash.device.text("nvme-tlc-1tb")
    device = tmp_path / "own.toml"
    device.write_text(text.replace("\n[geometry]", 'spare = "28%"\n\n[geometry]', 1))
    shown: Any = flash.bench("random-write", device, requests=100, set=SMALL).report
    assert shown["raw_capacity_bytes"] == pytest.approx(1.28 * 60e9, rel=0.002)
    sweep = tmp_path / "sweep.toml"
    sweep.write_text(
        'command = "flash bench"\n[settings]\npattern = "random-write"\npreset = "nvme-tlc-1tb"\n'
        'capacity = "60GB"\nprecondition = 1\nrequests = 100000\n[ranges]\nspare = ["10%", "30%"]\n'
    )
    result = sweeps.run(sweep, tmp_path / "out.parquet", workers=1)
    assert result["objectives"][2:] == ["write_amplification:min", "endurance_used:min"]
    few, many = sorted(result["rows"], key=lambda row: str(row["spare"]))
    assert few["write_amplification"] > many["write_amplification"]


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        (("spare=0.1%",), "spare: 0.1% of 60GB leaves garbage collection no room; give at least"),
        (("spare=x",), "`x` is not a share"),
        (("spare=0",), "0 is not above zero; give a share"),
        (("spare=18",), "18 is 1800 %"),
        (("spare=18%", "geometry.blocks_per_plane=700"), "geometry.blocks_per_plane"),
        (("ftl.write_buffer=61GB",), "ftl.write_buffer: 61GB is more than the device has (60GB)"),
        (("ftl.write_buffer=0B", "ftl.protected=true"), "give write_buffer a size"),
        (("ftl.protected=true", "ftl.durable=true"), "leave out durable, or protected"),
        (("ftl.drain=17",), "drain (17 super-pages at a time) is more than the array takes"),
        (("ftl.write_buffer=0B", "ftl.drain=1"), "ftl.drain: there is no write buffer"),
        (("timing.read_first=false",), "timing.suspend"),
    ],
)
def test_settings_that_contradict_are_refused(settings: tuple[str, ...], named: str) -> None:
    with pytest.raises(GordonError) as caught:
        flash.bench("random-write", "nvme-tlc-1tb", set=(*SMALL, *settings), requests=10)
    assert named in caught.value.args[0]


def test_a_life_needs_a_hundred_erases() -> None:
    few = bench("nvme-tlc-1tb", every="10ms", requests=10_000)
    assert few["lifetime_years"] is None
    assert few["first_block_years"] is None
    assert few["endurance_used"] > 0
    many = bench("nvme-tlc-1tb", size="1MiB", every="10ms", requests=20_000, precondition=0.9)
    assert many["operations"]["erase"] >= 100
    assert many["lifetime_years"] > 0
    assert many["first_block_years"] is None
