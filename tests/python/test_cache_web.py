"""`gordon cache generate`, and web servers' logs: both are replayed; bad input is an error."""

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
    made: Any = json.loads((tmp_path / "made.json").read_text())
    assert (made["file_bytes"], made["requests"], made["rows"]) == (100_000_000, 20_000, 20_000)
    assert made["config"]["seed"] == 1
    assert made["directories"] is None
    pages: Any = cache.replay(tmp_path / "web.parquet", dram="1GiB")
    assert pages["unit"] == "page"
    assert pages["evictions"] == 0
    # Everything fits: only first requests miss, and files share no page.
    assert pages["resident_bytes"] <= made["span_bytes"]
    whole: Any = cache.replay(tmp_path / "web.parquet", dram="1GiB", objects=True)
    assert (whole["requests"], whole["misses"]) == (20_000, made["files_asked"])
    assert made["bytes"] <= whole["bytes"] < made["bytes"] + 20_000 * 512
    for device in ("flash", "disk"):
        ran = run(device, "replay", "web.parquet", "--fit", "wrap", "--json", f"{device}.json")
        assert ran.status == 0, ran.err
        report: Any = json.loads((tmp_path / f"{device}.json").read_text())
        assert report["requests"] == 20_000


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
        (("surge", "--requests", "0"), 2, "is not a number from 1 to"),
        (("surge", "--requests", "1.5"), 2, "is not a number from 1 to"),
        (("webstone",), 2, "'webstone' is not one of 'surge', 'specweb99'"),
        (("surge", "--clients", "0"), 2, "--clients"),
    ],
)
def test_invalid_workloads_are_errors(
    run: Run, tmp_path: Path, args: tuple[str, ...], status: int, says: str
) -> None:
    ran = run("cache", "generate", *args, "-o", "web.parquet")
    assert ran.status == status
    assert says in ran.err
    assert not list(tmp_path.iterdir())


def test_an_existing_output_is_not_overwritten(run: Run, tmp_path: Path) -> None:
    (tmp_path / "web.parquet").write_text("mine")
    ran = run("cache", "generate", "surge", "--requests", "10", "-o", "web.parquet")
    assert ran.status == 1
    assert "web.parquet exists\n  try: another name" in ran.err
    assert (tmp_path / "web.parquet").read_text() == "mine"
    ran = run("cache", "generate", "surge", "--requests", "10", "-o", "nowhere/web.parquet")
    assert (ran.status, "cannot write nowhere/web.parquet" in ran.err) == (1, True)
    with pytest.raises(GordonError, match="no workload is called `webstone`"):
        web.generate("webstone", tmp_path / "x", requests=1)  # type: ignore[arg-type]


def test_a_log_is_replayed_object_by_object(run: Run, tmp_path: Path) -> None:
    ran = run(
        "cache", "replay", str(LOG), "--dram", "10MiB", "--policy", "lru", "--json", "report.json"
    )
    assert ran.status == 0, ran.err
    for note in ("other methods: 3 ", "other statuses: 6 ", "empty: 1 "):
        assert f"warning: {note}" in ran.err
    report: Any = json.loads((tmp_path / "report.json").read_text())
    # 26 requests for 11 objects, all of which fit.
    assert (report["unit"], report["requests"], report["misses"]) == ("object", 26, 11)
    assert report["bytes"] == 1_178_426
    trace = report["provenance"]["trace"]
    assert (trace["format"], trace["other_methods"], trace["other_statuses"]) == ("clf", 3, 6)
    # The largest alone does not fit, and is not let in.
    small: Any = cache.replay(LOG, dram="64KiB", policy="fifo", format="clf")
    assert (small["misses"], small["refused"]) == (11, 1)


def lines(*replies: tuple[str, str, int, int], more: str = "") -> str:
    """Lines of an access log: what precedes the time, target, bytes, second."""
    return "".join(
        f'{client} [17/May/2015:10:05:{second:02} +0000] "GET {target} HTTP/1.1" 200 {size}'
        f' "-" "x"{more}\n'
        for client, target, size, second in replies
    )


