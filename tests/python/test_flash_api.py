"""`gordon flash` and `gordon.flash`: the screen, the files, the Python API."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from gordon import GordonError, flash
from gordon.human import duration, figures
from gordon.report.page import percent, sig
from gordon.report.run_entries import TIMES
from limits import PATIENCE_S

from conftest import CHANGES, SMALL, Json, Run, raises

# What people see.


def test_a_run_fits_one_screen(run: Run, mixed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran = run("flash", "replay", mixed, *SMALL)
    assert "modelled" in ran.out
    for word in ("read", "write amplification", "erases", "busy", "energy", "endurance", "p99.9"):
        assert word in ran.out
    assert len(ran.out.splitlines()) <= 24
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "dumb")
    compare = ("compare", mixed, "gordon-slc-256g", "gordon-mlc-512g", *SMALL)
    for args in (("replay", mixed, *SMALL), ("presets",), compare, ("wa", "--blocks", "64")):
        text = re.sub(r"\x1b\[[0-9;]*m", "", run("flash", *args).out)
        assert text
        assert "…" not in text
        assert max(map(cell_len, text.splitlines())) <= 80, text


def test_json_is_alone_on_stdout(run: Run, mixed: str) -> None:
    ran = run("flash", "replay", mixed, *SMALL, "--json", "-")
    assert json.loads(ran.out)["requests"] == 2000
    assert "write amplification" in ran.err


def test_a_pipe_is_written_to_and_stays(run: Run, tmp_path: Path) -> None:
    """As a device would be: a renamed file must not take its place."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    load = ("flash", "bench", "--pattern", "random-write", "--requests", "10")
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE, text=True) as reader:
        assert run(*load, "--json", str(pipe)).status == 0
        answer, _ = reader.communicate(timeout=PATIENCE_S)
    assert json.loads(answer)["requests"] == 10
    assert pipe.is_fifo()
    for option in ("--requests-out", "--checkpoint"):
        refused = run(*load, option, str(pipe))
        assert refused.status == 1
        assert str(pipe) in refused.err
        assert pipe.is_fifo()


def test_devices_are_compared_by_bytes_programmed(run: Run, tmp_path: Path) -> None:
    """A page of one is sixteen of the other: pages programmed a page say nothing of both."""
    pattern = ("--pattern", "sequential-write", "--size", "4KiB", "--requests", "640")
    small = ("--closed-loop", "--queue-depth", "1")
    devices = ("gordon-slc-256g", "nvme-tlc-1tb")
    page = tmp_path / "page.html"
    load = (*devices, *pattern, *small, "--json", str(tmp_path / "j"), "--report", str(page))
    ran = run("flash", "compare", *load)
    assert ran.status == 0, ran.err
    reports = [one["report"] for one in json.loads((tmp_path / "j").read_text())["devices"]]
    header, first, second = ran.out.splitlines()[1:]
    assert "write amp., bytes" in header
    pages, bytes_ = (
        [one[f"write_amplification{kind}"] for one in reports] for kind in ("", "_bytes")
    )
    assert pages[0] < bytes_[0], "a write of 4 KiB programs a page of 64 KiB"
    at = header.index("write amp., bytes") + len("write amp., bytes")
    assert first[:at].split()[-1] == figures(bytes_[0])
    assert second[:at].split()[-2:] == [figures(bytes_[1]), f"({figures(bytes_[1] / bytes_[0])})"]
    assert f"{bytes_[0]:.2f} in bytes, {pages[0]:.3f} in pages" in page.read_text()
    alone = run("flash", "bench", *pattern, *small).out
    assert f"write amplification {figures(bytes_[0])} (bytes programmed / host bytes)" in alone


def test_collection_and_tables_are_seen(run: Run, tmp_path: Path) -> None:
    args = ("--pattern", "random-write", "--requests", "3000", *SMALL, "--precondition", "1")
    files = ("--json", str(tmp_path / "j"), "--report", str(tmp_path / "r.html"))
    ran = run("flash", "bench", *args, *files)
    report = json.loads((tmp_path / "j").read_text())
    share = report["utilisation"]["collecting"]
    assert share > 0
    seconds = duration(report["collecting_s"])
    assert f"garbage collection active {share:.0%} of the time, {seconds}" in ran.out
    assert "mapping table (L2P) of the device 0.0117 MiB, 4 bytes per raw page" in ran.out
    rows = dict(
        re.findall(r'data-row="([^"]*)">.*?<td>(.*?)</td>', (tmp_path / "r.html").read_text())
    )
    assert rows["Utilisation: garbage collection active"] == percent(share)
    assert rows["Utilisation: garbage collection active, s"] == sig(report["collecting_s"])
    of_collection = report["write"]["by_cause"]["collection"]["latency_us"]
    for key, title in TIMES.items():
        if key != "p90":
            row = f"Writes: limited by garbage collection: latency {title}, us"
            assert rows[row] == sig(of_collection[key])


