"""The sentences at the top of pages: each follows from the numbers of its result."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, cast

import pytest

from gordon import cache, disk, flash
from gordon.cache import sentences, web
from gordon.human import duration, interval, short
from gordon.report.entries import SECONDS
from gordon.report.run_figures import POINTS
from gordon.report.run_summary import latencies, sentence
from gordon.reports.cache import CacheReport, CurveReport


def _point(policy: str, dram: int, misses: float | None) -> CacheReport:
    return cast(CacheReport, {"policy": policy, "dram_bytes": dram, "miss_ratio": misses})


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.1, "0.100 s"),
        (119.4, "119 s"),
        (120, "2 min"),
        (725.2, "12 min 5 s"),
        (3599.6, "60 min"),
        (31_472, "8 h 45 min"),
        (86_400, "24 h"),
        (172_800, "2 d"),
        (1e6, "11 d 14 h"),
        (2e11, "2314815 d"),
        (1e300, "1.16e+295 d"),
    ],
)
def test_a_time_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.1, "0.100 s"),
        (119.4, "119 s"),
        (725.2, "12.1 min"),
        (31_472, "8.74 h"),
        (1e6, "11.6 d"),
        (1e300, "1.16e+295 d"),
    ],
)
def test_a_time_in_a_column_has_one_unit(seconds: float, text: str) -> None:
    assert short(seconds, "s") == text
    assert SECONDS.on_screen(seconds) == text


def test_the_ends_of_a_range_of_times_have_one_unit() -> None:
    assert interval(7.19, 15.8) == "7.19 - 15.8 s"
    assert interval(61, 725) == "1.02 - 12.1 min"
    assert interval(3600, 31_472, "to") == "1.00 to 8.74 h"


def test_a_sweep_names_the_policy_that_misses_least_at_its_ends() -> None:
    points = [
        _point("lru", 1 << 20, 0.5),
        _point("arc", 1 << 20, 0.25),
        _point("lru", 2 << 20, 0.3),
        _point("arc", 2 << 20, 0.2),
    ]
    said = sentences.of_sweep(points)
    assert said == "arc misses least: 25.0 % of requests with 1 MiB, 20.0 % with 2 MiB."
    points[2]["miss_ratio"] = 0.1
    said = sentences.of_sweep(points)
    assert said.endswith("with 1 MiB, lru misses least 10.0 % with 2 MiB.")
    assert sentences.of_sweep(points[:1]) == "lru misses least: 50.0 % of requests with 1 MiB."
    assert sentences.of_sweep([_point("lru", 1 << 20, None)]) == "No request is counted."


def test_a_curve_has_the_sizes_of_a_few_misses() -> None:
    points = [
        {"dram_bytes": mib << 20, "miss_ratio": ratio}
        for mib, ratio in ((1, 0.2), (2, 0.1), (4, 0.06), (8, 0.04))
    ]
    report = cast(CurveReport, {"policy": "lru", "points": points})
    said = sentences.of_curve(report)
    assert said == "lru misses at most 10% of requests with 2 MiB, 5% with 8 MiB."
    report = cast(CurveReport, {"policy": "lru", "points": points[:1]})
    assert sentences.of_curve(report) == "lru misses 20.0 % of requests with 1 MiB."


def test_two_levels_say_what_flash_brings(tmp_path: Path) -> None:
    trace = tmp_path / "web.parquet"
    web.generate("surge", trace, requests=20_000, files="20MB")
    swept = cache.sweep(trace, dram="2MiB", flash="0,8MiB", cores=(4,), rate=1000.0)
    without, flashed = (point["miss_ratio"] for point in swept["points"])
    assert without is not None
    assert flashed is not None
    said = sentences.of_two_levels(cast(Any, swept["points"]))
    found = [float(number) / 100 for number in re.findall(r"([0-9.]+) %", said)]
    assert found == pytest.approx([without, flashed], rel=0.01)
    assert said.startswith("2 MiB of DRAM alone")


def test_two_levels_compare_a_policy_with_itself() -> None:
    points = [
        {"dram_bytes": 8 << 20, "flash_bytes": flash, "miss_ratio": ratio, "dram_policy": policy}
        for policy, flash, ratio in (
            ("lru", 0, 0.60),
            ("belady", 0, 0.40),
            ("lru", 64 << 20, 0.55),
            ("belady", 64 << 20, 0.38),
        )
    ]
    said = sentences.of_two_levels(cast(Any, points))
    assert said == (
        "8 MiB of DRAM with belady alone miss 40.0 % of requests, with 64 MiB of flash 38.0 %."
    )


def test_a_run_and_a_comparison_of_devices() -> None:
    alone = flash.bench("random-write", "gordon-slc-256g", requests=2000)
    said = sentence([alone])
    p99 = alone.report["write"]["latency_us"]["p99"]
    assert p99 is not None
    assert said.startswith("gordon-slc-256g: ")
    (found,) = re.findall(r"99 % of writes within ([0-9.]+) ms", said)
    assert float(found) == pytest.approx(p99 / 1000, rel=0.01)
    (row,) = latencies([alone])
    assert (row["op"], row["requests"]) == ("write", 2000)
    assert row["times"][2] == p99
    names = ["gordon-slc-256g", "nvme-tlc-1tb"]
    both = flash.compare(None, names, pattern="random-write", requests=2000).results
    said = sentence(both)
    ratio = both[0].report["simulated_s"] / both[1].report["simulated_s"]
    assert ratio > 1
    assert said.startswith("nvme-tlc-1tb is the fastest")
    assert float(re.findall(r"([0-9.]+) times", said)[0]) == pytest.approx(ratio, rel=0.01)


def test_equal_arrivals_are_compared_by_their_latencies() -> None:
    names = ["sata-7200-1tb", "cheetah-9lp"]
    known = [name for name in names if name in disk.names()] or disk.names()[:1]
    others = [name for name in disk.names() if name not in known]
    devices = (known + others)[:2]
    compared = disk.compare(
        None, devices, pattern="random-read", requests=200, every="100ms"
    ).results
    said = sentence(compared)
    assert said.startswith("99 % of reads: ")
    assert all(name in said for name in devices)


def test_a_long_run_has_a_band_around_a_line() -> None:
    run = flash.bench("random-write", "gordon-slc-256g", requests=20_000)
    data = run.figures()["bandwidth"].data
    assert [line.name for line in data] == ["write, 95 %", "write, 5 %", "write"]
    high, low, mean = (list(line.y) for line in data)
    assert len(mean) <= POINTS + 2
    assert all(bottom <= top for bottom, top in zip(low, high, strict=True))
