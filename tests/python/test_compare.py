"""`gordon compare`: a trace on flash, disks and measured storage."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gordon.compare
import gordon.disk
import gordon.flash
from gordon.human import figures

from conftest import Run, raises

COLUMNS = "time=1:ms,op=2,lba=3:4KiB,size=4:4KiB"
#: Seconds of a request, alone and at the best depth, by pattern.
ALONE, QUEUED = 0.010, 0.002
PATTERNS = ("sequential-read", "random-read", "sequential-write", "random-write")


def rows(path: Path, *, every_ms: int = 5, count: int = 200, writes: bool = True) -> str:
    """A trace of random reads, and after each of them the next write of a log."""
    lines = []
    for number in range(count):
        lines.append(f"{2 * number * every_ms},R,{number * 7919 % 50_000},1")
        op = "W" if writes else "R"
        lines.append(f"{(2 * number + 1) * every_ms},{op},{60_000 + number},1")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def csv(tmp_path: Path) -> str:
    return rows(tmp_path / "db.csv")


def characterised(path: Path, patterns: tuple[str, ...] = PATTERNS) -> str:
    """A result of `gordon storage characterise`: the same times for every pattern and size."""
    points: list[dict[str, Any]] = []
    for name in patterns:
        pattern, _, op = name.partition("-")
        for depth, seconds in ((1, ALONE), (8, QUEUED)):
            points.append(
                {
                    "pattern": pattern,
                    "op": op,
                    "size_bytes": 4096,
                    "queue_depth": depth,
                    "requests": 100,
                    "elapsed_s": 100 * seconds,
                    "latency_us": {"mean": seconds * depth * 1e6},
                }
            )
    version = gordon.__version__
    report = {
        "kind": "measured: every value was timed on this machine",
        "storage": "a test",
        "points": points,
        "provenance": {"version": version, "seed": 1, "time": "2026-11-28T10:00:00+00:00"},
    }
    path.write_text(json.dumps(report))
    return str(path)


def test_simulated_devices_have_the_figures_of_their_own_commands(csv: str) -> None:
    found = gordon.compare.run(csv, ["nvme-tlc-1tb", "sata-7200-1tb"], columns=COLUMNS)
    flash, disk = found.report["devices"]
    alone = gordon.flash.replay(csv, "nvme-tlc-1tb", columns=COLUMNS).report
    assert flash["report"] == alone
    assert flash["kind"] == "flash"
    assert flash["time_s"] == alone["simulated_s"]
    assert flash["read"] is not None
    assert flash["read"]["p99"] == alone["read"]["latency_us"]["p99"]
    assert disk["report"] == gordon.disk.replay(csv, "sata-7200-1tb", columns=COLUMNS).report
    assert disk["kind"] == "disk"
    assert disk["lifetime_years"] is None


@pytest.mark.parametrize(
    ("options", "low", "high"),
    [
        # The last of 400 requests arrives after 1.995 s; they take 4 s one after the other.
        ({}, 1.995, 1.995 + 400 * ALONE),
        ({"speed": 2.0}, 0.9975, 0.9975 + 400 * ALONE),
        # Queued, they take 0.8 s: less than a slow trace, more than a fast one.
        ({"speed": 10.0}, 400 * QUEUED, 0.1995 + 400 * ALONE),
        ({"closed_loop": True}, 400 * QUEUED, 400 * ALONE),
        ({"gaps": True}, 400 * QUEUED, 400 * ALONE),
        ({"closed_loop": True, "repeat": 3}, 1200 * QUEUED, 1200 * ALONE),
    ],
)
def test_the_time_on_measured_storage_is_between_bounds(
    csv: str, tmp_path: Path, options: dict[str, Any], low: float, high: float
) -> None:
    ssd = characterised(tmp_path / "ssd.json")
    found = gordon.compare.run(csv, ["nvme-tlc-1tb", ssd], columns=COLUMNS, **options)
    device = found.report["devices"][1]
    assert device["id"] == "ssd"
    assert device["kind"] == "measured"
    assert device["time_s"] is None
    assert device["time_s_low"] == pytest.approx(low)
    assert device["time_s_high"] == pytest.approx(high)
    assert "host_s" in device["report"]
    times = options.get("repeat", 1)
    assert device["report"]["read"]["requests"] == 200 * times
    assert device["report"]["write"]["bytes"] == 200 * 4096 * times
    said = f"ssd, as measured, takes {figures(low)} to {figures(high)} s."
    assert said in found.report["sentence"]


def test_a_simulated_device_is_between_the_bounds_of_its_own_characterisation(
    csv: str, tmp_path: Path, run: Run
) -> None:
    own = tmp_path / "disk.json"
    patterns = "random-read,sequential-write,random-write,sequential-read"
    ran = run(
        *("storage", "characterise", "--preset", "sata-7200-1tb", "--sizes", "4KiB"),
        *("--depths", "1,32", "--patterns", patterns, "--json", str(own)),
    )
    assert ran.status == 0, ran.err
    with raises("bad-measured", "disk.json", "simulated"):
        gordon.compare.run(csv, ["sata-7200-1tb", str(own)], columns=COLUMNS)
    own.write_text(own.read_text().replace("modelled: ", "measured: "))
    found = gordon.compare.run(
        csv, ["sata-7200-1tb", str(own)], columns=COLUMNS, closed_loop=True, queue_depth=32
    )
    disk, bounds = found.report["devices"]
    assert disk["time_s"] is not None
    assert bounds["time_s_low"] is not None
    assert bounds["time_s_high"] is not None
    assert bounds["time_s_low"] < disk["time_s"] < bounds["time_s_high"]


def test_what_was_not_measured_is_refused_or_said(csv: str, tmp_path: Path) -> None:
    reads = characterised(tmp_path / "reads.json", ("sequential-read", "random-read"))
    with raises("not-measured", "reads.json", "writes", "db.csv"):
        gordon.compare.run(csv, ["nvme-tlc-1tb", reads], columns=COLUMNS)
    only = rows(tmp_path / "only.csv", writes=False)
    found = gordon.compare.run(only, ["nvme-tlc-1tb", reads], columns=COLUMNS)
    assert not [text for text in found.report["warnings"] if "not measured" in text]
    random = characterised(tmp_path / "random.json", ("random-read", "random-write"))
    found = gordon.compare.run(csv, ["nvme-tlc-1tb", random], columns=COLUMNS)
    assert [text for text in found.report["warnings"] if "sequential writes were not" in text]


def test_gaps_add_to_both_bounds_and_trims_are_left_out(tmp_path: Path) -> None:
    ssd = characterised(tmp_path / "ssd.json")
    trims = tmp_path / "trims.csv"
    trims.write_text("0,R,1,1\n5,D,1,1\n9,W,2,1\n")
    found = gordon.compare.run(str(trims), ["nvme-tlc-1tb", ssd], columns=COLUMNS)
    report = found.report["devices"][1]["report"]
    assert "left_out" in report
    assert (report["requests"], report["left_out"]) == (2, 1)
    # Each request is issued 30 ms after the one before is complete.
    gaps = tmp_path / "gaps.trace"
    gaps.write_text("".join(f"R Miss {8 * n} 8 1000 30000\n" for n in range(1, 11)))
    found = gordon.compare.run(str(gaps), ["sata-7200-1tb", ssd], format="disksim-validate")
    device = found.report["devices"][1]
    assert device["time_s_low"] == pytest.approx(0.3 + 10 * QUEUED)
    assert device["time_s_high"] == pytest.approx(0.3 + 10 * ALONE)


def test_bad_input_is_one_error(csv: str, tmp_path: Path) -> None:
    with raises("too-few-devices"):
        gordon.compare.run(csv, ["nvme-tlc-1tb"], columns=COLUMNS)
    with raises("same-name", "nvme-tlc-1tb"):
        gordon.compare.run(csv, ["nvme-tlc-1tb", "nvme-tlc-1tb"], columns=COLUMNS)
    with raises("unknown-name", "nvme-tlc-2tb"):
        gordon.compare.run(csv, ["nvme-tlc-2tb", "sata-7200-1tb"], columns=COLUMNS)
    with raises("unreadable-file", "none.json"):
        gordon.compare.run(csv, ["nvme-tlc-1tb", "none.json"], columns=COLUMNS)
    other = tmp_path / "other.json"
    other.write_text("{}")
    with raises("bad-measured", "other.json"):
        gordon.compare.run(csv, ["nvme-tlc-1tb", str(other)], columns=COLUMNS)
    with raises("flash-only"):
        gordon.compare.run(
            csv, ["sata-7200-1tb", "sata-7200-20tb"], columns=COLUMNS, precondition=0.5
        )
    far = tmp_path / "far.csv"
    far.write_text("0,R,900000000,1\n5,R,1,1\n")
    with raises("trace-past", "far.csv") as error:
        gordon.compare.run(str(far), ["nvme-tlc-1tb", "sata-7200-20tb"], columns=COLUMNS)
    assert "--fit wrap" in error.value.args[1]
    assert "--set" not in error.value.args[1]


def test_the_command_shows_writes_and_repeats(csv: str, tmp_path: Path, run: Run) -> None:
    ssd = characterised(tmp_path / "ssd.json")
    pages = []
    for number in range(2):
        page, result = tmp_path / f"{number}.html", tmp_path / f"{number}.json"
        ran = run(
            *("compare", csv, "sata-7200-1tb", "nvme-tlc-1tb", ssd, "--columns", COLUMNS),
            *("--json", str(result), "--report", str(page)),
        )
        assert ran.status == 0, ran.err
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]
    shown = [line.split()[0] for line in ran.out.splitlines()[2:5]]
    assert shown == ["sata-7200-1tb", "nvme-tlc-1tb", "ssd"]
    report = json.loads(result.read_text())
    assert [one["id"] for one in report["devices"]] == shown
    assert report["sentence"] in ran.out
    text = pages[0].decode()
    assert f"{figures(1.995)} to {figures(1.995 + 400 * ALONE)} s" in text
    assert "disk, simulated" in text
