"""Explanations of surveys of services: what a design has left, and how much load it takes."""

import json
from pathlib import Path
from typing import Any

import pytest

import sadf
from gordon import survey
from gordon.human import figures
from gordon.survey.explain import explain
from gordon.survey.results import ServiceResult
from services import OWNED, answer, by_id, converted, record
from spaces import MACHINES
from surveyed import of_service

from conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(MACHINES)


def test_an_explanation_of_a_service(run: Run) -> None:
    Path("owned.toml").write_text(OWNED)
    trace = converted(run, record(), "web1")
    options: Any = {"space": "owned.toml", "reference": "small", "objective": "tco"}
    result = of_service(survey.run(trace, service=True, headroom=0.85, nodes=[1, 2], **options))
    found = explain(result)
    assert "uses" in found
    verdict = result["verdict"]
    assert verdict is not None
    assert found["design"] == verdict["id"]
    assert found["is_recommended"]
    row = next(row for row in result["designs"] if row["id"] == found["design"])
    assert {one["what"]: one["use"] for one in found["uses"]} == row["use"]
    known = [one["use"] for one in found["uses"] if one["use"] is not None]
    assert known == sorted(known, reverse=True)
    factors = {one["what"]: one["load_factor"] for one in found["uses"]}
    # A node of a larger load has as much memory in use.
    assert factors["memory"] is None
    cpu = row["use"]["cpu"]
    assert cpu is not None
    assert factors["cpu"] == pytest.approx((1 - result["headroom"]) / cpu)
    assert sum(part["amount"] for part in found["money"]) == pytest.approx(found["total"])
    slower = next(row for row in result["designs"] if row["keeps_up"] is False)
    dearer = next(row for row in result["designs"] if row["id"].startswith("2 x hungry"))
    assert [one["id"] for one in explain(result, dearer["id"])["instead"]] == [found["design"]]
    file = Path("result.json")
    file.write_text(json.dumps(result))
    ran = run("explain", "result.json", "--json", "explained.json")
    assert ran.status == 0, ran.err
    assert "keeps up with" in ran.out
    assert "most load" in ran.out
    assert json.loads(Path("explained.json").read_text()) == found
    ran = run("explain", "result.json", "--design", slower["id"])
    assert "does not keep up" in ran.out
    assert f"too little {slower['short_of'][0]}" in ran.out


def test_the_most_load_counts_that_threads_share_cores(run: Run) -> None:
    # A lone thread does 1.5 of one of two that share a core.
    shared = "core_speed = 1.0\nthreads_per_core = 2\ncore_speed_single = 1.5"
    Path("own.toml").write_text(MACHINES.replace("core_speed = 1.0", shared))
    trace = converted(run, record(user=50.0), "web1")
    options: Any = {"space": "own.toml", "reference": "small", "headroom": 0.25, "nodes": [1]}
    result = of_service(survey.run(trace, service=True, **options))
    found = explain(result, "1 x small")
    assert "uses" in found
    cpu = next(one for one in found["uses"] if one["what"] == "cpu")
    assert cpu["use"] == 0.5
    # One thread does 1.5, and one and a half do 1.75 of the 2 of both: not 75 / 50.
    assert cpu["load_factor"] == pytest.approx(1.75 / 1.5)
    Path("result.json").write_text(json.dumps(result))
    assert "x 1.17" in run("explain", "result.json", "--design", "1 x small").out
    # The survey of a recorded load that is as much greater has just the headroom.
    Path("greater.json").write_text(sadf.day(record(user=75.0), "web1"))
    full = of_service(survey.run("greater.json", service=True, **options))
    row = next(row for row in full["designs"] if row["id"] == "1 x small")
    assert row["keeps_up"]
    assert row["load_factor"]["cpu"] == pytest.approx(1.0)


