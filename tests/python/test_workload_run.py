"""Jobs on nodes of this machine: what is traced, verified and kept."""

from __future__ import annotations

import dataclasses
import html
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from pydoc_data import topics
from typing import Any

import pytest

import gordon
from gordon import GordonError
from gordon.cli.workload_run import JOBS
from gordon.run import folder, load, local
from gordon.run.control_groups import ControlGroup
from gordon.run.folder import RunFolder
from gordon.run.local import Sizes
from gordon.workload import java, jobs, verify
from gordon.workload.run import Corpus, Work, _failed, _job_session, _spread, _view
from one_cluster import OneCluster, nothing_left, one_cluster, one_compiler
from serving import eventually, need_nodes

from conftest import Run, raises

MB = 1_000_000


@pytest.fixture(scope="module", autouse=True)
def isolated() -> Iterator[None]:
    if find_spec("pyspark") is None:
        pytest.skip("there is no PySpark: pip install 'gordon-storage[spark]'")
    try:
        java.find()
    except GordonError as error:
        pytest.skip(f"there is no Java for Spark: {error.args[0]}")
    need_nodes()
    with one_compiler():
        yield


def columns(trace: Path) -> dict[str, list[float]]:
    found: dict[str, list[float]] = json.loads(gordon._core.trace_summary(str(trace)))["samples"]
    return found


def read_bytes(folder: Path) -> int:
    """Bytes that have been read from the device of a folder."""
    device = folder.stat().st_dev
    stat = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}/stat").read_text()
    return int(stat.split()[2]) * 512


def seed_text(folder: Path) -> list[Path]:
    """Folders with text of Python's documentation and with HTML pages of it."""
    text, pages = folder / "text", folder / "pages"
    text.mkdir()
    pages.mkdir()
    for number, (name, topic) in enumerate(sorted(topics.topics.items())):
        (text / f"{number}.txt").write_text(topic)
        body = "".join(f"<p>{html.escape(part)}</p>\n" for part in topic.split("\n\n"))
        head = f"<html><head><title>{name}</title></head>"
        (pages / f"{number}.html").write_text(f"{head}<body>{body}</body></html>\n")
    return [text, pages]


@pytest.fixture(scope="class")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OneCluster]:
    """One cluster for the tests of a class. A worker has half of the memory, which is that of an
    executor by the defaults of Spark."""
    sizes = Sizes(count=2, memory=2 << 30, disk=1 << 30, cores=0.7)
    with one_cluster(tmp_path_factory.mktemp("cluster"), sizes) as started:
        yield started


