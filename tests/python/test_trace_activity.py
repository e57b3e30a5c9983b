"""Activity traces of sysstat and Prometheus: from the command line to a survey.

The readers' own tests (`crates/trace/tests/activity/`) have the forms and what is refused.
"""

import csv
import gzip
import json
import lzma
import os
import random
from pathlib import Path
from typing import Any

import pytest

import sadf
from cores import stretch

from conftest import Run

PAPER = ("--space", "gordon-2009")

SHARED = Path(__file__).parents[3] / "shared/traces"
REAL = Path(os.environ.get("GORDON_TRACES", SHARED)) / "ec2"
REFUSED = 2  # exit status of a wrong use of options


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def day(*hosts: str, cores: int | None = 2, seconds: int = 5) -> str:
    """A file in which each host wrote 8 MiB in 16 requests a second."""
    samples = [
        sadf.second(nth, user=50.0, iowait=5.0, writes=16.0, write_kib=8192.0)
        for nth in range(1, seconds + 1)
    ]
    return sadf.day(samples, *hosts, cores=cores)


def test_pressure_and_devices_of_a_converted_trace_are_in_the_survey(
    run: Run, tmp_path: Path
) -> None:
    samples = [sadf.second(nth, user=100.0) for nth in range(1, 4)]
    plain = sadf.day(samples, "plain")
    for sample in samples:
        sample["psi"] = {"psi-cpu": {"some_avg": 0.0}, "psi-io": {"full_avg": 0.0}}
    results = {}
    for name, text in (("plain", plain), ("psi", sadf.day(samples, "psi"))):
        (tmp_path / f"{name}.json").write_text(text)
        assert run("trace", "convert", f"{name}.json", f"{name}.trace").status == 0
        ran = run("survey", f"{name}.trace", "--space", "ec2", "--json", "-")
        assert ran.status == 0, ran.err
        results[name] = json.loads(ran.out)
    [of_plain], [of_psi] = (results[name]["traces"] for name in ("plain", "psi"))
    for column in ("psi_io_full_ns", "psi_cpu_some_ns"):
        assert of_plain["kinds"][column] == "missing"
        assert of_psi["kinds"][column] == "measured"
    # Two busy cores for which no thread waited: the job has no use for more cores.
    plain_s, psi_s = (
        {design["id"]: design["job"]["time_s"] for design in results[name]["designs"]}
        for name in ("plain", "psi")
    )
    assert psi_s["m5.large"] == pytest.approx(plain_s["m5.large"])
    assert psi_s["m5.xlarge"] == pytest.approx(psi_s["m5.large"])
    assert plain_s["m5.xlarge"] == pytest.approx(plain_s["m5.large"] * stretch(2, 4))

    [device] = of_psi["devices"]
    assert (device["name"], device["write_bytes"]) == ("sda", 3 * 64 * 1024)
    assert device["read_ahead_bytes"] is device["scheduler"] is device["rotational"] is None
    assert of_psi["read_amplification"] is None
    assert "sda: 0 B read, 197 kB written\n" in run("trace", "show", "psi.trace").out


def test_a_converted_trace_is_surveyed_and_the_report_says_what_is_estimated(
    run: Run, tmp_path: Path
) -> None:
    (tmp_path / "day.json").write_text(day("db1"))
    made = run("trace", "convert", "day.json", "db1.trace", "--format", "sysstat", "--json", "-")
    assert made.status == 0, made.err
    report = json.loads(made.out)
    assert report["samples"] == 5
    assert report["write"] == {"requests": 80, "bytes": 5 * 8192 * 1024}
    assert report["hosts"][0]["cpu_s"] == pytest.approx(5.0)
    assert report["hosts"][0]["iowait_s"] == pytest.approx(0.5)

    shown = run("trace", "show", "db1.trace")
    assert "day.json, converted from sysstat" in shown.out
    assert "2 cores of an unknown processor" in shown.out
    kinds = {line.split("  ")[0]: line for line in shown.out.splitlines()}
    assert "estimated" in kinds["instructions"]
    assert "missing" in kinds["processor, command"]

    ran = run("survey", "db1.trace", *PAPER, "--json", "s.json", "-o", "s.html")
    assert ran.status == 0, ran.err
    result = json.loads((tmp_path / "s.json").read_text())
    kinds = result["traces"][0]["kinds"]
    assert (kinds["cpu_ns"], kinds["instructions"]) == ("measured", "estimated")
    assert result["traces"][0]["write_bytes"] == 5 * 8192 * 1024
    warnings = "\n".join(result["warnings"])
    for word in ("no block log", "instructions are not counted but estimated", "2400 MHz"):
        assert word in warnings, word
    assert "<code>db1.trace</code>" in (tmp_path / "s.html").read_text()

    replayed = run("flash", "replay", "db1.trace")
    assert replayed.status == 1
    assert "no block log" in replayed.err