def test_the_most_load_has_a_range_where_the_use_has_one(run: Run) -> None:
    # The speed of the recorded machine is unknown: half to twice the load.
    trace = converted(run, record(user=10.0), "web1")
    result = of_service(survey.run(trace, service=True, space="own.toml", nodes=[1]))
    found = explain(result)
    assert "uses" in found
    cpu = next(one for one in found["uses"] if one["what"] == "cpu")
    factor = cpu["load_factor"]
    assert factor is not None
    assert cpu["load_factor_range"] == [pytest.approx(factor / 2), pytest.approx(factor * 2)]
    Path("result.json").write_text(json.dumps(result))
    shown = run("explain", "result.json").out
    assert f"x {figures(factor)} ({figures(factor / 2)} to {figures(factor * 2)})" in shown


def test_the_result_of_a_service_of_an_older_version_is_not_explained(run: Run) -> None:
    trace = converted(run, record(), "web1")
    result = of_service(survey.run(trace, service=True, space="own.toml", nodes=[1]))
    rows: list[dict[str, Any]] = [dict(row) for row in result["designs"]]
    for row in rows:
        del row["load_factor"]
    Path("result.json").write_text(json.dumps({**result, "designs": rows}))
    ran = run("explain", "result.json")
    assert ran.status == 1
    assert "survey again" in ran.err


def test_the_explanation_of_a_service_says_what_is_open(run: Run) -> None:
    # Less than 1 % of the time is busy.
    samples = record(count=200)
    samples[0] = record(count=1, user=90.0)[0]
    for sample in samples:
        del sample["memory"]
    Path("day.json").write_text(sadf.day(samples, "web1"))
    result = of_service(survey.run("day.json", service=True, space="own.toml", nodes=[1, 2]))
    # The survey and the explanation name the same design.
    maybe = result["maybe"]
    assert maybe is not None
    found = explain(result)
    assert "uses" in found
    assert found["design"] == maybe["id"]
    assert "memory" in found["short_of"]
    cpu = next(one for one in found["uses"] if one["what"] == "cpu")
    # The peak reaches the capacity before the 99th percentile has too little headroom.
    assert cpu["peak"] is not None
    assert cpu["load_factor"] == pytest.approx(1 / cpu["peak"])
    # More nodes than the recorded one do not need less memory each.
    memory = next(one for one in found["uses"] if one["what"] == "memory")
    assert memory["remedy"] == "more memory"
    Path("result.json").write_text(json.dumps(result))
    ran = run("explain", "result.json")
    assert "first: record memory" in ran.out
    assert "--reference" in ran.out
    assert "--reference" in of_memory(result)
    # With the recorded machine, designs with as much memory are judged.
    known = of_service(
        survey.run("day.json", service=True, space="own.toml", nodes=[1, 2], reference="small")
    )
    assert known["verdict"] is not None
    assert "--reference" not in of_memory(known)


def of_memory(result: ServiceResult) -> str:
    """The warning that the record has no memory."""
    return next(text for text in result["warnings"] if "the record has no memory" in text)


def test_the_use_of_the_recommended_design_is_that_of_the_end_of_its_range(run: Run) -> None:
    # The speed of the recorded machine is unknown: half to twice the load.
    result = answer(run, converted(run, record(user=10.0), "web1"), "--nodes", "1")
    row = by_id(result)[result["verdict"]["id"]]
    assert row["limited_by"] == "cpu"
    assert f"at most {row['range']['cpu'][1]:.0%} used" in result["sentence"]
    Path("result.json").write_text(json.dumps(result))
    ran = run("explain", "result.json")
    assert f"up to {row['range']['cpu'][1]:.0%}" in ran.out


def test_an_empty_name_of_a_design_is_unknown(run: Run) -> None:
    result = answer(run, converted(run, record(), "web1"), "--nodes", "1")
    Path("result.json").write_text(json.dumps(result))
    run("explain", "result.json", "--design", "").refused("unknown-name", "``")


def test_a_headroom_is_printed_as_it_was_given(run: Run) -> None:
    trace = converted(run, record(), "web1")
    result = answer(run, trace, "--nodes", "1", "--headroom", "99.9%")
    assert "with 99.9% headroom" in result["sentence"]
    Path("result.json").write_text(json.dumps(result))
    ran = run("explain", "result.json")
    assert "with 99.9% headroom" in ran.out
    assert "the headroom allows 0.1%" in ran.out