def test_a_log_may_go_back_in_time(run: Run, tmp_path: Path) -> None:
    log = tmp_path / "back.log"
    rows = (("h - -", "/a", 9, 43), ("h - -", "/b", 9, 3), ("h - -", "/a", 9, 33))
    log.write_text(lines(*rows))
    ran = run("cache", "replay", "back.log", "--dram", "1MiB", "--json", "report.json")
    assert ran.status == 0, ran.err
    assert "warning: clamped: 2 earlier than the one before" in ran.err
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["requests"], report["hits"]) == (3, 1)
    assert report["provenance"]["trace"]["clamped"] == 2
    # With --order strict, no hint names an option that cannot work.
    ran = run("cache", "replay", "back.log", "--dram", "1MiB", "--order", "strict")
    assert ran.status == 1
    hint = ran.err.partition("\n  try: ")[2]
    assert "--order clamp" in hint
    assert "sort" not in hint
    assert "skip" not in hint


def test_a_reply_of_4_gib_and_more(tmp_path: Path) -> None:
    size = 5 << 30
    rows = [("h - -", target, size + n, n) for n, target in enumerate(("/a", "/b", "/a", "/b"))]
    (tmp_path / "big.log").write_text(lines(*rows))
    for policy in ("lru", "fifo", "arc", "belady"):
        report: Any = cache.replay(tmp_path / "big.log", dram="20GiB", policy=policy)
        assert (report["hits"], report["bytes"]) == (2, 4 * size + 6), policy
        assert report["resident_bytes"] == 2 * size + 1, policy
    curve: Any = cache.mrc(tmp_path / "big.log", dram=["5GiB", "11GiB"])
    assert [point["misses"] for point in curve["points"]] == [4, 2]


def test_each_virtual_host_has_its_own_objects(run: Run, tmp_path: Path) -> None:
    sites = [f"site{n}.example.org" for n in range(10)]
    address = "198.51.100.7"
    logs = {
        "vhost_combined": [(f"{site}:443 {address} - -", "") for site in sites],
        "first": [(f"{site} {address} - -", "") for site in sites],
        "lighttpd": [(f"{address} {site} -", "") for site in sites],
        "quoted": [(f"{address} - -", f' "{site}"') for site in sites],
    }
    for name, rows in logs.items():
        log = tmp_path / f"{name}.log"
        twice = "".join(
            lines((client, "/index.html", 9, second), more=more)
            for second in (1, 2)
            for client, more in rows
        )
        log.write_text(twice)
        report: Any = cache.replay(log, dram="1MiB")
        assert (report["hits"], report["misses"]) == (10, 10), name
        assert report["provenance"]["trace"]["virtual_hosts"] == 20
        assert "virtual hosts: 20 of 20" in run("cache", "replay", str(log), "--dram", "1MiB").out
    # One site: the addresses of proxies are not hosts.
    log.write_text(lines(("h - -", "/", 9, 1), ("h - -", "/", 9, 2), more=' "10.0.0.1, 10.0.0.2"'))
    report = cache.replay(log, dram="1MiB")
    assert (report["hits"], report["provenance"]["trace"]["virtual_hosts"]) == (1, 0)


def test_bad_lines_of_a_log(run: Run, tmp_path: Path) -> None:
    lines = LOG.read_text().splitlines()
    (tmp_path / "access.log").write_text("\n".join([*lines[:5], "half a li", *lines[5:]]))
    ran = run("cache", "replay", "access.log", "--dram", "10MiB")
    assert ran.status == 1
    assert "access.log, line 6: time: expected [day/Mon/year" in ran.err
    assert "try: --skip-bad" in ran.err
    ran = run("cache", "replay", "access.log", "--dram", "10MiB", "--skip-bad")
    assert ran.status == 0
    assert "warning: skipped: 1 malformed, left out; the first: line 6: time: " in ran.err
    # Belady's policy reads it twice.
    args = ("--dram", "10MiB", "--policy", "belady", "--skip-bad")
    assert run("cache", "replay", "access.log", *args).status == 0
    ran = run("trace", "convert", str(LOG), "blocks", "--to", "mqsim")
    assert (ran.status, "try: --to oracleGeneral" in ran.err) == (1, True)
    ran = run("flash", "replay", str(LOG))
    assert (ran.status, "try: gordon cache replay" in ran.err) == (1, True)