# From Python.


def test_a_result_has_its_tables(tmp_path: Path, mixed: str) -> None:
    result: Any = flash.replay(mixed, "gordon-slc-256g", set=CHANGES)
    assert result.tables == ["series", "latency", "outstanding", "erases"]
    for name in result.tables:
        table = result.table(name)
        assert "arrow_array_stream" in repr(table.__arrow_c_stream__())
        assert all(len(column) == len(table) for column in result.columns(name).values())
    assert sum(result.columns("latency")["requests"]) == result.report["requests"]
    series = result.columns("series")
    written = zip(series["write_mb_s"], series["length_s"], strict=True)
    assert sum(mb * s for mb, s in written) == pytest.approx(result.report["write"]["bytes"] / 1e6)
    # Work that was booked at once is spread over the time that it takes.
    assert max(map(sum, zip(series["die_read"], series["die_write"], strict=True))) <= 1
    assert max(series["controller"]) <= 1
    spans = series["length_s"]
    dies = [a + b for a, b in zip(series["die_read"], series["die_write"], strict=True)]
    busy = sum(part * s for part, s in zip(dies, spans, strict=True))
    whole = result.report["utilisation"]["die"] * result.report["simulated_s"]
    assert busy == pytest.approx(whole, rel=0.02)
    result.to_parquet(tmp_path / "tables")
    for name in result.tables:
        content = (tmp_path / "tables" / f"{name}.parquet").read_bytes()
        assert content[:4] == content[-4:] == b"PAR1"
    with pytest.raises(GordonError, match="no table `serie`"):
        result.table("serie")


def test_pyarrow_reads_what_is_written(tmp_path: Path, mixed: str) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    out = tmp_path / "q.parquet"
    result: Any = flash.replay(mixed, set=CHANGES, requests_out=out)
    result.to_parquet(tmp_path)
    for name in result.tables:
        assert pa.table(result.table(name)).to_pydict() == result.columns(name)
        assert pq.read_table(tmp_path / f"{name}.parquet").to_pydict() == result.columns(name)
    assert pq.read_table(out).num_rows == 2000


def test_the_api_is_the_command(flash_report: Json, mixed: str) -> None:
    changes = [*CHANGES, "ftl.victim=fifo"]
    result: Any = flash.replay(mixed, closed_loop=True, queue_depth=8, set=changes)
    args = ("--closed-loop", "--queue-depth", "8", *SMALL, "--set", "ftl.victim=fifo")
    assert flash_report("replay", mixed, *args) == result.report
    device: Any = flash.load("gordon-slc-256g")
    assert flash.replay(mixed, device, set=changes).report["requests"] == 2000
    wa: Any = flash.wa("fifo", 0.7, blocks=64, pages_per_block=16)
    small = ("--rho", "0.7", "--blocks", "64", "--pages-per-block", "16")
    assert flash_report("wa", "--policy", "fifo", *small) == wa


def test_an_unknown_option_is_named(mixed: str) -> None:
    with raises("unknown-name", "option `queue_dept`") as raised:
        flash.replay(mixed, queue_dept=3)  # type: ignore[call-arg]
    assert raised.value.args[1] == "`queue_depth`"
    with raises("one-load"):
        flash.compare(None, ["gordon-slc-256g", "nvme-tlc-1tb"])  # type: ignore[call-overload]


def test_progress_is_reported() -> None:
    ticks: list[tuple[int, int]] = []
    report: Any = flash.bench(
        "random-write", requests=3000, set=CHANGES,
        progress=lambda *tick: ticks.append(tick),
    )  # fmt: skip
    assert ticks[-1] == (3000, 3000)
    assert repr(report) == (
        f"<gordon.flash.Result: gordon-slc-256g, 3000 requests in "
        f"{report.report['simulated_s']:.3f} s>"
    )


def test_a_report_is_saved_whole_or_not_at_all(tmp_path: Path, mixed: str) -> None:
    result: Any = flash.replay(mixed, set=CHANGES)
    result.save(tmp_path / "r.json")
    assert json.loads((tmp_path / "r.json").read_text()) == result.report
    for where in (tmp_path / "none" / "r.html", tmp_path / "r.json" / "r.json"):
        with raises("unwritable", str(where)) as raised:
            result.save(where)
        assert raised.value.args[1]
    with raises("bad-report-format", "r.txt"):
        result.save(tmp_path / "r.txt")
    assert [file.name for file in tmp_path.glob("r*")] == ["r.json"]
