"""`gordon explain`."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gordon import cost, survey
from gordon.survey.explain import explain
from surveyed import LOG, SMALL, of_machines, of_tasks, small

from conftest import Run

Json = dict[str, Any]


def test_an_explanation_adds_up(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = small()
    found = explain(result, "2 x framework-desktop/nvme-tlc-1tb")
    assert "time" in found
    assert sum(part["share"] for part in found["time"]) == pytest.approx(1)
    assert sum(part["amount"] for part in found["time"]) == pytest.approx(found["time_s"])
    assert sum(part["amount"] for part in found["energy"]) == pytest.approx(found["energy_j"])
    assert sum(part["amount"] for part in found["money"]) == pytest.approx(found["total"])
    assert all(one["id"] != found["design"] for one in found["instead"])
    file = tmp_path / "result.json"
    file.write_text(json.dumps(result))
    ran = run("explain", str(file))
    assert ran.status == 0, ran.err
    with file.open() as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert run("explain", "-").out == ran.out
    assert "recommended" in ran.out


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_result_with_a_number_that_json_does_not_have_is_refused(
    run: Run, tmp_path: Path, number: str
) -> None:
    result = small()
    text = json.dumps(result)
    time = json.dumps(result["designs"][0]["tasks"]["time_s"])
    file = tmp_path / "result.json"
    file.write_text(text.replace(f'"time_s": {time}', f'"time_s": {number}', 1))
    assert file.read_text() != text
    run("explain", str(file)).refused("not-a-result", "result.json")


def test_explanations_of_a_trace_and_of_a_grid(trace: str, surveyed: str) -> None:
    of_job = explain(of_machines(survey.run(trace, space="modern")))
    assert of_job["model"] == "job"
    of_grid = explain(json.loads(surveyed))
    assert "energy" in of_grid
    assert {part["what"] for part in of_grid["energy"]} >= {"cpu", "memory", "storage"}
    assert of_grid["money"] == []


def test_equal_figures_are_those_of_the_cheapest_design() -> None:
    result: Any = small()
    by_id = {row["id"]: row for row in result["designs"]}
    two, four = (by_id[f"{nodes} x core-ultra-265k/nvme-tlc-1tb"] for nodes in (2, 4))
    assert two["tasks"]["time_s"] == pytest.approx(four["tasks"]["time_s"], rel=1e-9)
    # The times of both are sums of the same numbers.
    four["tasks"]["time_s"] = two["tasks"]["time_s"] * (1 - 1e-15)
    found = explain(result, "1 x framework-desktop/nvme-tlc-1tb")
    fastest = next(one for one in found["instead"] if "time" in one["better"])
    assert fastest["id"] == two["id"]


def test_explain_refuses_other_files(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.json"
    for text, words in (
        ("{}", "is not the result of a survey"),
        ("not JSON", "is not the result of a survey"),
        ('{"designs": [], "model": "job", "jobs": {"a": 1}}', "one job is explained"),
        ('{"designs": null, "model": "job"}', "lacks what this version writes"),
        ('{"designs": [{}], "model": "job", "space": {}}', "lacks what this version writes"),
    ):
        other.write_text(text)
        ran = run("explain", str(other))
        assert ran.status in (1, 2)
        assert words in ran.err
    # What a person, or another version, left out of a result.
    whole: Json = dict(of_tasks(survey.run(LOG, **SMALL | {"nodes": [1]})))
    for key in ("model", "designs", "space"):
        other.write_text(json.dumps({name: of for name, of in whole.items() if name != key}))
        run("explain", str(other)).refused("not-a-result")
    for key in ("tasks", "limits", "nodes"):
        rows = [{name: of for name, of in row.items() if name != key} for row in whole["designs"]]
        other.write_text(json.dumps(whole | {"designs": rows}))
        run("explain", str(other)).refused("not-a-result")
    other.write_text(json.dumps(whole))
    for id in ("none-of-these", "2 x framework-desktop/nvme-tlc-1tb", ""):
        run("explain", str(other), "--design", id).refused("unknown-name", f"`{id}`")
    for result in (cost.rack("MaxE"), cost.petabyte()):
        other.write_text(json.dumps(result.report))
        run("explain", str(other)).refused("not-a-result", "gordon survey")
    other.write_text("[" * 100_000)
    run("explain", str(other)).refused("not-a-result")
    monkeypatch.setattr(sys, "stdin", io.StringIO("{}"))
    run("explain", "-").refused("not-a-result", "standard input")
    ran = run("explain", str(tmp_path / "missing.json"))
    assert ran.status == 1
    assert "cannot read" in ran.err