def test_the_format_is_detected_also_in_compressed_files(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json.gz").write_bytes(gzip.compress(day("db1").encode()))
    (tmp_path / "b.xz").write_bytes(lzma.compress(day("db1").encode()))
    for name in ("a.json.gz", "b.xz"):
        made = run("trace", "convert", name, f"{name}.trace")
        assert made.status == 0, made.err
        assert (
            f"5 samples of db1, 2 cores, 5.00 s, from sysstat to gordon: {name}.trace" in made.err
        )


def test_several_hosts_are_a_folder_of_traces_for_one_survey(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(day("db1", "db2"))
    (tmp_path / "b.json").write_text(day("web"))
    made = run("trace", "convert", "a.json", "b.json", "all", "--format", "sysstat")
    assert made.status == 0, made.err
    traces = sorted(str(path.relative_to(tmp_path)) for path in (tmp_path / "all").iterdir())
    assert traces == ["all/db1", "all/db2", "all/web"]
    ran = run("survey", *traces, "--json", "s.json")
    assert ran.status == 0, ran.err
    assert json.loads((tmp_path / "s.json").read_text())["nodes"] == 3


def test_unknown_cores_name_the_option(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(day("db1", cores=None))
    run("trace", "convert", "a.json", "a.trace").refused("cores", "db1", "--cores")
    assert not list(tmp_path.glob("a.trace*"))
    assert run("trace", "convert", "a.json", "a.trace", "--cores", "2").status == 0


def test_broken_inputs_leave_nothing(run: Run, tmp_path: Path) -> None:
    text = day("db1")
    packed = gzip.compress(random.Random(7).randbytes(4096) + text.encode())
    files = {
        "cut.json": (text[: len(text) // 2].encode(), "json"),
        "cut.json.gz": (gzip.compress(text.encode())[:-20], "read"),
        "noise.gz": (packed, "bad"),
        "sa26": (b"\x96\xd5\x75\x21", "content"),
        "text": (b"db1;1;2026-11-26 10:00:01 UTC;-1;5\n", "bad"),
        "empty": (b"", "content"),
    }
    for name, (data, kind) in files.items():
        (tmp_path / name).write_bytes(data)
        ran = run("trace", "convert", name, "out", "--format", "sysstat")
        ran.refused(kind, name)
        assert not list(tmp_path.glob("out*")), name
    run("trace", "convert", "none", "out", "--format", "sysstat").refused("open", "none")
    (tmp_path / "out").mkdir()
    (tmp_path / "day.json").write_text(text)
    run("trace", "convert", "day.json", "out").refused("exists", "out")


def test_options_of_the_other_kind_of_trace_are_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(day("db1"))
    (tmp_path / "two").write_text("5 0 8 8 1\n9 0 16 8 0\n")
    for words in (
        ("a.json", "out", "--device", "3"),
        ("a.json", "out", "--to", "msr"),
        ("a.json", "-"),
        ("two", "out", "--cores", "2"),
        ("two", "two", "out"),
    ):
        ran = run("trace", "convert", *words)
        assert (ran.status, ran.out) == (REFUSED, ""), words
    ran = run("flash", "replay", "a.json", "--format", "sysstat")
    assert ran.status == 1
    assert "gordon trace convert FILE OUT --format sysstat" in ran.err


def test_range_queries_of_prometheus_are_converted(run: Run, tmp_path: Path) -> None:
    def series(name: str, values: list[float], **labels: str) -> dict[str, Any]:
        points = [[1_795_687_200 + 15 * i, str(value)] for i, value in enumerate(values)]
        return {"metric": {"__name__": name, "instance": "db1:9100", **labels}, "values": points}

    def answer(*result: dict[str, Any]) -> str:
        data = {"resultType": "matrix", "result": result}
        return json.dumps({"status": "success", "data": data})

    cpu = "node_cpu_seconds_total"
    (tmp_path / "cpu.json").write_text(
        answer(
            series(cpu, [0, 10, 20], cpu="0", mode="user"),
            series(cpu, [0, 5, 10], cpu="0", mode="idle"),
        )
    )
    disk = series("node_disk_written_bytes_total", [0, 1 << 20, 2 << 20], device="sda")
    (tmp_path / "disk.json").write_text(answer(disk))
    made = run("trace", "convert", "cpu.json", "disk.json", "db1", "--json", "-")
    assert made.status == 0, made.err
    report = json.loads(made.out)
    assert report["hosts"][0]["cpu_s"] == pytest.approx(20.0)
    assert report["write"]["bytes"] == 2 << 20
    assert run("survey", "db1").status == 0


def test_real_jobs_are_converted_with_all_their_activity(run: Run, tmp_path: Path) -> None:
    if not REAL.is_dir():
        pytest.skip(f"the real traces are not here: {REAL}")
    with (REAL / "elapsed.csv").open() as file:
        jobs = sorted({row["job"] for row in csv.DictReader(file)})
    assert len(jobs) == 26
    for job in jobs:
        source = REAL / f"{job}.sadf.json.gz"
        made = run("trace", "convert", str(source), job, "--format", "sysstat", "--json", "-")
        assert made.status == 0, made.err
        host = json.loads(made.out)["hosts"][0]
        with gzip.open(source) as packed:
            of_host = json.load(packed)["sysstat"]["hosts"][0]
        samples = of_host["statistics"]
        rows = [cpu for one in samples for cpu in one["cpu-load"]]
        busy = sum(row["user"] + row["nice"] + row["system"] for row in rows) / 100 * 4
        written = sum(disk["wkB"] for one in samples for disk in one["disk"]) * 1024
        assert (host["cores"], host["samples"]) == (4, len(samples))
        assert host["span_s"] == sum(one["timestamp"]["interval"] for one in samples)
        assert host["cpu_s"] == pytest.approx(busy)
        assert host["write"]["bytes"] == pytest.approx(written)
        assert set(host["left_out"].values()) == {0}, job
    ran = run("survey", jobs[0], "--json", "s.json")
    assert ran.status == 0, ran.err
