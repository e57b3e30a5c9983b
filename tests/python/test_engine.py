"""One function over many items, on several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gordon import GordonError, engine
from gordon.workload import java

from conftest import raises


def square(number: int) -> int:
    return number * number


def late_first(number: int) -> int:
    time.sleep(1.0 if number == 0 else 0)
    return number


def fail_at_three(number: int) -> int:
    if number == 3:
        raise GordonError("three", "two", kind="three")
    return number


def die_at_three(number: int) -> int:
    if number == 3:
        os._exit(9)
    return number


def slow(number: int) -> int:
    sys.stdout.write(f"{os.getpid()}\n")
    sys.stdout.flush()
    time.sleep(1)
    return number


@pytest.mark.parametrize("workers", [1, 2, None])
def test_results_are_in_the_order_of_the_items(workers: int | None) -> None:
    ticks: list[tuple[int, int]] = []
    results = engine.each(
        square, range(50), workers=workers, progress=lambda *tick: ticks.append(tick)
    )
    assert list(results) == [number * number for number in range(50)]
    assert ticks == [(done, 50) for done in range(1, 51)]
    assert list(engine.each(square, [])) == []


def test_a_result_is_there_before_those_of_earlier_items() -> None:
    found = list(engine.completed(late_first, range(8), workers=2))
    assert sorted(found) == [(number, number) for number in range(8)]
    assert found[0] != (0, 0)
    assert list(engine.each(late_first, range(8), workers=2)) == list(range(8))


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_of_the_function_is_raised_as_it_is(workers: int) -> None:
    with raises("three", "three"):
        list(engine.each(fail_at_three, range(8), workers=workers))


def test_workers_that_are_always_killed_are_one_error() -> None:
    found = []
    with raises("lost-worker"):
        for index, _ in engine.completed(die_at_three, range(8), workers=2):
            found.append(index)
    # Losses without a result in between: all but the third are done, each once.
    assert 3 not in found
    assert len(set(found)) == len(found)
    assert list(engine.each(square, [3], workers=2)) == [9]


class DieOnce:
    """Squares a number; its process is killed at 3, once."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __call__(self, number: int) -> int:
        if number == 3 and not self.mark.exists():
            self.mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return square(number)


ENGINES = ["loky", "ray", "dask", "spark"]


@pytest.fixture
def installed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of an engine whose workers can import this module."""
    name: str = request.param
    for package in engine.NEEDS.get(name, ()):
        pytest.importorskip(package, reason=f"{package} is not installed")
    if name == "spark":
        try:
            java.find()
        except GordonError as error:
            pytest.skip(error.message)
        end_java()
    folders = [str(Path(__file__).parent), *filter(None, sys.path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(folders))
    return name


def end_java() -> None:
    """Ends the Java of earlier tests of this process: its workers have the folders of its start."""
    from pyspark import SparkContext  # type: ignore[import-not-found, unused-ignore]

    if SparkContext._gateway is not None:
        SparkContext._gateway.shutdown()
        SparkContext._gateway = SparkContext._jvm = None


@pytest.mark.parametrize("installed", ENGINES, indirect=True)
def test_a_killed_worker_is_replaced(installed: str, tmp_path: Path) -> None:
    ticks: list[tuple[int, int]] = []
    results = engine.each(
        DieOnce(tmp_path / "killed"),
        range(8),
        installed,
        2,
        progress=lambda *tick: ticks.append(tick),
    )
    assert list(results) == [number * number for number in range(8)]
    assert (tmp_path / "killed").exists()
    assert ticks == [(done, 8) for done in range(1, 9)]


@pytest.mark.parametrize("installed", ["ray"], indirect=True)
def test_more_workers_than_processors_do_not_wait_for_them(installed: str) -> None:
    assert list(engine.each(square, range(4), installed, 10_000)) == [0, 1, 4, 9]


def test_an_unknown_engine_names_the_nearest_one() -> None:
    with raises("unknown-name", "rey") as caught:
        engine.each(square, [1], engine="rey")
    assert "`ray`" in caught.value.args[1]


@pytest.mark.parametrize("name", ["ray", "dask", "spark"])
def test_an_engine_that_is_not_installed_names_its_extra(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "find_spec", lambda package: None)
    with raises("no-engine", name) as caught:
        engine.each(square, [1], engine=name)
    assert f"gordon-storage[{name}]" in caught.value.args[1]


@pytest.mark.parametrize(
    ("name", "address"),
    [("ray", "127.0.0.1:1"), ("dask", "tcp://127.0.0.1:1"), ("spark", "spark://127.0.0.1:1")],
)
def test_a_cluster_that_does_not_answer_is_one_error(
    name: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(engine.NEEDS[name][0])
    monkeypatch.setattr(engine, "PATIENCE_S", 1)
    monkeypatch.setenv(engine.ADDRESS[name], address)
    with raises("unreachable-engine", address):
        list(engine.each(square, [1], engine=name))


@pytest.mark.parametrize("installed", ENGINES[1:], indirect=True)
def test_a_cluster_gives_the_results_of_this_machine(installed: str) -> None:
    assert list(engine.each(square, range(50), installed, 2)) == [n * n for n in range(50)]
    with raises("three", "three"):
        list(engine.each(fail_at_three, range(8), installed, 2))


PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)
from gordon import engine
from test_engine import slow
list(engine.each(slow, range(100), workers=2))
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_an_interrupted_or_killed_run(number: int) -> None:
    folders = [str(Path(__file__).parent), *filter(None, sys.path)]
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(folders)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert program.stdout is not None
    workers = {int(program.stdout.readline()) for _ in range(2)}
    assert program.pid not in workers
    program.send_signal(number)
    program.wait(timeout=30)
    program.stdout.close()
    deadline = time.monotonic() + 30
    while any(_runs(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def _runs(process: int) -> bool:
    """Whether a process exists and is not a zombie."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False
