"""Surveys of machines whose storage was measured: the file, the model, the report, bad files."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sadf
from gordon import GordonError, storage
from gordon._core import io_target

from conftest import Run

SECONDS = 4
MACHINE = """\
name = "own"
summary = "a machine with several storages"

[[machines]]
id = "m"
cores = 2
core_speed = 1.0
memory = "8GiB"
network = "10Gb"
"""
Report = Any


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def job(run: Run, *, reads: int = 0, writes: int = 0, kib: int) -> str:
    """The trace of a job that only issues these requests each second, each of `kib` KiB. It has no
    block log."""
    samples = []
    for nth in range(SECONDS):
        sample = sadf.second(
            nth,
            user=0.01,
            iowait=99.99,
            writes=float(reads + writes),
            write_kib=float(writes * kib),
        )
        sample["disk"][0]["util-percent"] = 100.0
        sample["disk"][0]["rkB"] = float(reads * kib)
        samples.append(sample)
    Path("day.json").write_text(sadf.day(samples, "db1"))
    name = f"{reads}-{writes}.trace"
    made = run("trace", "convert", "day.json", name, "--format", "sysstat")
    assert made.status == 0, made.err
    return name


def space(storages: str) -> str:
    Path("own.toml").write_text(MACHINE + f"storage = {storages}\n")
    return "own.toml"


def survey(run: Run, trace: str, *words: str) -> Report:
    """The time of a job that always waits for its storage is that of its storage."""
    ran = run("survey", trace, *words, "--json", "-")
    assert ran.status == 0, ran.err
    result: Report = json.loads(ran.out)
    return result


def times(result: Report) -> dict[str, float]:
    return {d["storage"]: d["job"]["time_s"] for d in result["designs"]}


def simulated(preset: str, **options: Any) -> Report:
    """The result of `gordon storage characterise --preset`, as a file ssd.json and as a dict."""
    options = {"sizes": "64KiB,256KiB,1MiB", "depths": [1, 32]} | options
    report: Any = storage.characterise(preset=preset, **options).report
    Path("ssd.json").write_text(json.dumps(report))
    return report


# The replay of a preset starts each second with a seek to the job's data and ends it with the drain
# of its caches: a rotation and a seek, 20 ms of the 2 s that the disk is busy; some 1 % of the
# 0.3 s of flash. The replay's synthetic writes begin at 128 GB, where this disk is 3 % slower than
# at its start, which was measured.
@pytest.mark.parametrize(
    ("preset", "load", "tolerance"),
    [
        ("sata-7200-1tb", {"reads": 800}, 0.02),
        ("sata-7200-1tb", {"writes": 800}, 0.05),
        ("nvme-tlc-1tb", {"reads": 8000}, 0.02),
        ("nvme-tlc-1tb", {"writes": 8000}, 0.02),
    ],
)
def test_measured_storage_takes_as_long_as_the_simulated_device(
    run: Run, preset: str, load: dict[str, int], tolerance: float
) -> None:
    simulated(preset)
    own = space(f'["{preset}", {{ measured = "ssd.json" }}]')
    found = times(survey(run, job(run, **load, kib=256), "--space", own))
    assert found["ssd.json"] == pytest.approx(found[f"{preset} x 1"], rel=tolerance)


def test_a_scratch_file_on_this_machine_is_a_storage_of_a_machine(run: Run, tmp_path: Path) -> None:
    Path("probe").write_bytes(bytes(4096))
    try:
        io_target("probe")
    except GordonError as error:
        pytest.skip(str(error.args[0]))
    words = ("--sizes", "64KiB", "--depths", "32", "--span", "8MiB")
    limits = ("--seconds", "0.05", "--bytes", "16MiB")
    Path("disk").mkdir()
    ran = run("storage", "characterise", "disk", *words, *limits, "--json", "here.json")
    assert ran.status == 0, ran.err
    point = {
        (point["pattern"], point["op"]): point
        for point in json.loads(Path("here.json").read_text())["points"]
    }
    # Without a block log, 32 sequential requests are outstanding. Enough of them for any device.
    trace = job(run, reads=50_000, writes=30_000, kib=64)
    result = survey(run, trace, "--space", space('{ measured = "here.json" }'))
    reads, writes = (point["sequential", op]["iops"] for op in ("read", "write"))
    expected = SECONDS * (50_000 / reads + 30_000 / writes)
    # The trace has the sum of the requests, which it divides by the bytes.
    assert times(result)["here.json"] == pytest.approx(expected, rel=0.001)
    used = [row for row in result["parameters"] if row["kind"] == "measured"]
    assert {row["part"] for row in used} == {"here.json"}
    assert used[0]["why"].startswith("measured on disk, 20")
    assert "Gordon" in used[0]["why"]


def test_limits_of_a_measured_storage_take_the_longest(run: Run) -> None:
    simulated("nvme-tlc-1tb")
    storages = (
        '[{ measured = "ssd.json" }, { measured = "ssd.json", bandwidth = "100MB" }, '
        '{ measured = "ssd.json", bandwidth = "90GB" }]'
    )
    found = times(survey(run, job(run, reads=8000, kib=256), "--space", space(storages)))
    assert found["ssd.json, at most 90GB/s"] == found["ssd.json"]
    tight = found["ssd.json, at most 100MB/s"]
    assert tight == pytest.approx(SECONDS * 8000 * (256 << 10) / 100e6)


def test_the_result_the_table_and_the_report_name_the_file_and_its_points(run: Run) -> None:
    report = simulated("nvme-tlc-1tb")
    trace = job(run, reads=8000, kib=256)
    own = space('{ measured = "ssd.json" }')
    result = survey(run, trace, "--space", own, "-o", "report.html")
    assert result["designs"][0]["storage_part"] is None
    assert result["designs"][0]["job"]["energy_j"] is None
    used = {row["key"]: row for row in result["parameters"] if row["kind"] == "measured"}
    assert len(used) == 2 * len(report["points"])
    row = used["sequential-read.262144.32.seconds_per_request"]
    point: Any = storage.Result(report).point("sequential-read", "256KiB", 32)
    assert row["value"] == pytest.approx(1 / point["iops"])
    assert row["why"].startswith("simulated nvme-tlc-1tb, Gordon ")
    assumed = {entry["key"]: entry["value"] for entry in result["assumptions"]}
    assert assumed["storage.measured"] == "sequential"
    assert "sequential-read.262144.32.seconds_per_request" in Path("report.html").read_text()


def test_the_parquet_file_has_the_points(run: Run) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    report = simulated("nvme-tlc-1tb", sizes="64KiB", bytes="1MiB")
    own = space('{ measured = "ssd.json" }')
    survey(run, job(run, reads=8, kib=64), "--space", own, "--parquet", "designs.parquet")
    metadata = parquet.read_schema("designs.parquet").metadata
    config = next(json.loads(text) for text in metadata.values() if b'"measured"' in text)
    assert len(config["catalogue"]["measured"]["ssd.json"]["points"]) == len(report["points"])


def test_the_file_is_relative_to_the_space_and_that_of_a_setting_to_the_working_directory(
    run: Run,
) -> None:
    simulated("nvme-tlc-1tb")
    Path("spaces").mkdir()
    Path("ssd.json").rename("spaces/ssd.json")
    space('{ measured = "ssd.json" }')
    own = str(Path("own.toml").rename("spaces/own.toml"))
    trace = job(run, reads=8000, kib=256)
    fast = times(survey(run, trace, "--space", own))["ssd.json"]
    simulated("sata-7200-1tb")
    set_value = ("--set", "machines.m.storage.measured=ssd.json")
    slow = times(survey(run, trace, "--space", own, *set_value))["ssd.json"]
    assert slow > 10 * fast


def test_what_was_not_measured_is_assumed_or_refused(run: Run) -> None:
    simulated("nvme-tlc-1tb", patterns=["random-read"])
    own = space('{ measured = "ssd.json" }')
    result = survey(run, job(run, reads=8000, kib=256), "--space", own)
    assumed = [(entry["key"], entry["value"]) for entry in result["assumptions"]]
    assert ("storage.measured ssd.json", "no sequential reads") in assumed
    assert ("storage.measured ssd.json", "no writes") in assumed
    ran = run("survey", job(run, writes=10, kib=4), "--space", own)
    ran.refused("not-measured", "ssd.json", "writes", "0-10.trace")
    assert "--write" in ran.err.partition("try: ")[2]


def _changed(change: Callable[[Report], Any]) -> str:
    report = simulated("nvme-tlc-1tb", sizes="64KiB", bytes="1MiB")
    change(report)
    return json.dumps(report)


def _point(**values: Any) -> str:
    return _changed(lambda report: report["points"][0].update(values))


BAD: dict[str, tuple[Callable[[], str], str, str]] = {
    "not JSON": (lambda: "points: 3", "bad-measured", "not JSON"),
    "no text": (lambda: "\x00\x01", "bad-measured", "not JSON"),
    "list": (lambda: "[]", "bad-measured", "not a result of"),
    "another result": (
        lambda: json.dumps({"kind": "modelled: ...", "points": [{"iops": 3}]}),
        "bad-measured",
        "not a result of",
    ),
    "other version": (
        lambda: _changed(lambda report: report["provenance"].update(version="99.1.0")),
        "other-version",
        "99.1.0",
    ),
    "no points": (
        lambda: _changed(lambda report: report["points"].clear()),
        "bad-measured",
        "no points",
    ),
    "zero": (lambda: _point(elapsed_s=0), "bad-measured", "point 1"),
    "negative": (lambda: _point(elapsed_s=-0.5), "bad-measured", "point 1"),
    "not finite": (lambda: _point(elapsed_s=float("nan")), "bad-measured", "point 1"),
    "size": (lambda: _point(size_bytes=0), "bad-measured", "point 1"),
    "part of a request": (lambda: _point(requests=1.5), "bad-measured", "point 1"),
    "text": (lambda: _point(queue_depth="32"), "bad-measured", "point 1"),
    "latency": (lambda: _point(latency_us={"mean": None}), "bad-measured", "point 1"),
    "pattern": (lambda: _point(pattern="zigzag"), "bad-measured", "point 1"),
    "huge": (lambda: _point(size_bytes=1 << 80), "bad-measured", "point 1"),
    "twice": (
        lambda: _changed(lambda report: report["points"].append(report["points"][0])),
        "impossible",
        "twice",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_error(run: Run, name: str) -> None:
    text, kind, what = BAD[name]
    Path("ssd.json").write_text(text())
    ran = run("survey", job(run, reads=8, kib=64), "--space", space('{ measured = "ssd.json" }'))
    ran.refused(kind, "ssd.json", what)
    assert ran.err.partition("try: ")[2]


def test_the_result_of_a_flash_bench_is_refused(run: Run) -> None:
    words = ("--preset", "gordon-slc-256g", "--pattern", "random-read", "--requests", "100")
    ran = run("flash", "bench", *words, "--json", "ssd.json")
    assert ran.status == 0, ran.err
    ran = run("survey", job(run, reads=8, kib=64), "--space", space('{ measured = "ssd.json" }'))
    ran.refused("bad-measured", "ssd.json", "not a result of")


def test_a_file_that_is_missing_is_refused_with_its_space_and_machine(run: Run) -> None:
    own = space('{ measured = "ssd.json" }')
    ran = run("survey", job(run, reads=8, kib=64), "--space", own)
    ran.refused("unreadable-file", "own.toml", "machine `m`", "ssd.json", "No such file")


@pytest.mark.parametrize("value", ["5", "[1,2]", "true"])
def test_a_setting_of_measured_storage_is_a_file(run: Run, value: str) -> None:
    own = space('{ bandwidth = "1GB" }')
    setting = ("--set", f"machines.m.storage.measured={value}")
    ran = run("survey", job(run, reads=8, kib=64), "--space", own, *setting)
    ran.refused("unreadable-file", "machine `m`", f"measured storage {value}", "No such file")


@pytest.mark.parametrize("other", ['part = "nvme-tlc-1tb"', "count = 2"])
def test_measured_storage_has_no_part_and_no_count(run: Run, other: str) -> None:
    simulated("nvme-tlc-1tb", sizes="64KiB", bytes="1MiB")
    own = space(f'{{ measured = "ssd.json", {other} }}')
    ran = run("survey", job(run, reads=8, kib=64), "--space", own)
    ran.refused("impossible", "own.toml", "machine `m`", "storage.")


def test_outputs_do_not_replace_the_measurement(run: Run) -> None:
    simulated("nvme-tlc-1tb", sizes="64KiB", bytes="1MiB")
    before = Path("ssd.json").read_bytes()
    trace = job(run, reads=8, kib=64)
    volume = space('{ bandwidth = "1GB" }')
    setting = ("--set", "machines.m.storage.measured=ssd.json")
    run("survey", trace, "--space", volume, *setting, "--json", "ssd.json").refused(
        "path-in-use", "ssd.json"
    )
    own = space('{ measured = "ssd.json" }')
    ran = run("survey", trace, "--space", own, "--json", "./ssd.json")
    ran.refused("path-in-use", "ssd.json")
    assert Path("ssd.json").read_bytes() == before


def test_the_schema_of_a_space_has_measured_storage(run: Run) -> None:
    ran = run("schema", "space")
    assert ran.status == 0, ran.err
    assert "measured" in json.loads(ran.out)["$defs"]["StorageTable"]["properties"]
