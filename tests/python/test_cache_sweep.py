"""`gordon cache sweep` and `mrc` compared with `replay`; samples compared with the whole trace;
Belady on traces without next accesses."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from browser import result_of
from gordon import cache
from gordon.human import short

from conftest import Run, mqsim, raises

SHARED = Path(__file__).resolve().parents[3] / "shared/traces"
REAL = Path(os.environ.get("GORDON_TRACES", SHARED)) / "block/cloudPhysicsIO.vscsi.gz"
NAMES = [name for name, _, _ in cache.policies()]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Objects of several sizes and popularities, with the time of each next access."""
    draw = random.Random(7)
    keys = [int(draw.paretovariate(0.6)) % 30_000 for _ in range(60_000)]
    following: dict[int, int] = {}
    nexts = []
    for number in range(len(keys) - 1, -1, -1):
        nexts.append(following.get(keys[number], -1))
        following[keys[number]] = number
    rows = zip(keys, reversed(nexts), strict=True)
    records = (struct.pack("<IQIq", 1, key, 50 + key * 31 % 400, coming) for key, coming in rows)
    path = tmp_path_factory.mktemp("made") / "made.bin"
    path.write_bytes(b"".join(records))
    return str(path)


@pytest.fixture(scope="module")
def block(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A block trace of 20,000 requests, of up to three pages each."""
    draw = random.Random(3)
    path = tmp_path_factory.mktemp("block") / "t"
    rows = [
        (i * 10, int(draw.paretovariate(0.5)) % 40_000, draw.randrange(1, 24), draw.randrange(2))
        for i in range(20_000)
    ]
    return mqsim(path, *rows)


def test_each_point_is_what_replay_says(made: str) -> None:
    report: Any = cache.sweep(made, policies="all", dram="32KiB..512KiB", format="oracleGeneral")
    assert [point["policy"] for point in report["points"]] == [n for n in NAMES for _ in range(5)]
    for point in report["points"]:
        dram = f"{point['dram_bytes']}B"
        alone: Any = cache.replay(made, policy=point["policy"], dram=dram, format="oracleGeneral")
        assert point == alone, point["policy"]
        assert 0 < point["hits"] < point["requests"] == 60_000


def test_pages_with_a_policy_that_sees_ahead(block: str) -> None:
    report: Any = cache.sweep(
        block, policies=["lru", "belady"], dram=["64KiB", "1MiB"], format="mqsim"
    )
    for point in report["points"]:
        dram = f"{point['dram_bytes']}B"
        alone: Any = cache.replay(block, policy=point["policy"], dram=dram, format="mqsim")
        assert point == alone
    misses = {(p["policy"], p["dram_bytes"]): p["misses"] for p in report["points"]}
    for size in (64 << 10, 1 << 20):
        assert misses["belady", size] < misses["lru", size]


def test_the_same_bytes_whatever_the_threads(made: str, tmp_path: Path) -> None:
    report = []
    for threads in (1, 3):
        out, page = tmp_path / f"{threads}.json", tmp_path / f"{threads}.html"
        args = ["cache", "sweep", made, "--format", "oracleGeneral", "--policy", "lru,sieve,lecar"]
        args += ["--dram", "16KiB..256KiB", "--json", str(out), "--report", str(page)]
        environment = os.environ | {"RAYON_NUM_THREADS": str(threads)}
        subprocess.run([sys.executable, "-m", "gordon", *args], check=True, env=environment)
        report.append((out.read_bytes(), page.read_bytes()))
    assert report[0] == report[1]
    assert len(json.loads(report[0][0])["points"]) == 15


def test_a_sweep_is_a_table_and_a_report(made: str, tmp_path: Path, run: Run) -> None:
    page = tmp_path / "cache.html"
    given = ("--format", "oracleGeneral", "--policy", "lru,s3-fifo", "--dram", "64KiB,128KiB")
    ran = run("cache", "sweep", made, *given, "--report", str(page))
    assert ran.status == 0, ran.err
    rows = [line.split() for line in ran.out.splitlines()]
    assert ["dram", "lru", "s3-fifo"] in rows
    lru: Any = cache.replay(made, dram="64KiB", format="oracleGeneral")
    assert any(row[:3] == ["64", "KiB", f"{lru['miss_ratio']:.4f}"] for row in rows)
    html = page.read_text()
    assert f"<td>{lru['miss_ratio']:.4f}</td>" in html
    assert f"<td>{lru['byte_miss_ratio']:.4f}</td>" in html
    assert "SOSP 2023" in html
    drawn = result_of(html)["figures"]
    assert set(drawn) == {"miss_ratio", "byte_miss_ratio"}
    assert [line["name"] for line in drawn["miss_ratio"]["data"]] == ["lru", "s3-fifo"]
    assert drawn["miss_ratio"]["data"][0]["y"][0] == lru["miss_ratio"]
    assert "default-src 'none'" in html


def test_a_curve_is_lru_to_the_last_request_for_pages(block: str) -> None:
    report: Any = cache.mrc(block, dram="16KiB..32MiB", format="mqsim")
    assert (report["exact"], report["unit"], report["sample"]) == (True, "page", 1)
    for point in report["points"]:
        alone: Any = cache.replay(block, dram=f"{point['dram_bytes']}B", format="mqsim")
        for key in ("misses", "miss_ratio", "byte_miss_ratio", "dram_bytes"):
            assert point[key] == alone[key], key
    whole: Any = cache.mrc(block, format="mqsim")
    last = whole["points"][-1]
    assert last["dram_bytes"] >= whole["footprint_bytes"]
    assert last["misses"] * 4096 == whole["footprint_bytes"]
    assert whole["points"][0]["dram_bytes"] >= whole["footprint_bytes"] / 1024
    ratios = [point["miss_ratio"] for point in whole["points"]]
    assert ratios == sorted(ratios, reverse=True)


def test_a_curve_of_objects_of_several_sizes_says_so(made: str) -> None:
    report: Any = cache.mrc(made, dram="32KiB..1MiB", format="oracleGeneral")
    assert not report["exact"]
    assert any("several sizes" in warning for warning in report["warnings"])
    for point in report["points"]:
        alone: Any = cache.replay(made, dram=f"{point['dram_bytes']}B", format="oracleGeneral")
        assert 0 <= alone["misses"] - point["misses"] < 0.002 * alone["requests"]


@pytest.mark.parametrize(("how", "most"), [({"sample": 0.1}, 0.02), ({"keep": 8192}, 0.03)])
def test_samples_of_a_real_trace(how: Any, most: float) -> None:
    if not REAL.is_file():
        pytest.skip(f"the real trace is not here: {REAL}")
    whole: Any = cache.mrc(REAL, dram="1MiB..4GiB")
    part: Any = cache.mrc(REAL, dram="1MiB..4GiB", **how)
    assert whole["exact"]
    assert not part["exact"]
    assert part["sampled_requests"] < whole["requests"] / 5
    assert part["index_bytes"] < whole["index_bytes"] / 5
    pairs = zip(whole["points"], part["points"], strict=True)
    apart = [abs(a["miss_ratio"] - b["miss_ratio"]) for a, b in pairs]
    assert 0 < sum(apart) / len(apart) < most, apart
    misses = {point["dram_bytes"]: point["misses"] for point in whole["points"]}
    for size in (16 << 20, 256 << 20):
        assert misses[size] == cache.replay(REAL, dram=f"{size}B")["misses"]


def test_belady_reads_a_trace_without_next_accesses_twice(made: str, tmp_path: Path) -> None:
    # The same requests as a block trace: keys are sectors, sizes whole sectors.
    records = struct.iter_unpack("<IQIq", Path(made).read_bytes())
    rows = [(key, 1 + key % 3, coming) for _, key, _, coming in records][:20_000]
    block = mqsim(tmp_path / "t", *((i, key, n, 1) for i, (key, n, _) in enumerate(rows)))
    objects = tmp_path / "o"
    objects.write_bytes(
        b"".join(
            struct.pack("<IQIq", 1, key, n * 512, coming if coming < len(rows) else -1)
            for key, n, coming in rows
        )
    )
    for dram in ("64KiB", "1MiB"):
        report: Any = cache.replay(block, policy="belady", dram=dram, format="mqsim", objects=True)
        known: Any = cache.replay(objects, policy="belady", dram=dram, format="oracleGeneral")
        assert report["misses"] == known["misses"]
        assert report["ahead_bytes"] > 4 * 20_000
        assert known["ahead_bytes"] == 0


def test_bad_input_is_one_clear_error(made: str, block: str, run: Run) -> None:
    objects = ("--format", "oracleGeneral")
    for args, what, hint in [
        (("sweep", made, "--dram", "1KiB", "--policy", "lru,siev"), "called `siev`", "sieve"),
        (("sweep", made, "--dram", "2MiB..1MiB"), "--dram 2MiB..1MiB: a range", "4KiB..64MiB"),
        (("sweep", made, "--dram", "0B"), "--dram 0B: a range", "4KiB"),
        (("sweep", block, "--dram", "1KiB", "--format", "mqsim"), "holds no page", "16MiB"),
        (("sweep", "-", "--format", "mqsim", "--dram", "1MiB", "--policy", "belady"), "twice", ""),
        (("mrc", made, "--sample", "1.5", *objects), "not a share", "at most 1"),
        (("mrc", made, "--sample", "0", *objects), "not a share", "more than 0"),
        (("mrc", made, "--sample", "0.5", "--keep", "9", *objects), "not both", "--keep 8192"),
        (("mrc", made, "--dram", "x", *objects), "x", ""),
    ]:
        ran = run("cache", *args)
        assert (ran.status, ran.out) == (1, ""), args
        error, _, tried = ran.err.partition("\n  try: ")
        assert what in error, ran.err
        assert hint in tried, ran.err
    assert run("cache", "mrc", made, "--exact", "--sample", "0.1").status == 2
    with raises("unknown-name", "`polices`"):
        cache.sweep(made, dram="1MiB", polices="lru")  # type: ignore[call-arg]
    with raises("impossible", "sweep"):
        cache.sweep(made, dram="1MiB", policies=[])


def test_a_small_sample_says_so(made: str, run: Run) -> None:
    ran = run("cache", "mrc", made, "--format", "oracleGeneral", "--sample", "1e-9")
    assert ran.status == 1
    assert "no object of the trace is in the sample" in ran.err
    assert "take a larger one" in ran.err
    ran = run("cache", "mrc", made, "--format", "oracleGeneral", "--keep", "500", "--json", "-")
    report = json.loads(ran.out)
    assert report["followed_objects"] == 500
    assert "of them count" in ran.err


def test_a_curve_is_a_report(block: str, tmp_path: Path, run: Run) -> None:
    page = tmp_path / "curve.html"
    given = (block, "--format", "mqsim", "--dram", "64KiB..512KiB")
    ran = run("cache", "mrc", *given, "--report", str(page))
    assert ran.status == 0, ran.err
    assert f"wrote {page}" in ran.err
    report: Any = cache.mrc(block, dram="64KiB..512KiB", format="mqsim")
    html = page.read_text()
    assert html == report.html()
    for point in report["points"]:
        assert f"<td>{point['misses']:,}</td><td>{point['miss_ratio']:.4f}</td>" in html
    assert "exactly those of a cache" in html
    assert "Mattson" in html
    assert "default-src 'none'" in html
    sampled: Any = cache.mrc(block, sample=0.5, format="mqsim")
    assert f"{sampled['sampled_requests']:,} of {sampled['requests']:,}" in sampled.html()
    assert "estimated" in sampled.html()
    for key in ("footprint_bytes", "index_bytes"):
        assert f'<td class="text">{short(report[key], "B")}</td>' in html


@pytest.mark.parametrize("levels", [{}, {"flash": "0,2MiB", "set": ["cache.ways=4"]}])
def test_ctrl_c_ends_a_sweep(levels: Any, tmp_path: Path) -> None:
    # Two thousand million requests: it ends when it hears of it, on any machine.
    path = tmp_path / "long.bin.gz"
    some = b"".join(struct.pack("<IQIq", 1, key * key % 97, 4000, -1) for key in range(100))
    path.write_bytes(gzip.compress(some * 10_000) * 2000)

    def interrupt(done: int, _: int) -> None:
        if done > 0:
            os.kill(os.getpid(), signal.SIGINT)

    names = [name for name in NAMES if name != "belady"]
    options = {"policies": names, "dram": "4MiB..256MiB", "format": "oracleGeneral", **levels}
    with pytest.raises(KeyboardInterrupt):
        cache.sweep(path, progress=interrupt, **options)
