"""Replays of surveys: kept in a folder, and computed by the processes of an engine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sadf
from gordon import GordonError, engine, survey
from gordon.survey import replays
from gordon.survey.replays import Worker

from conftest import Run, raises

#: Of the space gordon-2009, for each trace.
STORAGES = 4
TESTS = Path(__file__).parent
OUTSIDE = [str(TESTS), *filter(None, sys.path)]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Works in the folder of the test, with workers that can import this module."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(OUTSIDE))


@pytest.fixture
def traces(run: Run, tmp_path: Path) -> list[str]:
    """Three traces of ten seconds, each with other writes."""
    made = []
    for nth in range(3):
        seconds = [sadf.second(n, writes=100 + nth, write_kib=3000) for n in range(10)]
        (tmp_path / f"{nth}.json").write_text(sadf.day(seconds, f"db{nth}"))
        converted = run("trace", "convert", f"{nth}.json", f"{nth}.trace", "--format", "sysstat")
        assert converted.status == 0, converted.err
        made.append(f"{nth}.trace")
    return made


def simulated(traces: str | list[str], **options: Any) -> Any:
    """A survey of designs."""
    return survey.run(traces, space="gordon-2009", **options)


def entries(folder: str = "cache") -> dict[Path, bytes]:
    """The content of each file of a cache."""
    return {path: path.read_bytes() for path in Path(folder).rglob("*") if path.is_file()}


class Once(Worker):
    """A worker that is killed while it computes the third replay, once."""

    def __call__(self, job: str) -> bytes | None:
        done = len(list(Path(self.folder).rglob("*.replay")))
        if done >= 3 and not Path(self.folder, "killed").exists():
            Path(self.folder, "killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(job)


class Always(Worker):
    """A worker that is killed whenever three replays are done."""

    def __call__(self, job: str) -> bytes | None:
        if len(list(Path(self.folder).rglob("*.replay"))) >= 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(job)


class Remote(Worker):
    """A worker that does not see the folder of the survey."""

    def __call__(self, job: str) -> bytes | None:
        self.shared = "/nonexistent"
        return super().__call__(job)


class Noted(Worker):
    """A worker that notes the node of the Ray cluster that it runs on, and waits for one on another
    node: a single one could do all before the other starts."""

    def __call__(self, job: str) -> bytes | None:
        import ray  # type: ignore[import-not-found, unused-ignore]

        Path(self.folder, f"node-{ray.get_runtime_context().get_node_id()}").touch()
        deadline = time.monotonic() + 60
        while len(list(Path(self.folder).glob("node-*"))) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return super().__call__(job)


class NotedOnce(Noted, Once):
    """Both."""


def test_a_cache_gives_the_same_result_without_a_replay(run: Run, traces: list[str]) -> None:
    words = ("survey", *traces, "--space", "gordon-2009", "--nodes", "3", "--json", "-")
    plain = run(*words)
    assert plain.status == 0, plain.err
    assert run(*words, "--cache", "cache").out == plain.out
    kept = entries()
    assert len(kept) == 3 * STORAGES
    assert run(*words, "--cache", "cache").out == plain.out
    assert entries() == kept
    # An engine would start processes for missing replays only.
    assert run(*words, "--cache", "cache", "--engine", "loky").out == plain.out
    assert entries() == kept


def test_surveys_of_machines_share_replays_with_surveys_of_designs(
    run: Run, traces: list[str], tmp_path: Path
) -> None:
    simulated(traces[0], cache="cache")
    kept = entries()
    machine = 'id = "m"\ncores = 2\ncore_speed = 1.0\nmemory = "1GiB"\nnetwork = "1Gb"\n'
    text = f'name = "own"\nsummary = "one"\n[[machines]]\n{machine}storage = "sata-7200-1tb"\n'
    (tmp_path / "own.toml").write_text(text)
    plain: Any = survey.run(traces[0], space="own.toml")
    assert survey.run(traces[0], space="own.toml", cache="cache") == plain
    assert entries() == kept
    assert survey.run(traces[1], space="own.toml", cache="cache", engine="loky")
    assert len(entries()) == len(kept) + 1


def test_other_parameters_of_a_device_are_another_entry(traces: list[str]) -> None:
    simulated(traces[0], cache="cache")
    simulated(traces[0], cache="cache", set="flash.gordon-slc-256g.power.die_active=0.4W")
    assert len(entries()) == STORAGES
    simulated(traces[0], cache="cache", set="flash.gordon-slc-256g.timing.erase=3ms")
    assert len(entries()) == STORAGES + 1


@pytest.mark.parametrize("name", [None, "loky"])
def test_a_damaged_entry_is_reported_and_replaced(name: str | None, traces: list[str]) -> None:
    plain = simulated(traces[0], cache="cache")
    kept = entries()
    damaged = min(kept)
    damaged.write_bytes(kept[damaged][:-20])
    result = simulated(traces[0], cache="cache", engine=name)
    assert damaged.name in result["warnings"].pop()
    assert result == plain
    assert entries() == kept


@pytest.mark.parametrize("name", [None, "loky"])
def test_a_folder_that_cannot_be_written_is_refused(
    name: str | None, traces: list[str], tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("text")
    with raises("cache", "file"):
        simulated(traces[0], cache="file", engine=name)
    with raises("cache", "file/cache"):
        simulated(traces[0], cache="file/cache", engine=name)
    assert (tmp_path / "file").read_text() == "text"


def test_an_engine_that_is_not_installed_is_refused(
    run: Run, traces: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda package: None)
    run("survey", *traces, "--engine", "ray").refused("no-engine", "ray")


@pytest.mark.parametrize("shares", [True, False])
@pytest.mark.parametrize("cache", ["cache", None])
def test_processes_give_the_same_result(
    cache: str | None, shares: bool, traces: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not shares:
        monkeypatch.setattr(replays, "Worker", Remote)
    ticks: list[tuple[int, int]] = []
    plain = simulated(traces)
    result = simulated(traces, cache=cache, workers=2, progress=lambda *tick: ticks.append(tick))
    assert result == plain
    total = 3 * STORAGES
    assert ticks == [(done, total) for done in range(total + 1)]
    assert len(entries()) == (total if cache else 0)


def test_a_killed_worker_loses_nothing(
    traces: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = simulated(traces)
    monkeypatch.setattr(replays, "Worker", Once)
    assert simulated(traces, cache="cache", workers=2) == plain
    assert (tmp_path / "cache/killed").exists()


@pytest.mark.parametrize("name", ["ray", "dask", "spark"])
def test_a_cluster_of_this_machine_gives_the_same_result(name: str, traces: list[str]) -> None:
    for package in engine.NEEDS[name]:
        pytest.importorskip(package, reason=f"{package} is not installed")
    assert simulated(traces, cache="cache", engine=name, workers=2) == simulated(traces)
    assert len(list(Path("cache").rglob("*.replay"))) == 3 * STORAGES


def test_workers_that_are_killed_again_and_again_end_the_survey_and_lose_nothing(
    traces: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replays, "Worker", Always)
    with raises("lost-worker") as caught:
        simulated(traces, cache="cache", workers=2)
    assert "cache" in caught.value.args[1]
    kept = entries()
    assert 3 <= len(kept) < 3 * STORAGES
    monkeypatch.setattr(replays, "Worker", Worker)
    simulated(traces, cache="cache", workers=2)
    assert len(entries()) == 3 * STORAGES
    assert kept.items() <= entries().items()


PROGRAM = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
from gordon.survey import replays, run
import test_survey_replays
replays.Worker = test_survey_replays.Slow
run(sys.argv[1:], space="gordon-2009", cache="cache", workers=2)
"""


