"""Event logs of Spark, and copies of traces with pseudonyms: from the command line to a survey.

The readers' own tests (`crates/trace/tests/spark_*.rs`, `anonymise.rs`) have the figures.
"""

import gzip
import json
from pathlib import Path

import pytest

from gordon import _core

from conftest import Run, raises

PAPER = ("--space", "gordon-2009")
LOGS = Path(__file__).parents[2] / "crates/trace/tests/data/spark"
ONE_HOST = LOGS / "app-3.5"
TWO_HOSTS = LOGS / "eventlog_v2_app-4.0"
REFUSED = 2  # exit status of a wrong use of options


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def names(folder: str | Path) -> list[str]:
    return sorted(path.name for path in Path(folder).iterdir())


def sums(lines: str, *keys: str) -> int:
    """The sum of a metric over all tasks."""
    total = 0
    for line in lines.splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            metric = event["Task Metrics"]
            for key in keys:
                metric = metric[key]
            total += metric
    return total


def test_a_rolled_log_becomes_a_trace_for_each_host_with_stages_for_the_survey(
    run: Run, tmp_path: Path
) -> None:
    made = run("trace", "convert", str(TWO_HOSTS), "job", "--json", "job.json")
    assert made.status == 0, made.err
    assert "69 samples of node-1, 1 core, 69.0 s, from spark-eventlog to gordon: job/node-1" in (
        made.err
    )
    assert names("job") == ["node-1", "node-2", "stages.parquet", "tasks.parquet"]
    report = json.loads((tmp_path / "job.json").read_text())
    assert report["from"] == "spark-eventlog"
    assert len(report["stages"]) == 13

    ran = run(
        *("survey", "job/node-1", "job/node-2", *PAPER, "--stages", "job.json", "--json", "s.json")
    )
    assert ran.status == 0, ran.err
    result = json.loads((tmp_path / "s.json").read_text())
    assert (result["nodes"], result["model"]) == (2, "stages")
    kinds = result["traces"][0]["kinds"]
    for column in ("cpu_ns", "memory_bytes", "rx_bytes", "tx_bytes"):
        assert kinds[column] == "estimated", column
    times = [result["baseline"][model]["time_s"] for model in ("nosync", "stages", "sync")]
    assert times == sorted(times)

    shown = run("trace", "show", "job/node-2")
    assert "eventlog_v2_app-4.0, converted from spark-eventlog" in shown.out
    rows = {line.split("  ")[0]: line for line in shown.out.splitlines()}
    for row in ("processor", "disks, read", "disks, written", "disk I/Os", "network, sent"):
        assert "estimated" in rows[row], row


def test_a_plain_log_is_detected_also_if_it_is_compressed(run: Run, tmp_path: Path) -> None:
    text = ONE_HOST.read_text()
    (tmp_path / "app.gz").write_bytes(gzip.compress(text.encode()))
    made = run("trace", "convert", "app.gz", "a.trace", "--cores", "4", "--json", "-")
    assert made.status == 0, made.err
    report = json.loads(made.out)
    [host] = report["hosts"]
    assert host["cores"] == 4
    cpu_ns = sums(text, "Executor CPU Time") + sums(text, "Executor Deserialize CPU Time")
    assert host["cpu_s"] == pytest.approx(cpu_ns / 1e9, rel=1e-6)
    written = sums(text, "Output Metrics", "Bytes Written")
    written += sums(text, "Shuffle Write Metrics", "Shuffle Bytes Written")
    assert report["write"]["bytes"] == pytest.approx(written, abs=512 * host["samples"])
    assert "--cores 4 replaces 2" in made.err


