"""`gordon disk`: tables, reports and comparisons, and what they say of the disk."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from gordon import disk

from conftest import Run, mqsim, raises

PAIR = ("sata-7200-1tb", "laptop-5400-160gb")
LOAD = ("--pattern", "mixed", "--size", "16KiB", "--requests", "1000")


def row(text: str, title: str) -> list[str]:
    """The cells of a row of the report."""
    found = re.search(rf'data-row="{re.escape(title)}">(.*?)</tr>', text)
    assert found, title
    return [re.sub(r" *<small>.*?</small>", "", c) for c in re.findall(r"<td>(.*?)</td>", found[1])]


def test_the_series_adds_up(tmp_path: Path) -> None:
    result: Any = disk.bench("mixed", requests=3000, size="64KiB", stripe=2)
    assert result.tables == ["series", "latency", "outstanding"]
    report, series = result.report, result.columns("series")
    spans = series["length_s"]
    assert sum(spans) == pytest.approx(report["simulated_s"])

    def total(column: str) -> float:
        return float(sum(v * span for v, span in zip(series[column], spans, strict=True)))

    for op in ("read", "write"):
        assert total(f"{op}_mb_s") == pytest.approx(report[op]["bytes"] / 1e6)
        assert total(f"{op}_iops") == pytest.approx(report[op]["requests"])
    busy = [a + b for a, b in zip(series["reading"], series["writing"], strict=True)]
    assert 0 < max(busy) <= 1
    assert total("reading") == pytest.approx(report["reading"] * report["simulated_s"], rel=0.02)
    assert sum(report["mechanism_s"].values()) == pytest.approx(2 * report["simulated_s"])
    assert report["mechanism_s"]["seek"] == pytest.approx(report["seek_ms"]["total"] / 1e3)
    result.to_parquet(tmp_path)
    assert (tmp_path / "series.parquet").read_bytes()[:4] == b"PAR1"


def test_the_mechanisms_time_is_of_the_disk() -> None:
    # 64 KiB at random, one at a time: 8.5 ms of seek, half of 8.33 of rotation; at rates from 105
    # to 57.8 MB/s, 0.62 to 1.13 ms of transfer.
    report: Any = disk.bench(
        "random-read",
        size="64KiB",
        requests=3000,
        queue_depth=1,
        set=["cache.read_ahead=0B"],
    ).report
    times = {name: time * 1e3 / 3000 for name, time in report["mechanism_s"].items()}
    assert times["seek"] == pytest.approx(8.5, rel=0.03)
    assert times["rotation"] == pytest.approx(4.17, rel=0.03)
    assert 0.62 < times["transfer"] < 1.2


def test_energy_is_reported_by_state(tmp_path: Path) -> None:
    slow: Any = disk.load("sata-7200-1tb")
    state = {"name": "standby", "after": "20s", "draws": "1W", "wake": "6s", "wake_energy_j": 90.0}
    slow["power"]["states"] = [state]
    trace = mqsim(tmp_path / "t", (0, 0, 8, 1), (100_000_000_000, 1 << 20, 8, 1))
    result: Any = disk.replay(trace, slow)
    parts = result.report["energy_by_part_j"]
    assert sum(parts.values()) == pytest.approx(result.report["energy_j"])
    assert parts["waking"] == 90
    assert parts["standby"] == pytest.approx(80, rel=0.001)
    assert parts["idle"] == pytest.approx(20 * 9, rel=0.001)
    assert parts["reading"] == pytest.approx(13 * 0.01, abs=13 * 0.02)
    text = result.html()
    assert row(text, "Energy: standby") == ["80.0 J"]
    assert row(text, "Energy: waking") == ["90.0 J"]
    assert row(text, "Power states below idle: standby: wake-ups") == ["1"]
    bars = {bar.name: bar.x[0] for bar in result.figures()["energy"].data}
    assert bars == {name: joules for name, joules in parts.items() if joules}


def test_a_report_says_what_was_simulated(run: Run, tmp_path: Path) -> None:
    trace = mqsim(tmp_path / "t", *((i * 20_000_000, i * 1000, 64, i % 2) for i in range(500)))
    page, numbers = tmp_path / "r.html", tmp_path / "r.json"
    args = ("--scheduler", "look", "--seed", "7", "--report", str(page), "--json", str(numbers))
    ran = run("disk", "replay", trace, "--format", "mqsim", *args)
    assert ran.status == 0, ran.err
    assert f"wrote {page}" in ran.err
    text, report = page.read_text(encoding="utf-8"), json.loads(numbers.read_text())
    from gordon.report.page import percent, sig

    responses = "Response times of all requests"
    assert row(text, f"{responses}: p99, ms") == [sig(report["response_ms"]["p99"])]
    assert row(text, "Reads: latency p99, ms") == [sig(report["read"]["latency_us"]["p99"] / 1e3)]
    time = report["mechanism_s"]
    assert row(text, "Mechanism: seek") == [percent(time["seek"] / sum(time.values()))]
    assert row(text, "Buffer: reads served from the buffer") == [f"{report['buffer_hits']:,}"]
    assert row(text, "Buffer: destages to the medium") == [f"{report['destages']:,}"]
    # Where it comes from.
    facts = dict(re.findall(r'<tr><th scope="row">(.*?)</th><td>(.*?)</td></tr>', text))
    assert facts["trace crc32"] == report["provenance"]["trace"]["crc32"]
    assert (facts["seed"], facts["scheduler"]) == ("7", "look")
    assert f"gordon {report['provenance']['version']}, seed 7" in text
    # Published and assumed values are marked.
    rpm = re.search(r'<th scope="row">geometry.rpm</th>.*?</tr>', text)
    assert rpm
    assert "published" in rpm[0]
    assert "Manual" in rpm[0]
    skew = re.search(r'<th scope="row">geometry.track_skew</th>.*?</tr>', text)
    assert skew
    assert 'class="tag assumed"' in skew[0]


def test_a_source_shared_by_a_whole_drive_is_printed_once(tmp_path: Path) -> None:
    text: Any = disk.bench("random-read", "seagate-cheetah-9lp", requests=100).html()
    parameters = text.partition('id="parameters"')[2].partition("</section>")[0]
    assert parameters.count("valid/cheetah9LP.diskspecs") == 1
    assert re.search(r"geometry.rpm</th><td>10045</td></tr>", parameters)
    assert "energy" not in disk.bench("random-read", "dec-rz26", requests=100).figures()


def test_a_comparison_gives_each_the_same_load(run: Run, tmp_path: Path) -> None:
    page = tmp_path / "c.html"
    ran = run("disk", "compare", *PAIR, *LOAD, "--report", str(page), "--json", "-")
    assert ran.status == 0, ran.err
    report = json.loads(ran.out)
    assert report["baseline"] == PAIR[0]
    first, second = report["devices"]
    assert (first["name"], second["name"]) == PAIR
    one: Any = disk.bench("mixed", PAIR[1], size="16KiB", requests=1000).report
    assert second["report"] == one
    for key, path in (("response_mean_ms", "response_ms"), ("seek_mean_ms", "seek_ms")):
        ratio = second["report"][path]["mean"] / first["report"][path]["mean"]
        assert second["relative"][key] == pytest.approx(ratio)
    assert set(first["relative"].values()) == {1}
    mean = row(page.read_text(encoding="utf-8"), "Response times of all requests: mean, ms")
    assert len(mean) == 2
    assert "Gordon disk compare" in page.read_text(encoding="utf-8")


def test_a_comparison_fits_the_screen(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trace = mqsim(tmp_path / "t", *((i * 20_000_000, i * 1000, 64, i % 2) for i in range(100)))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "dumb")
    ran = run("disk", "compare", trace, *PAIR, "seagate-cheetah-9lp")
    assert ran.status == 0, ran.err
    text = re.sub(r"\x1b\[[0-9;]*m", "", ran.out)
    assert "ratios to sata-7200-1tb" in " ".join(text.split())
    assert all(name in text for name in PAIR)
    assert "mean ms" in text
    assert "…" not in text
    assert max(map(cell_len, text.splitlines())) <= 80, text


@pytest.mark.parametrize(
    ("args", "kind", "named"),
    [
        (("compare", PAIR[0], *LOAD), "too-few-devices", ()),
        (("compare", PAIR[0], PAIR[0], *LOAD), "same-name", ("sata-7200-1tb",)),
        (("compare", "none", *PAIR), "trace", ("none",)),
        (("compare", PAIR[0], "no-such", *LOAD), "unknown-name", ("disk preset `no-such`",)),
        (
            ("compare", *PAIR, *LOAD, "--set", "geometry.rpm=1"),
            "disk",
            ("sata-7200-1tb", "geometry.rpm is 1"),
        ),
        (("compare", *PAIR, *LOAD, "--report", "no/c.html"), "missing-folder", ("mkdir -p no",)),
        (("bench", *LOAD, "--report", "no/r.html"), "missing-folder", ("mkdir -p no",)),
        (("bench", *LOAD, "--report", "."), "is-a-folder", ("cannot write .",)),
        (("bench", *LOAD, "--report", "x", "--json", "x"), "path-in-use", (" x\n",)),
        (("bench", *LOAD, "--report", "x", "--responses", "x"), "path-in-use", (" x\n",)),
    ],
)
def test_bad_input_is_one_clear_error(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...],
    kind: str, named: tuple[str, ...],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    ran = run("disk", *args)
    ran.refused(kind, *named)
    assert ran.out == ""
    assert "defect" not in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_comparison_has_no_files_of_one_run(run: Run, tmp_path: Path) -> None:
    for option in ("responses_out", "requests_out"):
        file: Any = {option: tmp_path / "x"}
        with raises("file-of-one-run", option):
            disk.compare(None, PAIR, pattern="mixed", **file)
    for option in ("--responses", "--preset", "--diskspecs"):
        ran = run("disk", "compare", *PAIR, *LOAD, option, "x")
        assert ran.status == 2
        assert option in ran.err
    with raises("one-load"):
        disk.compare(None, PAIR)  # type: ignore[call-overload]


def test_a_place_that_cannot_be_written_is_an_error(run: Run) -> None:
    ran = run("disk", "bench", *LOAD, "--report", "/proc/gordon.html")
    assert ran.status == 1
    assert "cannot write /proc/gordon.html" in ran.err


def test_a_description_of_disksims_shows_its_numbers(run: Run, tmp_path: Path) -> None:
    shared: Any = Path(__file__).resolve().parents[3] / "shared/traces"
    folder = Path(os.environ.get("GORDON_TRACES", shared)) / "disk/cheetah9LP"
    if not folder.is_dir():
        pytest.skip(f"the traces of real drives are not here: {folder}")
    specs = folder / "cheetah9LP.diskspecs"
    result: Any = disk.bench("random-read", requests=100, diskspecs=specs)
    assert result.report["provenance"]["config"]["device"]["classic"]["geometry"]["rpm"] == 10045
    parameters = result.html().partition('id="parameters"')[2].partition("</section>")[0]
    assert str(specs) in parameters
    assert re.search(r"geometry.rpm</th><td>10045</td></tr>", parameters)
