"""`--reference`: the traced machine by its id in any shipped space, its processor, or its speed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import gordon
import sadf
from gordon.reports.survey import ReferenceReport
from gordon.survey import references, space
from spaces import GRID, MACHINES
from surveyed import of_machines

from conftest import Run, raises

UNIT = """
[reference]
machine = "m5.xlarge"
summary = "a virtual processor"
benchmark = "a benchmark"
score = 100
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


def traced_on(trace: str, **machine: Any) -> None:
    """Changes the machine of the manifest."""
    file = Path(trace) / "manifest.json"
    manifest = json.loads(file.read_text())
    manifest["machine"] |= machine
    file.write_text(json.dumps(manifest))


def speed_of(space_name: str, id: str) -> float:
    (machine,) = [m for m in space.machines(space.load(space_name)) if m["id"] == id]
    speed = machine["core_speed"]
    return float(speed["value"] if isinstance(speed, dict) else speed)


def reference(trace: str, given: str | float, space_name: str = "ec2") -> ReferenceReport:
    result = of_machines(gordon.survey.run(trace, space=space_name, reference=given))
    found = result["reference"]
    assert not any("is unknown: core_speed" in warning for warning in result["warnings"])
    return found


@pytest.mark.parametrize(
    ("surveyed", "given", "of"),
    [
        ("ec2", "m6i.large", "ec2"),
        ("modern", "m6i.large", "ec2"),
        ("ec2", "n2-standard-4", "gcp"),
        ("gcp", "raspberry-pi-5", "modern"),
        ("ec2", "Standard_D4as_v5", "azure"),
    ],
)
def test_a_machine_of_any_shipped_space(trace: str, surveyed: str, given: str, of: str) -> None:
    assert reference(trace, given, surveyed) == {
        "machine": given,
        "core_speed": speed_of(of, given),
        "is_assumed": False,
    }


def test_times_are_relative_to_the_speed_of_the_reference(trace: str) -> None:
    def times(given: str | float) -> dict[str, float]:
        result = of_machines(gordon.survey.run(trace, space="ec2", reference=given))
        return {row["id"]: row["job"]["time_s"] for row in result["designs"]}

    speed = speed_of("gcp", "n2-standard-4")
    by_machine, by_speed, twice = times("n2-standard-4"), times(speed), times(str(2 * speed))
    assert by_machine == pytest.approx(by_speed)
    # All of the time is computing.
    assert twice == pytest.approx({id: 2 * time for id, time in by_speed.items()})


