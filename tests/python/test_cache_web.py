"""`gordon cache generate`, and web servers' logs: what is made is replayed, bad input is told."""

import json
from pathlib import Path
from typing import Any

import pytest

from gordon import GordonError, cache
from gordon.cache import web

from conftest import Run

LOG = Path(__file__).resolve().parents[2] / "crates/trace/tests/data/clf/apache-common.log"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_surge_is_generated_and_replayed(run: Run, tmp_path: Path) -> None:
    ran = run(
        *("cache", "generate", "surge", "--files", "100MB", "--requests", "20k"),
        *("-o", "web.parquet", "--json", "made.json"),
    )
    assert ran.status == 0, ran.err
    assert "100 MB; 20,000 requests of 24 clients" in ran.out
    made: dict[str, Any] = json.loads((tmp_path / "made.json").read_text())
    assert (made["file_bytes"], made["requests"], made["rows"]) == (100_000_000, 20_000, 20_000)
    assert made["config"]["seed"] == 1
    assert made["directories"] is None
    pages = cache.replay(tmp_path / "web.parquet", dram="1GiB")
    assert pages["unit"] == "page"
    assert pages["evictions"] == 0
    # Everything fits: what misses is what was not asked for before, and files share no page.
    assert pages["resident_bytes"] <= made["span_bytes"]
    whole = cache.replay(tmp_path / "web.parquet", dram="1GiB", objects=True)
    assert (whole["requests"], whole["misses"]) == (20_000, made["files_asked"])
    assert made["bytes"] <= whole["bytes"] < made["bytes"] + 20_000 * 512


def test_specweb99_is_generated_and_replayed(tmp_path: Path) -> None:
    path = tmp_path / "spec.parquet"
    ticks = []
    made = web.generate(
        "specweb99", path, requests=50_000, progress=lambda *counts: ticks.append(counts)
    )
    assert (made["files"], made["directories"]) == (352 * 36, 352)
    assert ticks[-1] == (50_000, 50_000)
    kinds = {kind["kind"]: kind["requests"] for kind in made["kinds"]}
    assert sum(kinds.values()) == 50_000
    assert abs(kinds["static"] - 35_000) < 500
    assert made["rows"] == 50_000 + kinds["dynamic-post"]
    assert cache.replay(path, dram="128MiB")["provenance"]["trace"]["requests"] == made["rows"]
    other = web.generate("specweb99", tmp_path / "again", requests=50_000)
    assert other["bytes"] == made["bytes"]
    assert (
        web.generate("specweb99", tmp_path / "s2", requests=50_000, seed=2)["bytes"]
        != made["bytes"]
    )


@pytest.mark.parametrize(
    ("args", "status", "says"),
    [
        (("surge", "--files", "1MB"), 1, "a set of 1MB is not between 16MiB and"),
        (("surge", "--files", "many"), 1, "files: "),
        (("surge", "--requests", "0"), 2, "is not a number of at least 1"),
        (("surge", "--requests", "1.5"), 2, "is not a number of at least 1"),
        (("webstone",), 2, "'webstone' is not one of 'surge', 'specweb99'"),
        (("surge", "--clients", "0"), 2, "--clients"),
    ],
)
def test_what_cannot_be_generated(
    run: Run, tmp_path: Path, args: tuple[str, ...], status: int, says: str
) -> None:
    ran = run("cache", "generate", *args, "-o", "web.parquet")
    assert ran.status == status
    assert says in ran.err
    assert not list(tmp_path.iterdir())


def test_a_place_that_is_taken(run: Run, tmp_path: Path) -> None:
    (tmp_path / "web.parquet").write_text("mine")
    ran = run("cache", "generate", "surge", "--requests", "10", "-o", "web.parquet")
    assert ran.status == 1
    assert "web.parquet exists already\n  try: another name" in ran.err
    assert (tmp_path / "web.parquet").read_text() == "mine"
    ran = run("cache", "generate", "surge", "--requests", "10", "-o", "nowhere/web.parquet")
    assert (ran.status, "cannot write nowhere/web.parquet" in ran.err) == (1, True)
    with pytest.raises(GordonError, match="no workload is called `webstone`"):
        web.generate("webstone", tmp_path / "x", requests=1)


def test_a_log_is_replayed_object_by_object(run: Run, tmp_path: Path) -> None:
    ran = run(
        "cache", "replay", str(LOG), "--dram", "10MiB", "--policy", "lru", "--json", "told.json"
    )
    assert ran.status == 0, ran.err
    assert "3 of other methods than GET, 6 of other statuses than 200, 1 without bytes" in ran.err
    told: dict[str, Any] = json.loads((tmp_path / "told.json").read_text())
    # 26 requests for 11 objects, all of which fit.
    assert (told["unit"], told["requests"], told["misses"]) == ("object", 26, 11)
    assert told["bytes"] == 1_178_426
    trace = told["provenance"]["trace"]
    assert (trace["format"], trace["other_methods"], trace["other_statuses"]) == ("clf", 3, 6)
    # The largest alone does not fit, and is not let in.
    small = cache.replay(LOG, dram="64KiB", policy="fifo", format="clf")
    assert (small["misses"], small["refused"]) == (11, 1)


def test_bad_lines_of_a_log(run: Run, tmp_path: Path) -> None:
    lines = LOG.read_text().splitlines()
    (tmp_path / "access.log").write_text("\n".join([*lines[:5], "half a li", *lines[5:]]))
    ran = run("cache", "replay", "access.log", "--dram", "10MiB")
    assert ran.status == 1
    assert "access.log, line 6: time: expected [day/Mon/year" in ran.err
    assert "try: --skip-bad" in ran.err
    ran = run("cache", "replay", "access.log", "--dram", "10MiB", "--skip-bad")
    assert ran.status == 0
    assert "malformed requests were left out, the first: line 6: time: " in ran.err
    # Belady's policy reads it twice.
    args = ("--dram", "10MiB", "--policy", "belady", "--skip-bad")
    assert run("cache", "replay", "access.log", *args).status == 0
    ran = run("trace", "convert", str(LOG), "blocks")
    assert (ran.status, "try: gordon cache replay" in ran.err) == (1, True)
