"""Machines with a fraction of a core, as containers with a quota have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import gordon
import sadf
from cores import stretch
from gordon.survey import space
from surveyed import of_machines

from conftest import Run, raises

MACHINE = """\
name = "own"
summary = "containers"

[[machines]]
id = "task"
summary = "a container"
cores = 0.25
core_speed = 2.0
core_speed_single = 3.0
threads_per_core = 1
memory = "1024GiB"
storage = { bandwidth = "131MB" }
network = "1Gb"

[[machines]]
id = "whole"
cores = 2
core_speed = { value = 1.0, source = "a cores = 0.5 in a text stays" } # cores = 0.5
memory = "1024GiB"
storage = { bandwidth = "131MB" }
network = "1Gb"
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trace(run: Run) -> str:
    """Ten seconds in which both cores of a machine compute."""
    Path("day.json").write_text(sadf.day([sadf.second(n) for n in range(10)], "db1"))
    made = run("trace", "convert", "day.json", "db1.trace", "--format", "sysstat")
    assert made.status == 0, made.err
    return "db1.trace"


def own(cores: str) -> str:
    Path("own.toml").write_text(MACHINE.replace("cores = 0.25", f"cores = {cores}"))
    return "own.toml"


def surveyed(trace: str, cores: str, *settings: str) -> dict[str, Any]:
    """The first machine, with this number of cores."""
    result = of_machines(gordon.survey.run(trace, space=own(cores), reference=2.0, set=settings))
    values = {p["key"]: p for p in result["parameters"] if p["part"] == "task"}
    assert result["designs"][1]["core_speed"] == 1.0
    design: dict[str, Any] = result["designs"][0] | {"values": values}
    return design


@pytest.mark.parametrize(
    ("cores", "count", "speed", "single"),
    [
        ("0.25", 1, 0.25, 0.25),
        ("0.5", 1, 0.5, 0.5),
        ("1.5", 2, 0.75, 1.0),
        ("2.75", 3, 2.75 / 3, 1.0),
        ("+2_5e-1", 3, 2.5 / 3, 1.0),
        ('{ value = 0.5, source = "a price list" }', 1, 0.5, 0.5),
    ],
)
def test_a_quota_is_whole_cores_of_less_speed(
    trace: str, cores: str, count: int, speed: float, single: float
) -> None:
    found = surveyed(trace, cores)
    assert (found["cores"], found["core_speed"]) == (count, pytest.approx(2.0 * speed))
    # Ten seconds in which two cores of the same speed computed.
    assert found["job"]["time_s"] == pytest.approx(10 * stretch(2, count) / speed)
    assert found["summary"].startswith("a container; ")
    assert "are taken as" in found["summary"]
    for key, value in (("cores", count), ("core_speed_single", 3.0 * single)):
        assert found["values"][key]["value"] == pytest.approx(value)
        assert found["values"][key]["origin"] == "assumed"
    if "source" in cores:
        assert "a price list" in found["values"]["cores"]["why"]


@pytest.mark.parametrize("cores", ["2", "2.0", "2e0"])
def test_whole_cores_stay_as_they_are(trace: str, cores: str) -> None:
    found = surveyed(trace, cores)
    assert (found["cores"], found["core_speed"], found["summary"]) == (2, 2.0, "a container")
    assert found["values"]["core_speed"]["origin"] == "given"


@pytest.mark.parametrize("cores", ["0", "-1", "nan", "0.0", "-0.25", "inf", "-inf"])
def test_cores_that_are_not_above_zero_are_refused(cores: str) -> None:
    with raises("bad-cores", "own.toml", "`task`", "cores"):
        space.load(own(cores))


@pytest.mark.parametrize("cores", ['"2"', "true", "[1.5]"])
def test_cores_of_another_type_are_the_cores_error(cores: str) -> None:
    with raises("config-error", "own.toml, line 7"):
        space.load(own(cores))


def test_a_fraction_in_an_unknown_notation_is_refused_with_a_hint() -> None:
    Path("own.toml").write_text(MACHINE.replace("cores = 0.25", '"cores" = 0.25'))
    with raises("bad-cores", "own.toml", "notation") as caught:
        space.load("own.toml")
    assert "cores = 0.25" in caught.value.args[1]


def test_a_setting_may_be_a_fraction(trace: str) -> None:
    found = surveyed(trace, "4", "machines.task.cores=0.5", "machines.task.core_speed=4")
    assert (found["cores"], found["core_speed"]) == (1, 2.0)
    found = surveyed(trace, "0.25", "machines.task.cores=2")
    assert (found["cores"], found["core_speed"]) == (2, 2.0)
    found = surveyed(trace, "4", "machines.task.threads_per_core=2", "machines.task.cores=0.5")
    assert found["values"]["threads_per_core"]["value"] == 1
    with raises("bad-cores", "`task`"):
        surveyed(trace, "4", "machines.task.cores=-0.5")
    with raises("not-finite", "machines.task.cores=nan"):
        surveyed(trace, "4", "machines.task.cores=nan")


def test_errors_of_other_lines_keep_their_numbers() -> None:
    Path("own.toml").write_text(MACHINE.replace('network = "1Gb"', 'netwrk = "1Gb"', 1))
    with pytest.raises(gordon.GordonError) as caught:
        space.load("own.toml")
    assert "line 13" in caught.value.args[0]
