"""Jobs on nodes of this machine: what is traced, verified and kept."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import gordon
from gordon import GordonError
from gordon.cli.workload_run import JOBS
from gordon.run import folder, local
from gordon.workload import java, jobs
from serving import need_nodes

from conftest import Run, raises

MB = 1_000_000


@pytest.fixture(scope="module", autouse=True)
def isolated() -> None:
    if find_spec("pyspark") is None:
        pytest.skip("there is no PySpark: pip install 'gordon[spark]'")
    try:
        java.find()
    except GordonError as error:
        pytest.skip(f"there is no Java for Spark: {error.args[0]}")
    need_nodes()


def nothing_left(place: Path) -> bool:
    mounts = Path("/proc/self/mountinfo").read_text()
    return str(place) not in mounts and not list(place.glob(f"{local.PREFIX}*"))


def columns(trace: Path) -> dict[str, list[float]]:
    found: dict[str, list[float]] = json.loads(gordon._core.trace_summary(str(trace)))["samples"]
    return found


@pytest.mark.parametrize("job", ["sort"])
def test_a_job_is_traced_on_every_node(run: Run, tmp_path: Path, job: str) -> None:
    out = tmp_path / "run"
    size = 20 * MB
    ran = run("workload", "run", job, "--size", "20MB", "--nodes", "2", "--memory", "1GiB",
              "-o", str(out))  # fmt: skip
    assert "2 nodes traced" in ran.out
    report = folder.read(out)
    assert [node["status"] for node in report["nodes"]] == ["complete", "complete"]
    assert report["verification"]["passed"]
    assert report["engine"]["settings"]["spark.sql.adaptive.enabled"] == "false"
    # Spark reads the input of a sort twice, the second time from the page cache.
    for node in report["nodes"]:
        assert node["totals"]["read_bytes"] == pytest.approx(size / 2, rel=0.3)
        assert node["totals"]["write_bytes"] >= size / 2
        assert node["totals"]["cpu_s"] > 0.5
        assert max(columns(out / node["name"])["memory_bytes"]) <= 1 << 30
    engine = report["totals"]["engine"]
    remote = engine["shuffle_read_remote_bytes"]
    received = report["totals"]["nodes"]["rx_bytes"]
    # Classes and results cross the network too.
    assert remote < received < remote + 30 * MB
    assert report["totals"]["nodes"]["cpu_s"] > engine["cpu_ns"] / 1e9
    assert [stage["name"].partition(":")[0] for stage in report["stages"]] != []
    assert (out / "stages.parquet").exists()
    assert (out / "tasks.parquet").exists()
    assert nothing_left(tmp_path)
    surveyed = gordon.survey.run(out, space="gordon-2009", model="stages", nodes=4)
    assert surveyed["designs"]
    predicted = gordon.survey.run(out)
    assert predicted["nodes"] == 2


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


def test_the_command_knows_all_jobs() -> None:
    assert list(jobs.JOBS) == list(JOBS)
