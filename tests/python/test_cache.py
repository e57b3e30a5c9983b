"""`gordon cache`: real traces compared with libCacheSim's counts, counters, bad input."""

from __future__ import annotations

import json
import os
import struct
from pathlib import Path
from typing import Any

import pytest

from gordon import cache
from gordon.cache.warmup import warm_up
from gordon.errors import GordonError

from conftest import Run, mqsim, raises

SHARED = Path(__file__).resolve().parents[3] / "shared/traces"
REAL = Path(os.environ.get("GORDON_TRACES", SHARED)) / "block/cloudPhysicsIO.vscsi.gz"

NAMES = ["fifo", "lru", "clock", "sieve", "s3-fifo", "arc", "w-tinylfu", "lecar", "belady"]

#: Misses of 113,872 requests of that trace, each an object, as libCacheSim 0.3.5 counts them.
THEIRS = {
    "2MiB": [98029, 96798, 96457, 94664, 94565, 94650, 95110, 95030, 93656],
    "16MiB": [95371, 95032, 94882, 93767, 93787, 93624, 94100, 94327, 91073],
    "64MiB": [94122, 93994, 93943, 92738, 92199, 92057, 92086, 93839, 85136],
}

#: How far ours may be from theirs, of all requests: counts of W-TinyLFU are sketched here.
APART = {"w-tinylfu": 0.003}


def objects(path: Path, *rows: tuple[int, int, int, int]) -> str:
    """An oracleGeneral trace of (seconds, object, bytes, number of the next request or -1)."""
    path.write_bytes(b"".join(struct.pack("<IQIq", *row) for row in rows))
    return str(path)


@pytest.mark.parametrize("dram", sorted(THEIRS))
def test_misses_of_a_real_trace_are_those_of_libcachesim(dram: str) -> None:
    if not REAL.is_file():
        pytest.skip(f"the real trace is not here: {REAL}")
    names: Any = NAMES
    for name, misses in zip(names, THEIRS[dram], strict=True):
        report: Any = cache.replay(REAL, policy=name, dram=dram, objects=True)
        apart = abs(report["misses"] - misses)
        assert apart <= APART.get(name, 0) * 113_872, f"{name}: {apart}"
        assert report["hits"] + report["misses"] == report["requests"] == 113_872
        assert report["miss_ratio"] == report["misses"] / 113_872


def test_pages_of_a_real_trace(run: Run, tmp_path: Path) -> None:
    if not REAL.is_file():
        pytest.skip(f"the real trace is not here: {REAL}")
    out = tmp_path / "report.json"
    ran = run("cache", "replay", str(REAL), "--dram", "4GiB", "--json", str(out))
    assert ran.status == 0, ran.err
    report: Any = json.loads(out.read_text())
    # Everything fits: only first requests miss.
    assert report["unit"] == "page"
    assert report["evictions"] == 0
    assert report["misses"] == report["insertions"] == report["resident_objects"]
    assert report["resident_bytes"] == report["misses"] * 4096
    assert report["bytes"] == 4_205_978_112
    assert report["provenance"]["trace"]["requests"] == 113_872
    assert "modelled" in ran.out
    assert "miss ratio" in ran.out


@pytest.fixture
def three(tmp_path: Path) -> str:
    """Objects a, b, c, b, a."""
    big = 2**64 - 1
    rows = [(1, big, 10, 4), (1, 2, 20, 3), (2, 3, 30, -1), (2, 2, 20, -1), (3, big, 10, -1)]
    return objects(tmp_path / "three.bin", *rows)


@pytest.mark.parametrize("policy", NAMES)
def test_counts_add_up(three: str, policy: Any) -> None:
    # A hundredth of it holds any of them, which W-TinyLFU asks for.
    report: Any = cache.replay(three, policy=policy, dram="3000B")
    assert (report["unit"], report["requests"], report["bytes"]) == ("object", 5, 90)
    assert (report["hits"], report["misses"], report["miss_bytes"]) == (2, 3, 60)
    assert report["miss_ratio"] == 0.6
    assert report["byte_miss_ratio"] == 60 / 90
    assert (report["insertions"], report["evictions"]) == (3, 0)
    assert (report["resident_objects"], report["resident_bytes"]) == (3, 60)
    assert report["policy"] == policy
    assert report["dram_bytes"] == 3000
    assert report["provenance"]["trace"]["format"] == "oracleGeneral"
    assert report == cache.replay(three, policy=policy, dram="3000B")


def test_belady_keeps_the_object_of_the_next_access(three: str) -> None:
    assert cache.replay(three, policy="lru", dram="50B")["misses"] == 4
    report: Any = cache.replay(three, policy="belady", dram="60B")
    assert report["misses"] == 3