def test_a_log_that_was_cut_short_is_converted_with_warnings(run: Run, tmp_path: Path) -> None:
    text = ONE_HOST.read_text()
    (tmp_path / "app.inprogress").write_text(text[: 2 * len(text) // 3])
    made = run("trace", "convert", "app.inprogress", "a.trace")
    assert made.status == 0, made.err
    for word in ("truncated: ", "end: "):
        assert f"warning: app.inprogress: {word}" in made.err
    assert "no end of the application" in run("trace", "show", "a.trace").err


def test_inputs_that_are_no_event_log_leave_nothing(run: Run, tmp_path: Path) -> None:
    text = ONE_HOST.read_text()
    files = {
        "empty": (b"", "not-event-log"),
        "text": (b"hello\n", "not-event-log"),
        "bad": (text.replace('"Stage ID":0', '"Stage ID":"x"', 1).encode(), "bad"),
        "app.lz4": (b"LZ4Block%\0\0\0", "read"),
        "app.lzf": (b"ZV\1\0\5\0\5hello", "compression"),
        "app.gz": (gzip.compress(text.encode())[:10], "read"),
        "idle": (text.splitlines()[0].encode(), "content"),
    }
    for name, (data, kind) in files.items():
        (tmp_path / name).write_bytes(data)
        ran = run("trace", "convert", name, "out", "--format", "spark-eventlog")
        ran.refused(kind, name)
        assert not list(tmp_path.glob("out*")), name
    convert = ("trace", "convert", "--format", "spark-eventlog")
    run(*convert, "none", "out").refused("open", "none")
    (tmp_path / "folder").mkdir()
    run(*convert, "folder", "out").refused("not-event-log", "folder")
    run(*convert, str(ONE_HOST), str(TWO_HOSTS), "out").refused("content", "one by one")
    ran = run("trace", "convert", str(ONE_HOST), "out", "--to", "msr")
    assert (ran.status, ran.out) == (REFUSED, "")
    made = run(*convert, "bad", "out", "--skip-bad")
    assert made.status == 0, made.err
    assert "skipped: 1 malformed" in made.err


def test_the_summary_of_a_log_has_its_stages_after_a_start(tmp_path: Path) -> None:
    log = json.loads(_core.spark_event_log(str(TWO_HOSTS), str(tmp_path)))
    assert names(tmp_path) == ["stages.parquet", "tasks.parquet"]
    assert log["version"].startswith("4.0")
    assert [executor["host"] for executor in log["executors"]] == ["node-1", "node-2"]
    assert log["executors"][0]["removed_unix_ns"] is None
    assert log["totals"]["shuffle_read_remote_bytes"] > 0
    second = 10**9
    later = json.loads(
        _core.spark_event_log(str(TWO_HOSTS), start_unix_ns=log["start_unix_ns"] + second)
    )
    for stage, of_later in zip(log["stages"], later["stages"], strict=True):
        assert of_later["end_s"] == pytest.approx(stage["end_s"] - 1, abs=1e-6)
    with raises("not-event-log"):
        _core.spark_event_log(str(tmp_path))


def test_a_copy_with_pseudonyms_has_the_same_survey_and_no_name(run: Run, tmp_path: Path) -> None:
    text = ONE_HOST.read_text().replace('"Host":"node-1"', '"Host":"acme-db1"')
    (tmp_path / "acme.log").write_text(text)
    assert run("trace", "convert", "acme.log", "a.trace").status == 0
    made = run("trace", "anonymise", "a.trace", "b.trace", "--json", "-")
    assert made.status == 0, made.err
    assert json.loads(made.out)["traces"] == 1
    for path in (tmp_path / "b.trace").iterdir():
        assert b"acme" not in path.read_bytes(), path.name
    results = []
    for name in ("a.trace", "b.trace"):
        ran = run("survey", name, *PAPER, "--json", "-")
        assert ran.status == 0, ran.err
        results.append(json.loads(ran.out)["designs"])
    assert results[0] == results[1]
    assert "file-1, converted from spark-eventlog" in run("trace", "show", "b.trace").out


def test_a_real_trace_is_copied_with_its_requests(run: Run, trace: str) -> None:
    made = run("trace", "anonymise", trace, "copy")
    assert made.status == 0, made.err
    before, after = (json.loads(_core.trace_summary(path)) for path in (trace, "copy"))
    assert after["samples"] == before["samples"]
    assert after["block"] == before["block"]
    assert after["manifest"]["command"] == ["command-1"]
    assert after["manifest"]["machine"]["cpu_model"] == before["manifest"]["machine"]["cpu_model"]


def test_a_copy_of_a_run_has_the_same_survey(run: Run, tmp_path: Path) -> None:
    made = run("trace", "convert", str(TWO_HOSTS), "run", "--json", "job.json")
    assert made.status == 0, made.err
    start = json.loads(Path("run/node-1/manifest.json").read_text())["start_unix_ns"]
    for name in ("node-1", "node-2"):
        Path("run", name).rename(Path("run", f"acme-{name}"))
    nodes = [
        {
            "name": f"acme-{name}",
            "host": f"{name}.acme.example",
            "folder": f"acme-{name}",
            "status": "complete",
            "clock": {"offset_ns": 0},
        }
        for name in ("node-1", "node-2")
    ]
    report = {
        "format": "gordon-run",
        "version": 1,
        "command": ["acme", "--all"],
        "start_unix_ns": start,
        "interval_ns": 10**9,
        "nodes": nodes,
        "stages": json.loads(Path("job.json").read_text())["stages"],
        "warnings": ["node-2.acme.example: the clock was set"],
    }
    Path("run/run.json").write_text(json.dumps(report))
    copied = run("trace", "anonymise", "run", "copy")
    assert copied.status == 0, copied.err
    assert names("copy") == ["node-1", "node-2", "run.json", "stages.parquet", "tasks.parquet"]
    copy = Path("copy/run.json").read_text()
    assert "acme" not in copy
    assert json.loads(copy)["warnings"] == ["host-2: the clock was set"]
    results = []
    for name in ("run", "copy"):
        ran = run("survey", name, *PAPER, "--model", "stages", "--json", "-")
        assert ran.status == 0, ran.err
        results.append(json.loads(ran.out)["designs"])
    assert results[0] == results[1]


def test_what_cannot_be_copied_is_refused(run: Run, tmp_path: Path) -> None:
    run("trace", "anonymise", "none", "out").refused("missing", "none")
    (tmp_path / "folder").mkdir()
    run("trace", "anonymise", "folder", "out").refused("foreign", "folder")
    assert run("trace", "convert", str(ONE_HOST), "a.trace").status == 0
    run("trace", "anonymise", "a.trace", "folder").refused("exists", "folder")
    (tmp_path / "a.trace/disks.parquet").write_bytes(b"x")
    run("trace", "anonymise", "a.trace", "out").refused("damaged", "disks.parquet")
    assert not list(tmp_path.glob("out*"))
