"""Programs of a person on nodes of this machine: what is traced and kept, and what is refused."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import gordon
from gordon import GordonError
from gordon.run import folder
from gordon.run.local import Sizes
from gordon.workload import App, driver, java, run_app
from gordon.workload import app as app_module
from one_cluster import OneCluster, one_cluster, one_compiler
from serving import need_nodes

from conftest import Run, raises

#: Counts words, with a function of a module that executors get too; prints what it was given.
PROGRAM = """\
import sys
from pyspark.sql import SparkSession
from helper import first

source, target, *rest = sys.argv[1:]
session = SparkSession.builder.appName("mine").getOrCreate()
print("arguments", rest)
lines = session.sparkContext.textFile(source, 4)
counts = lines.map(first).map(lambda word: (word, 1)).reduceByKey(int.__add__, 2)
print("words", sorted(counts.collect()))
counts.saveAsTextFile(target)
"""
HELPER = "def first(line):\n    return line.split()[0]\n"
FAILING = """\
import sys
print("on stdout")
print("ValueError: no such year", file=sys.stderr)
sys.exit(3)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneCluster]:
    """One cluster for all tests of this module."""
    if find_spec("pyspark") is None:
        pytest.skip("there is no PySpark: pip install 'gordon-storage[spark]'")
    try:
        java.find()
    except GordonError as error:
        pytest.skip(f"there is no Java for Spark: {error.args[0]}")
    need_nodes()
    sizes = Sizes(count=2, memory=1 << 30, disk=None, cores=0.8)
    with one_compiler(), one_cluster(tmp_path_factory.mktemp("cluster"), sizes) as started:
        yield started