def test_block_requests_are_pages_or_objects(tmp_path: Path) -> None:
    # Sectors 4 to 20 lie in three pages; the second request asks for two of them, in part.
    trace = mqsim(tmp_path / "t", (0, 4, 16, 1), (10, 4, 8, 0), (20, 64, 8, 1))
    report: Any = cache.replay(trace, dram="1MiB", format="mqsim")
    assert (report["unit"], report["requests"], report["hits"]) == ("page", 6, 2)
    assert (report["bytes"], report["miss_bytes"]) == (32 * 512, 24 * 512)
    report = cache.replay(trace, dram="1MiB", format="mqsim", objects=True)
    assert (report["unit"], report["requests"], report["hits"]) == ("request", 3, 1)
    assert report["resident_bytes"] == 24 * 512


def test_a_long_request_is_cut_into_pages_piece_by_piece(tmp_path: Path) -> None:
    sectors = 20_000 * 8
    trace = mqsim(tmp_path / "t", (0, 0, sectors, 1), (9, 0, sectors, 1))
    report: Any = cache.replay(trace, dram="1GiB", format="mqsim")
    assert (report["requests"], report["hits"]) == (40_000, 20_000)


def test_objects_larger_than_the_cache_are_counted(three: str, run: Run) -> None:
    report: Any = cache.replay(three, dram="25B")
    assert (report["refused"], report["misses"]) == (1, 5 - report["hits"])
    assert any("1 misses were not admitted" in warning for warning in report["warnings"])
    assert "larger than the cache of 25B" in run("cache", "replay", three, "--dram", "25B").err


def test_requests_of_no_bytes_are_left_out_and_counted(tmp_path: Path, run: Run) -> None:
    # Detected, although the first records that are looked at have no bytes.
    empty = ((1, 9, 0, -1),) * 1000
    trace = objects(tmp_path / "t", *empty, (2, 7, 5, 1001), (3, 7, 5, -1), (3, 8, 0, -1))
    for policy in ("lru", "belady"):
        report: Any = cache.replay(trace, policy=policy, dram="1KiB")
        assert (report["requests"], report["hits"], report["misses"]) == (2, 1, 1)
        assert report["provenance"]["trace"]["empty"] == 1001
    assert (
        "warning: empty: 1001 of no bytes, left out"
        in run("cache", "replay", trace, "--dram", "1KiB").err
    )
    blocks = tmp_path / "a.csv"
    blocks.write_text("0,R,0,0,0\n0,R,0,100,1\n0,W,0,0,2\n")
    report = cache.replay(blocks, dram="1MiB", objects=True)
    assert (report["requests"], report["provenance"]["trace"]["empty"]) == (1, 2)


def test_objects_of_a_block_trace_keep_their_bytes(tmp_path: Path) -> None:
    trace = tmp_path / "small.csv"
    # At 4096 and at 4100 begin two objects.
    starts = (0, 4096, 4100, 0, 4096, 4100)
    trace.write_text("".join(f"3,R,{start},100,{at}\n" for at, start in enumerate(starts)))
    report: Any = cache.replay(trace, dram="300B", objects=True)
    assert (report["hits"], report["misses"], report["resident_bytes"]) == (3, 3, 300)
    left = report["provenance"]["trace"]
    assert (left["extended"], report["bytes"]) == (0, 600)
    curve: Any = cache.mrc(trace, dram=["200B", "300B"], objects=True)
    assert [point["misses"] for point in curve["points"]] == [6, 3]
    # Pages are whole sectors.
    report = cache.replay(trace, dram="1MiB")
    assert report["provenance"]["trace"]["extended"] == 6


def test_any_number_of_volumes_shares_a_cache(tmp_path: Path) -> None:
    trace = tmp_path / "many.csv"
    volumes = 20_000
    rows = [f"{n},R,{512 * (n % 3)},512,{at}\n" for at in (0, 1) for n in range(volumes)]
    trace.write_text("".join(rows))
    for whole in (False, True):
        report: Any = cache.replay(trace, dram="1GiB", objects=whole)
        assert (report["hits"], report["misses"]) == (volumes, volumes)
        assert any("20000 devices" in warning for warning in report["warnings"])