class Slow(Worker):
    """A worker that needs half a second more for a replay."""

    def __call__(self, job: str) -> bytes | None:
        time.sleep(0.5)
        return super().__call__(job)


def test_an_interrupted_survey_keeps_what_is_done(traces: list[str]) -> None:
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *traces], stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60
    while len(list(Path("cache").rglob("*.replay"))) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    program.send_signal(signal.SIGINT)
    _, err = program.communicate(timeout=60)
    assert "KeyboardInterrupt" in err
    kept = {path: text for path, text in entries().items() if path.suffix == ".replay"}
    assert 2 <= len(kept) < 3 * STORAGES
    assert simulated(traces, cache="cache") == simulated(traces)
    assert kept.items() <= entries().items()


def test_a_worker_without_the_trace_names_its_machine_and_the_path(traces: list[str]) -> None:
    job = _jobs(traces[0])[0]
    Path(traces[0]).rename("moved")
    with raises("not-shared", os.uname().nodename, str(Path(traces[0]).absolute())):
        Worker("cache", "/nonexistent")(json.dumps(job))


def test_a_job_of_another_version_is_refused(traces: list[str]) -> None:
    job = _jobs(traces[0])[0] | {"gordon": "0.0.9"}
    with raises("other-version", "0.0.9"):
        Worker("cache", "/nonexistent")(json.dumps(job))


def _jobs(trace: str) -> list[dict[str, Any]]:
    """The replays of a survey of a trace."""
    listed: list[str] = []

    def stop(missing: Callable[[], str], *_: object) -> None:
        listed.append(missing())
        raise GordonError("enough", kind="enough")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(replays, "_compute", stop)
        with raises("enough"):
            simulated(trace, cache="cache", engine="loky")
    jobs: list[dict[str, Any]] = json.loads(listed[0])["jobs"]
    return jobs


@pytest.fixture
def ray_cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Two nodes of Ray with one processor each, on this machine."""
    cluster_utils = pytest.importorskip("ray.cluster_utils", reason="ray is not installed")
    cluster = cluster_utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    try:
        cluster.add_node(num_cpus=1)
        cluster.wait_for_nodes()
        monkeypatch.setenv(engine.ADDRESS["ray"], cluster.address)
        yield cluster.address
    finally:
        cluster.shutdown()


@pytest.mark.usefixtures("ray_cluster")
def test_two_nodes_of_ray_give_the_same_result(
    traces: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = simulated(traces)
    monkeypatch.setattr(replays, "Worker", Noted)
    assert simulated(traces, cache="cache", engine="ray") == plain
    assert len(list((tmp_path / "cache").glob("node-*"))) == 2
    monkeypatch.setattr(replays, "Worker", Remote)
    assert simulated(traces, engine="ray") == plain


@pytest.mark.usefixtures("ray_cluster")
def test_a_killed_worker_of_ray_loses_nothing(
    traces: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    plain = simulated(traces)
    monkeypatch.setattr(replays, "Worker", NotedOnce)
    assert simulated(traces, cache="cache", engine="ray") == plain
    assert (tmp_path / "cache/killed").exists()
    assert len(list((tmp_path / "cache").rglob("*.replay"))) == 3 * STORAGES