@pytest.fixture
def able(cluster: OneCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.serves(app_module, monkeypatch)


def test_a_program_is_traced_on_every_node_and_in_its_driver(
    able: None, run: Run, tmp_path: Path
) -> None:
    app, helper, text = tmp_path / "my_job.py", tmp_path / "helper.zip", tmp_path / "text"
    app.write_text(PROGRAM)
    with zipfile.ZipFile(helper, "w") as archive:
        archive.writestr("helper.py", HELPER)
    text.write_text("a b\nc d\na e\n" * 100_000)
    out, target = tmp_path / "run", tmp_path / "counts"
    ran = run("workload", "run", "--app", str(app), "--py-files", str(helper), "--nodes", "2",
              "--cores", "0.8", "--memory", "1GiB", "-o", str(out), "--json", "-",
              "--", str(text), str(target), "--json", "two words")  # fmt: skip
    assert ran.status == 0, ran.err
    report: Any = folder.read(out)
    assert json.loads(ran.out) == report | {"folder": str(out)}
    printed = (out / "logs/driver.log").read_text()
    assert "arguments ['--json', 'two words']" in printed
    assert "words [('a', 200000), ('c', 100000)]" in printed
    assert sorted(path.name for path in target.glob("part-*")) == ["part-00000", "part-00001"]
    assert report["exit_status"] == 0
    assert report["job"]["id"] == "my_job"
    assert report["job"]["arguments"] == [str(text), str(target), "--json", "two words"]
    assert report["limits"]["cores"] == 0.8
    assert [(node["name"], node["role"], node["status"]) for node in report["nodes"]] == [
        ("node-1", "worker", "complete"),
        ("node-2", "worker", "complete"),
        ("driver", "driver", "complete"),
    ]
    for node in report["nodes"]:
        assert node["totals"]["cpu_s"] > 0.5
        # Closures and results cross the network, also to and from the driver.
        assert node["totals"]["rx_bytes"] > 10_000
        assert node["totals"]["tx_bytes"] > 10_000
    totals = report["totals"]
    of_workers: Any = folder.workers(report)
    workers = [node["totals"]["cpu_s"] for node in of_workers]
    assert totals["nodes"]["cpu_s"] == pytest.approx(sum(workers))
    driver_s = report["nodes"][2]["totals"]["cpu_s"]
    assert sum(workers) + driver_s <= totals["machine"]["cpu_s"]
    assert [check for check in totals["checks"] if not check["passed"]] == []
    (machine,) = report["machines"]
    assert machine["span_s"] == pytest.approx(report["duration_s"], abs=2.0)
    assert 0 <= machine["full_s"] <= machine["span_s"]
    # A warning is said once for all nodes.
    assert len([text for text in report["warnings"] if "block devices" in text]) == 1
    assert len(report["stages"]) >= 3
    assert (out / report["event_log"]).is_file()
    assert (out / "tasks.parquet").is_file()
    surveyed = gordon.survey.run(out)
    assert surveyed["nodes"] == 2
    shown = run("trace", "show", str(out))
    assert "driver" in shown.out
    assert "my_job" in shown.out


def test_a_program_that_fails_is_an_error_with_its_last_lines(able: None, tmp_path: Path) -> None:
    app, out = tmp_path / "failing.py", tmp_path / "run"
    app.write_text(FAILING)
    with raises("app-failed", "exit status 3", "ValueError: no such year"):
        run_app(App(app), out, nodes=2, memory="1GiB", cores=0.8)
    report: Any = folder.read(out)
    assert report["exit_status"] == 3
    assert "exit status 3" in report["error"]
    assert (out / "node-1/manifest.json").is_file()
    assert "on stdout" in (out / "logs/driver.log").read_text()
    app.write_text("print('no Spark')")
    with raises("not-on-nodes", "event log"):
        run_app(App(app), tmp_path / "other", nodes=2, memory="1GiB", cores=0.8)


@pytest.mark.parametrize(
    ("name", "given", "kind"),
    [
        ("none.py", {}, "missing-file"),
        ("folder.py", {}, "missing-file"),
        ("job.txt", {}, "bad-app"),
        ("job", {}, "bad-app"),
        ("job.py", {"main_class": "a.B"}, "bad-app"),
        ("job.py", {"py_files": [Path("none.zip")]}, "missing-file"),
        ("job.jar", {"py_files": [Path(__file__)]}, "bad-app"),
    ],
)
def test_what_is_not_a_program_is_refused(
    tmp_path: Path, name: str, given: dict[str, Any], kind: str
) -> None:
    for file in ("job", "job.txt", "job.py", "job.jar"):
        (tmp_path / file).write_text("")
    (tmp_path / "folder.py").mkdir()
    with raises(kind):
        run_app(App(tmp_path / name, **given), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("sort", "--app", __file__),
        ("--app", __file__, "--size", "1GB"),
        ("--app", __file__, "--repeats", "1"),
        ("--app", __file__, "--disk-rate", "50MB"),
        ("--app", __file__, "--master", "spark://h:1"),
        ("--app", __file__, "--cores", "many"),
        ("sort", "--", "1"),
        ("sort", "--"),
        ("sort", "--class", "a.B"),
        ("sort", "--py-files", "a.py"),
        ("sort", "--master", "spark://h:1", "--input", "x", "--result", "y", "--cores", "1"),
        ("sort", "--master", "spark://h:1", "--input", "x", "--result", "y", "--nodes", "4"),
    ],
)
def test_a_job_and_a_program_have_options_of_their_own(
    run: Run, tmp_path: Path, words: tuple[str, ...]
) -> None:
    at = words.index("--") if "--" in words else len(words)
    given = [*words[:at], "-o", str(tmp_path / "run"), *words[at:]]
    ran = run("workload", "run", *given)
    assert ran.status == 2, ran.err
    assert list(tmp_path.iterdir()) == []


def test_the_last_lines_are_those_of_the_program_and_not_of_spark(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(
        "26/11/27 09:00:00 INFO SparkContext: Running Spark\nTraceback:\n  File x\n\nKeyError: 1\n"
        "26/11/27 09:00:01 INFO ShutdownHookManager: Shutdown hook called\n"
    )
    assert driver.last_lines(log, 2) == "File x\nKeyError: 1"
    log.write_text("")
    assert driver.last_lines(log, 2) == ""