@pytest.mark.parametrize(
    ("given", "model"),
    [
        ("Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "Platinum 8375C"),
        ("intel xeon platinum 8375c", "Platinum 8375C"),
        ("Xeon 8375C", "Platinum 8375C"),
        ("8375C", "Platinum 8375C"),
        ("AMD EPYC 7763 64-Core Processor", "EPYC 7763"),
        ("12th Gen Intel(R) N100", "Intel(R) N100"),
        ("Intel(R) Xeon(R) CPU @ 2.80GHz", "Xeon(R) CPU @ 2.80GHz"),
        ("Intel(R) Xeon(R) Platinum 8581C CPU @ 2.30GHz", "8581C CPU @ 2.30GHz"),
        ("Intel(R) Core(TM) Ultra 7 265K", "Ultra 7 265K"),
    ],
)
def test_the_name_of_a_processor(trace: str, given: str, model: str) -> None:
    machine = reference(trace, given)["machine"]
    models = {
        one["id"]: one.get("models", [])
        for name in space.names()
        for one in space.machines(space.load(name))
    }
    assert model in models[machine]


def test_a_processor_is_that_of_the_machine_most_like_the_trace(trace: str) -> None:
    traced_on(trace, cores=8, memory="30GiB")
    assert reference(trace, "Platinum 8375C")["machine"] == "m6i.2xlarge"
    traced_on(trace, cores=4, memory="7.5GiB")
    assert reference(trace, "Platinum 8375C")["machine"] == "c6i.xlarge"
    traced_on(trace, cores=4, memory="15GiB", threads_per_core=1)
    assert reference(trace, "EPYC 7B13", "gcp")["machine"] == "t2d-standard-4"


def test_a_trace_without_the_size_of_the_memory_has_the_processor_named(trace: str) -> None:
    traced_on(trace, memory="0B")
    assert reference(trace, "Platinum 8375C")["machine"] == "m6i.large"


def test_a_choice_between_speeds_is_reported(trace: str) -> None:
    result = of_machines(gordon.survey.run(trace, space="gcp", reference="EPYC 7B13"))
    (text,) = [w for w in result["warnings"] if w.startswith("--reference EPYC 7B13: ")]
    assert str(result["reference"]["machine"]) in text
    traced_on(trace, threads_per_core=1)
    result = of_machines(gordon.survey.run(trace, space="gcp", reference="n2d-standard-4"))
    assert not any(w.startswith("--reference") for w in result["warnings"])


@pytest.mark.parametrize("given", ["Neoverse-N1", "neoverse-v2", "Cortex-A72", "ARM Cortex-A76"])
@pytest.mark.parametrize("surveyed", ["ec2", "modern"])
def test_the_name_of_an_arm_core_is_not_a_machine(trace: str, given: str, surveyed: str) -> None:
    with raises("ambiguous-name", given, "a core"):
        gordon.survey.run(trace, space=surveyed, reference=given)


@pytest.mark.parametrize("given", ["8581C", "EPYC", "Xeon"])
def test_a_part_of_several_names_is_refused_with_all_of_them(trace: str, given: str) -> None:
    with raises("ambiguous-name", given) as caught:
        gordon.survey.run(trace, space="gcp", reference=given)
    assert caught.value.args[0].count("`") >= 4


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf", 0, -2.5, float("nan")])
def test_a_speed_that_is_not_above_zero_is_refused(trace: str, given: str | float) -> None:
    with raises("bad-number", "--reference"):
        gordon.survey.run(trace, space="ec2", reference=given)


@pytest.mark.parametrize(
    ("given", "near"),
    [("m5.larg", "`m5.large`"), ("n1-standard-32", "`n2-standard-32`"), ("xyz", ""), ("", "")],
)
def test_an_unknown_name_lists_the_nearest_few(run: Run, trace: str, given: str, near: str) -> None:
    ran = run("survey", trace, "--space", "gcp", "--reference", given)
    ran.refused("unknown-name", f"`{given}`")
    hint = ran.err.partition("try: ")[2]
    assert near in hint
    # The last one is a command.
    assert hint.count("`") <= 2 * 4 + 2
    assert max(map(len, ran.err.splitlines())) < 250


def test_speeds_of_a_space_without_the_unit_cannot_be_compared(trace: str) -> None:
    Path("own.toml").write_text(MACHINES)
    with raises("other-unit", "m6i.large", "ec2", "own"):
        gordon.survey.run(trace, space="own.toml", reference="m6i.large")
    with raises("other-unit", "8375C"):
        gordon.survey.run(trace, space="own.toml", reference="Xeon 8375C")
    assert reference(trace, 1.5, "own.toml")["core_speed"] == 1.5
    Path("own.toml").write_text(MACHINES.replace("\n[[machines]]", UNIT + "[[machines]]", 1))
    assert reference(trace, "m6i.large", "own.toml")["machine"] == "m6i.large"


def test_a_machine_of_the_surveyed_space_comes_first(trace: str) -> None:
    text = MACHINES.replace('id = "small"', 'id = "m6i.large"')
    Path("own.toml").write_text(text)
    result = of_machines(gordon.survey.run(trace, space="own.toml", reference="m6i.large"))
    assert [row["id"] for row in result["designs"] if row["is_reference"]] == ["m6i.large"]
    assert result["reference"]["core_speed"] == 1.0


def test_without_a_reference_nothing_is_looked_up(
    trace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = space.load("ec2")
    monkeypatch.setattr(references, "_shipped", lambda: pytest.fail("loads the shipped spaces"))
    assert references.of_machines(None, chosen, [trace]) == references.Reference()
    assert references.of_machines("m5.large", chosen, [trace]).config == {"reference": "m5.large"}


def test_a_reference_of_a_grid_is_a_part_or_a_number(trace: str) -> None:
    Path("own.toml").write_text(GRID)
    for given in ("atom", 3):
        result = gordon.survey.run(trace, space="own.toml", nodes=1, reference=given)
        assert any(a["key"] == "reference.ipc" for a in result["assumptions"]), given
    with raises("unknown-name", "m5.large"):
        gordon.survey.run(trace, space="own.toml", nodes=1, reference="m5.large")


def test_a_part_of_the_name_of_a_processor_says_which_machine_is_taken(run: Run) -> None:
    ran = run("survey", "spark-sort", "--space", "modern", "--reference", "ryzen")
    assert ran.status == 0, ran.err
    assert "--reference ryzen: framework-desktop is taken, whose processor is RYZEN AI" in ran.err


def test_a_result_with_fewer_rows_than_designs_says_so(run: Run) -> None:
    ran = run("survey", "spark-sort", "--space", "modern", "--rows", "5")
    assert ran.status == 0, ran.err
    assert re.search(r"the result has \d+ of 372 designs \(--rows 372 for all\)", ran.out)