class TestOneCluster:
    """Tests that use a cluster as it is. All others of this module are about the start of one, or
    about how it ends, and start their own."""

    def test_a_job_is_traced_on_every_node(
        self, cluster: OneCluster, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cluster.serves(sys.modules["gordon.workload.run"], monkeypatch)
        out = tmp_path / "run"
        size = 20 * MB
        ran = run("workload", "run", "sort", "--size", "20MB", "--nodes", "2", "--memory", "2GiB",
                  "--cores", "0.7", "-o", str(out))  # fmt: skip
        assert "2 nodes traced" in ran.out
        report: Any = folder.read(out)
        assert [(node["name"], node["role"], node["status"]) for node in report["nodes"]] == [
            ("node-1", "worker", "complete"),
            ("node-2", "worker", "complete"),
            ("driver", "driver", "complete"),
        ]
        assert report["limits"]["cores"] == 0.7
        assert (out / report["event_log"]).is_file()
        *workers, driver = report["nodes"]
        assert 0 < driver["totals"]["cpu_s"] < report["totals"]["machine"]["cpu_s"]
        # Results and closures cross its network; the data of the job does not.
        assert 10_000 < driver["totals"]["rx_bytes"] < size / 4
        assert driver["totals"]["read_bytes"] < size / 4
        (machine,) = report["machines"]
        assert machine["cores"] == os.cpu_count()
        assert machine["span_s"] == pytest.approx(report["duration_s"], abs=2.0)
        is_full = machine["full_s"] > load.MUCH * machine["span_s"]
        assert is_full == any(text.startswith("all ") for text in report["warnings"])
        for node in workers:
            # None is held back by its quota on a machine that has no cores left.
            assert 0 <= node["load"]["throttled_s"] <= machine["span_s"] * machine["cores"]
        assert report["verification"]["passed"]
        assert report["engine"]["settings"]["spark.sql.adaptive.enabled"] == "false"
        # Spark reads the input of a sort twice, the second time from the page cache.
        for node in workers:
            assert node["totals"]["read_bytes"] == pytest.approx(size / 2, rel=0.3)
            assert node["totals"]["write_bytes"] >= size / 2
            assert node["totals"]["cpu_s"] > 0.5
            assert max(columns(out / node["name"])["memory_bytes"]) <= 2 << 30
        engine = report["totals"]["engine"]
        remote = engine["shuffle_read_remote_bytes"]
        received = report["totals"]["nodes"]["rx_bytes"]
        # Classes and results cross the network too.
        assert remote < received < remote + 30 * MB
        assert report["totals"]["nodes"]["cpu_s"] > engine["cpu_ns"] / 1e9
        # Of the job alone, and not of the check of its input.
        assert engine["input_bytes"] == 2 * report["data"]["bytes"]
        checks = report["totals"]["checks"]
        assert {(check["name"], check["with"]) for check in checks} == {
            ("cpu_s", "machine"), ("cpu_s", "engine"), ("rx_bytes", "engine"),
            ("tx_bytes", "engine"), ("write_bytes", "engine"), ("read_bytes", "engine"),
            ("input_bytes", "corpus"),
        }  # fmt: skip
        assert [check for check in checks if not check["passed"]] == []
        stages = [stage["name"].partition(": ")[2] for stage in report["stages"]]
        assert stages == ["scan text, sample", "scan text, exchange", "exchange, sort, write"]
        assert (out / "stages.parquet").exists()
        assert (out / "tasks.parquet").exists()
        surveyed = gordon.survey.run(out, space="gordon-2009", model="stages", nodes=4)
        assert surveyed["designs"]
        predicted = gordon.survey.run(out)
        assert predicted["nodes"] == 2

    def test_all_jobs_run_on_two_nodes_and_write_to_their_disks(
        self, cluster: OneCluster, tmp_path: Path
    ) -> None:
        nodes, standalone = cluster.nodes, cluster.standalone
        output = standalone.output
        made = RunFolder(tmp_path / "run")
        made.path.mkdir()
        sources: list[Any] = [*seed_text(tmp_path)]
        own = {
            "spark.driver.host": nodes.address,
            "spark.driver.bindAddress": nodes.address,
            "spark.executor.memory": f"{standalone.memory_mib}m",
            "spark.sql.shuffle.partitions": "2",
        }
        name, home = Work(jobs.get("sort"), {}, [], 1), java.find()
        with _job_session(made, name, standalone.master, home, own) as session:
            for job in jobs.JOBS.values():
                given = {"size": 2 * MB, "partitions": 4} if job.id == "randomwriter" else {}
                work = Work(job, job.complete(given), [], 1)
                seeds: list[Any] = sources if job.data in ("text", "web") else []
                inputs = _spread(made, work, nodes, Corpus(2 * MB, 1, seeds, None))
                work.job.run(session, inputs, f"file://{output}/result", work.parameters)
                view = _view(nodes, output / "result")
                assert {Path(path).resolve().parts[-4] for path in view.iterdir()} == {
                    "node-1",
                    "node-2",
                }, job.id
                result = verify.verify(session, job.id, inputs, f"file://{view}", work.parameters)
                assert result["passed"], (job.id, result)
                cluster.clear()

    def test_a_job_runs_on_an_existing_cluster(self, cluster: OneCluster, tmp_path: Path) -> None:
        hosts, text = tmp_path / "hosts", tmp_path / "text"
        hosts.write_text("first\n")
        text.write_text("".join(topics.topics.values()))
        via = f"env PATH={Path(sys.executable).parent}:/usr/bin:/bin GORDON_HOST={{host}}"
        # Spark of this process keeps the address of its first session.
        command = [sys.executable, "-m", "gordon", "workload", "run", "grep-simple"]
        places = ["--input", f"file://{text}", "--result", f"file://{tmp_path}/result"]
        traced = ["--hosts", str(hosts), "--via", via, "-o", str(tmp_path / "run")]
        subprocess.run(
            [*command, "--master", cluster.standalone.master, *places, *traced],
            check=True,
            env=os.environ | {"SPARK_LOCAL_IP": cluster.nodes.address},
        )
        report: Any = folder.read(tmp_path / "run")
        assert report["verification"]["passed"]
        nodes = [(node["name"], node["status"]) for node in report["nodes"]]
        assert nodes == [("first", "complete")]
        assert report["stages"]


def test_the_tasks_of_a_killed_worker_run_again(tmp_path: Path) -> None:
    out = tmp_path / "run"
    group = ControlGroup(f"/{local.PREFIX}{os.getpid()}/node-2")

    def kill() -> None:
        # The first stage of a sort only reads.
        disk = tmp_path / f"{local.PREFIX}{os.getpid()}" / "node-2"
        eventually(lambda: read_bytes(disk) >= 5 * MB)
        for pid in group.processes:
            os.kill(pid, signal.SIGKILL)

    killer = threading.Thread(target=kill)

    def notify(step: str) -> None:
        if step == "running sort":
            killer.start()

    report: Any = gordon.workload.run(
        "sort", out, size="20MB", nodes=2, memory="1GiB", notify=notify, interval_ns=200 * 10**6
    )
    killer.join()
    assert [node["status"] for node in report["nodes"]] == ["complete", "lost", "complete"]
    assert report["verification"]["passed"]
    for node in report["nodes"]:
        samples = columns(out / node["name"])
        # Both traces last to the end of the job.
        assert sum(samples["span_s"]) == pytest.approx(report["duration_s"], abs=1.0)
    assert columns(out / "node-2")["cpu_s"][-1] == 0
    assert nothing_left(tmp_path)


def test_without_the_tools_nodes_are_traced_by_their_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "TOOLS", ("no-such-tool",))
    report: Any = gordon.workload.run("sort", tmp_path / "run", size="4MB", nodes=2, memory="1GiB")
    assert report["verification"]["passed"]
    assert any("plain processes that share" in text for text in report["warnings"])
    # The network is that of the tasks.
    [warning] = [text for text in report["warnings"] if text.startswith("network: ")]
    assert not any("no network:" in text for text in report["warnings"])
    assert "estimated" in warning
    remote = report["totals"]["engine"]["shuffle_read_remote_bytes"]
    assert remote > 0.2 * report["data"]["bytes"]
    totals = report["totals"]["nodes"]
    assert totals["rx_bytes"] == pytest.approx(remote, abs=2)
    assert totals["tx_bytes"] == pytest.approx(remote, abs=2)
    assert [check for check in report["totals"]["checks"] if not check["passed"]] == []
    for node in report["nodes"]:
        assert node["scope"]["processes"]
        assert node["totals"]["cpu_s"] > 0.5
    # The network of the driver is unknown.
    driver: Any = folder.driver(report)
    assert driver is not None
    assert driver["totals"]["rx_bytes"] is driver["totals"]["tx_bytes"] is None
    workers: Any = folder.workers(report)
    for node in workers:
        assert node["totals"]["rx_bytes"] > 0
        assert node["totals"]["tx_bytes"] > 0
        summary = json.loads(gordon._core.trace_summary(str(tmp_path / "run" / node["name"])))
        kinds = {
            column["name"]: column["kind"]
            for part in summary["manifest"]["parts"]
            for column in part["columns"]
        }
        assert (kinds["rx_bytes"], kinds["tx_bytes"]) == ("estimated", "estimated")
        lacking = [each["what"] for each in summary["manifest"]["unavailable"]]
        assert "network" not in lacking
    assert gordon.survey.run(tmp_path / "run", model="job")["nodes"] == 2


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    out = tmp_path / "run"
    command = [sys.executable, "-m", "gordon", "workload", "run", "sort", "--size", "20MB"]
    process = subprocess.Popen(
        [*command, "--nodes", "2", "--memory", "1GiB", "-o", str(out)],
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "starting Spark" in line:
            break
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    assert process.returncode == 130
    assert list(tmp_path.iterdir()) == []
    assert nothing_left(tmp_path)


def test_a_full_disk_of_a_node_is_one_error_and_its_trace_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The input fits on the disks, the output does not."""
    small = dataclasses.replace(jobs.get("identity"), disk_per_byte=1)
    monkeypatch.setitem(jobs.JOBS, "identity", small)
    monkeypatch.setattr(sys.modules["gordon.workload.run"], "DISK_BASE", 24 * MB)
    out = tmp_path / "run"
    sources: list[Any] = seed_text(tmp_path)
    with raises("disk-full", "identity", "node-"):
        gordon.workload.run(
            "identity", out, size="60MB", nodes=2, memory="1GiB", sources=sources[:1]
        )
    report: Any = folder.read(out)
    assert "full" in report["error"]
    for node in report["nodes"]:
        assert node["totals"]["cpu_s"] > 0
    assert nothing_left(tmp_path)


def test_disks_that_do_not_fit_are_refused_before_the_input_is_generated(tmp_path: Path) -> None:
    with raises("disk-full", str(tmp_path)):
        gordon.workload.run("sort", tmp_path / "run", size="100TB")
    assert list(tmp_path.iterdir()) == []


def test_a_job_without_its_data_is_refused_before_spark_starts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    out = tmp_path / "run"
    with pytest.raises(GordonError):
        gordon.workload.run("ngram", out, size="1MB", nodes=1, sources=empty)
    assert not out.exists()
    assert nothing_left(tmp_path)


def test_an_existing_folder_is_refused(run: Run, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    run("workload", "run", "sort", "-o", str(tmp_path / "run")).refused("exists", "run")


def test_a_master_that_does_not_answer_is_one_error(tmp_path: Path) -> None:
    cluster: Any = gordon.workload.Cluster(
        "spark://127.0.0.1:1", ["file:///etc/hosts"], "file:///x"
    )
    with raises("no-cluster", "spark://127.0.0.1:1"):
        gordon.workload.run("grep-simple", tmp_path / "run", cluster=cluster)
    assert list(tmp_path.iterdir()) == []


def test_a_server_of_spark_connect_is_refused(tmp_path: Path) -> None:
    cluster: Any = gordon.workload.Cluster("sc://host:15002", ["file:///etc/hosts"], "file:///x")
    with raises("no-cluster", "sc://host:15002"):
        gordon.workload.run("grep-simple", tmp_path / "run", cluster=cluster)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("hosts", "via", "what"),
    [(True, None, "reaches the hosts"), (False, "ssh {host}", "none is named")],
)
def test_hosts_and_the_command_that_reaches_them_belong_together(
    tmp_path: Path, hosts: bool, via: str | None, what: str
) -> None:
    file = tmp_path / "hosts"
    file.write_text("a\n")
    cluster: Any = gordon.workload.Cluster(
        "spark://127.0.0.1:1", ["file:///etc/hosts"], "file:///x", via, file if hosts else None
    )
    with raises("bad-via", what):
        gordon.workload.run("grep-simple", tmp_path / "run", cluster=cluster)
    assert not (tmp_path / "run").exists()


def test_the_error_of_a_job_that_spark_gave_up_is_its_last_cause() -> None:
    text = (
        "An error occurred.\n: X: aborted\n\tat a\nCaused by: java.io.IOException: no luck\n\tat b"
    )
    error = _failed(jobs.get("sort"), RuntimeError(text), [])
    assert error.kind == "job-failed"
    assert "sort failed: java.io.IOException: no luck" in str(error.args[0])


def test_the_command_knows_all_jobs() -> None:
    assert list(jobs.JOBS) == list(JOBS)
