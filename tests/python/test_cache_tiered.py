"""`gordon cache tiered`: compared with a plain model; counters, lifetimes, bad input."""

from __future__ import annotations

import json
import random
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

from browser import result_of
from gordon import GordonError
from gordon.cache import tiered

from conftest import Run

KIB = 1024
SMALL: Any = {
    "dram": "60KiB", "flash": "1MiB", "segment": "16KiB", "pages_per_block": 16,
}  # fmt: skip


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[tuple[int, int]]]:
    """60,000 requests, one each second, for 20,000 objects, some much more popular than others."""
    draw = random.Random(5)
    keys = [int(20_000 * draw.random() ** 3) for _ in range(60_000)]
    sized = [(key, 50 + key * 7919 % 1000) for key in keys]
    path = tmp_path_factory.mktemp("tiered") / "objects.oracleGeneral.bin"
    path.write_bytes(
        b"".join(struct.pack("<IQIq", at, key, size, -1) for at, (key, size) in enumerate(sized))
    )
    return path, sized


def log_model(sized: list[tuple[int, int]], dram: int, flash: int, segment: int) -> Any:
    """A log of segments below a least-recently-used DRAM, ten bytes of it for each object below."""
    above: OrderedDict[int, int] = OrderedDict()
    segments: list[dict[int, int]] = [{} for _ in range(flash // segment)]
    used, at, written = 0, 0, 0
    where: dict[int, int] = {}
    hits = [0, 0]
    for key, size in sized:
        if key in above:
            above.move_to_end(key)
            hits[0] += 1
            continue
        if key in where:
            hits[1] += 1
            continue
        if size <= dram - 10 * len(where):
            above[key] = size
        while sum(above.values()) > dram - 10 * len(where):
            old, old_size = above.popitem(last=False)
            if used + old_size > segment:
                written += segment
                at, used = (at + 1) % len(segments), 0
                for gone in segments[at]:
                    del where[gone]
                segments[at] = {}
            segments[at][old] = old_size
            where[old] = at
            used += old_size
    return {"hits": hits, "written": written, "flash": len(where), "dram": len(above)}


def test_a_log_is_what_a_plain_model_says(trace: tuple[Path, list[tuple[int, int]]]) -> None:
    path, sized = trace
    dram, flash, segment = 60 * KIB, 1024 * KIB, 64 * KIB
    report: Any = tiered.replay(
        path, dram="60KiB", flash="1MiB", layout="log", segment="64KiB", no_reinsert=True,
        pages_per_block=16,
    )  # fmt: skip
    model = log_model(sized, dram, flash, segment)
    assert [level["hits"] for level in report["levels"]] == model["hits"]
    assert report["written_bytes"] == model["written"]
    residents = [level["resident_objects"] for level in report["levels"]]
    assert residents == [model["dram"], model["flash"]]
    assert report["index_bytes"] == 10 * model["flash"]
    # Segments of whole erase blocks leave nothing to copy.
    assert report["device_write_amplification"] == 1.0


@pytest.mark.parametrize("layout", tiered.LAYOUTS)
def test_what_is_counted_adds_up(trace: tuple[Path, list[tuple[int, int]]], layout: Any) -> None:
    path, sized = trace
    report: Any = tiered.replay(
        path, dram="60KiB", flash="1MiB", layout=layout, segment="16KiB", pages_per_block=16
    )
    dram, flash = report["levels"]
    assert report["requests"] == len(sized) == report["hits"] + report["misses"]
    assert report["hits"] == dram["hits"] + flash["hits"]
    assert report["bytes"] == sum(size for _, size in sized)
    assert report["bytes"] - report["miss_bytes"] == dram["hit_bytes"] + flash["hit_bytes"]
    assert report["offered_bytes"] == report["admitted_bytes"]
    assert (
        report["application_write_amplification"]
        == report["written_bytes"] / report["admitted_bytes"]
    )
    both = report["application_write_amplification"] * report["device_write_amplification"]
    assert report["write_amplification"] == pytest.approx(both)
    assert flash["resident_bytes"] <= report["flash_bytes"]
    assert dram["resident_bytes"] + report["index_bytes"] <= report["dram_bytes"]
    # Bytes programmed over raw bytes x erases; a lifetime is of the time with full flash.
    raw = 2**20 / 0.93
    programmed = report["written_bytes"] * report["device_write_amplification"]
    assert report["endurance_used"] == pytest.approx(programmed / raw / 3000)
    span = report["lifetime_span_s"]
    assert 60 < span < report["simulated_s"]
    years = span / ((programmed - raw) / raw / 3000) / (365.25 * 86400)
    assert report["lifetime_years"] == pytest.approx(years, rel=0.05)


def test_layouts_differ_as_kangaroo_says(trace: tuple[Path, list[tuple[int, int]]]) -> None:
    # A log writes once, sets a page for each object; a log before them some of both.
    path, _ = trace
    layouts: Any = tiered.LAYOUTS
    report = {
        layout: tiered.replay(
            path, dram="60KiB", flash="1MiB", layout=layout, segment="16KiB", log_share=0.1,
            no_reinsert=True, pages_per_block=16,
        )
        for layout in layouts
    }  # fmt: skip
    amplification: dict[str, Any] = {
        name: one["application_write_amplification"] for name, one in report.items()
    }
    assert amplification["log"] < 1.1
    assert amplification["log"] < amplification["log-sets"] < amplification["sets"] * 0.8
    assert report["log-sets"]["index_bytes"] < report["log"]["index_bytes"] / 2


def test_a_lifetime_is_kept(trace: tuple[Path, list[tuple[int, int]]]) -> None:
    path, _ = trace
    common: Any = {
        "dram": "60KiB", "flash": "1MiB", "layout": "sets", "pages_per_block": 16,
        "endurance": 1000,
    }  # fmt: skip
    free: Any = tiered.replay(path, **common)
    years = 2 * free["lifetime_years"]
    report: Any = tiered.replay(path, admission=f"years:{years}", **common)
    assert years * 0.97 < report["lifetime_years"] < years * 1.1
    assert report["admitted_bytes"] < report["offered_bytes"] * 0.7
    assert report["misses"] > free["misses"]
    # The same seed, the same answer; another, another.
    again: Any = tiered.replay(path, admission=f"years:{years}", **common)
    assert report == again
    other: Any = tiered.replay(path, admission=f"years:{years}", seed=2, **common)
    assert report["misses"] != other["misses"]


def test_admission_policies_admit_less(trace: tuple[Path, list[tuple[int, int]]]) -> None:
    path, _ = trace
    common: Any = {
        "dram": "100KiB",
        "flash": "1MiB",
        "segment": "16KiB",
        "pages_per_block": 16,
    }
    report = {
        name: tiered.replay(path, admission=name, **common)
        for name in ("all", "random:0.5", "hits:2", "ghost:1MiB")
    }
    parts = {name: one["admitted_bytes"] / one["offered_bytes"] for name, one in report.items()}
    assert parts["all"] == 1
    assert parts["random:0.5"] == pytest.approx(0.5, abs=0.02)
    assert 0 < parts["hits:2"] < 0.7
    assert 0 < parts["ghost:1MiB"] < 0.7


def test_the_command(run: Run, trace: tuple[Path, list[tuple[int, int]]], tmp_path: Path) -> None:
    path, _ = trace
    out = tmp_path / "report.json"
    common = ["cache", "tiered", str(path), "--dram", "60KiB", "--flash", "1MiB"]
    ran = run(*common, "--segment", "16KiB", "--pages-per-block", "16", "--json", str(out))
    assert ran.status == 0, ran.err
    report = json.loads(out.read_text())
    assert report["layout"] == "log-sets"
    assert f"miss ratio {report['miss_ratio']:.4f} of requests" in ran.out
    assert report["provenance"]["config"]["log_share"] == 0.05
    assert report["provenance"]["trace"]["requests"] == 60_000


@pytest.mark.parametrize(
    ("options", "what", "hint"),
    [
        ({"admission": "hits"}, "admission: there is no `hits`", "hits:2"),
        ({"admission": "ghosts:1"}, "admission: there is no `ghosts:1`", "ghost:64MiB"),
        ({"admission": "random:2"}, "2 is not a probability", "random:0.5"),
        ({"admission": "years:0"}, "0 years", "years:5"),
        ({"segment": "1MiB", "layout": "log"}, "1 segments", "smaller segment"),
        ({"set_size": "1000"}, "not whole pages", "4KiB"),
        ({"dram": "2900"}, "filters", "more DRAM"),
        ({"flash": "20TiB", "layout": "log", "segment": "1MiB"}, "more than 2^32 pages", "less"),
        ({"spare": 0.0}, "a spare part of 0", "0.07"),
        ({"threshold": 0}, "at least one object", "1 or more"),
        ({"set_largest": "8KiB"}, "larger than a set", "4KiB"),
        ({"journal": "8KiB"}, "is not 2 to 2^20 pages", "journal_capacity"),
        ({"journal": "1MiB", "layout": "sets"}, "sets alone has no journal", "another layout"),
        ({"journal": "1MiB", "journal_batch": 0.5}, "0.5 removals in a write", "1 or more"),
    ],
)
def test_invalid_options_are_errors(
    trace: tuple[Path, list[tuple[int, int]]], options: Any, what: str, hint: str
) -> None:
    path, _ = trace
    with pytest.raises(GordonError) as caught:
        tiered.replay(path, **SMALL | options)
    assert what in caught.value.args[0]
    assert hint in caught.value.args[1]


def test_the_report_is_one_page(
    run: Run, trace: tuple[Path, list[tuple[int, int]]], tmp_path: Path
) -> None:
    page = tmp_path / "tiered.html"
    given = ("--format", "oracleGeneral", "--dram", "256KiB", "--flash", "16MiB")
    ran = run("cache", "tiered", str(trace[0]), *given, "--report", str(page))
    assert ran.status == 0, ran.err
    assert f"wrote {page}" in ran.err
    report: Any = tiered.replay(trace[0], dram="256KiB", flash="16MiB", format="oracleGeneral")
    html = page.read_text()
    assert html == report.html()
    for level in report["levels"]:
        assert f"<td>{level['hits']:,}</td>" in html
    assert f"<td>{report['misses']:,}</td>" in html
    drawn = result_of(html)["figures"]
    parts = [bar["y"] for bar in drawn["found"]["data"]]
    assert [sum(each) for each in zip(*parts, strict=True)] == pytest.approx([1, 1])
    programmed = report["written_bytes"] * report["device_write_amplification"]
    assert drawn["written"]["data"][0]["y"][-1] == programmed > report["written_bytes"]
    assert "default-src 'none'" in html