def test_bad_input_is_one_clear_error(three: str, tmp_path: Path, run: Run) -> None:
    zero = objects(tmp_path / "zero", (1, 1, 0, -1), (1, 2, 0, -1))
    back = objects(tmp_path / "back", (2, 1, 5, -1), (1, 2, 5, -1))
    blind = objects(tmp_path / "blind", (2, 1, 5, 0), (2, 2, 5, 0))
    block = mqsim(tmp_path / "block", (0, 8, 8, 1), (1, 8, 8, 1))
    as_objects = ("--format", "oracleGeneral")
    for args, what, hint in [
        ((three, "--dram", "1KiB", "--policy", "siev"), "none called `siev`", "sieve; known: fifo"),
        ((three, "--dram", "1KiB", "--policy", "xyz"), "none called `xyz`", "known: fifo"),
        ((three, "--dram", "0B"), "holds nothing", "16MiB"),
        ((three, "--dram", "1KiB", "--flash", "1GiB"), "DRAM alone", "--flash 0"),
        ((zero, "--dram", "1KiB", *as_objects), "no request: 2 are of no bytes", "whole"),
        ((back, "--dram", "1KiB", *as_objects), "time goes backwards by 1s", "--order clamp"),
        (
            (blind, "--dram", "1KiB", "--policy", "belady", *as_objects),
            "next access",
            "--policy lru",
        ),
        ((block, "--dram", "1KiB"), "holds no page", "16MiB"),
        ((str(tmp_path / "none"), "--dram", "1KiB"), "none", "check the name"),
    ]:
        ran = run("cache", "replay", *args)
        assert (ran.status, ran.out) == (1, ""), args
        error, _, tried = ran.err.partition("\n  try: ")
        assert what in error, ran.err
        assert hint in tried, ran.err
    assert run("cache", "replay", blind, "--dram", "1KiB", *as_objects).status == 0
    assert cache.replay(back, dram="1KiB", format="oracleGeneral", order="clamp")["requests"] == 2
    with raises("unknown-name", "`repeat`"):
        cache.replay(three, dram="1KiB", repeat=2)
    with raises("unknown-name", "`polcy`"):
        cache.replay(three, dram="1KiB", polcy="lru")  # type: ignore[call-overload]


def test_policies_are_listed_with_what_they_follow(run: Run) -> None:
    ran = run("cache", "policies")
    assert ran.status == 0
    rows = ran.out.splitlines()[1:]
    assert [row.split()[0] for row in rows] == NAMES == [name for name, _, _ in cache.policies()]
    assert "SOSP 2023" in ran.out
    assert "FAST 2003" in ran.out


def test_json_to_stdout_is_alone_there(three: str, run: Run) -> None:
    ran = run("cache", "replay", three, "--dram", "1KiB", "--json", "-")
    assert json.loads(ran.out)["requests"] == 5
    assert "miss ratio" in ran.err


@pytest.mark.parametrize(
    ("text", "requests"),
    [("16.1k", 16_100), ("1.001k", 1001), ("16.1M", 16_100_000), ("1_000", 1000)],
)
def test_a_warm_up_is_a_whole_number_of_requests(text: str, requests: int) -> None:
    assert warm_up(text) == {"requests": requests}


@pytest.mark.parametrize("text", ["1.0005k", "9" * 400])
def test_a_warm_up_of_another_number_is_refused(text: str) -> None:
    with pytest.raises(GordonError, match="not a number of requests"):
        warm_up(text)


def test_times_of_objects_count_from_the_first_request(tmp_path: Path) -> None:
    trace = tmp_path / "t.csv"
    found = []
    for start in (0, 1_700_000_000):
        trace.write_text(f"{start},1,4096\n{start + 10},2,4096\n")
        found.append(
            cache.replay(trace, policy="flashcache", dram="16MiB", format="libcachesim-csv").report
        )
    assert 9.9 < found[0]["simulated_s"] < 10.1
    assert found[1]["simulated_s"] == pytest.approx(found[0]["simulated_s"])
    assert found[1]["requests_per_s"] == pytest.approx(found[0]["requests_per_s"])


def test_an_object_of_many_gigabytes_is_a_miss(tmp_path: Path) -> None:
    log = tmp_path / "a.log"
    log.write_text('h - - [10/Oct/2000:13:55:36 +0000] "GET /iso HTTP/1.1" 200 20000000000\n')
    report = cache.replay(log, policy="flashcache", dram="64MiB", format="clf").report
    assert (report["misses"], report["miss_bytes"]) == (1, 20_000_000_000)


@pytest.mark.parametrize("size", [1000, 4096])
def test_a_whole_object_that_is_written_is_not_fetched(tmp_path: Path, size: int) -> None:
    trace = tmp_path / "w.csv"
    trace.write_text(f"0,W,1,{size}\n")
    report = cache.replay(
        trace, policy="flashcache", dram="16MiB", columns="time=1:s,op=2,key=3,size=4:B"
    ).report
    assert report["backend"]["reads"] == 0
