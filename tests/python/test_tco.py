"""The total cost of a job: `gordon cost tco`, the objectives of surveys, sliders of the report, and
`gordon explain`."""

from __future__ import annotations

import io
import json
import re
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from browser import drawn, needs_browser
from gordon import survey
from gordon.cost import tco
from gordon.survey import bill_page, doubts
from gordon.survey.explain import explain
from surveyed import of_machines, of_tasks

from conftest import Run, raises

Json = dict[str, Any]
LOG = "spark-sort"
YEAR_S = 365.25 * 86400
#: Clusters for which the log needs seconds.
SMALL: Any = {"space": "modern", "nodes": [1, 2, 4], "runs_per_day": 40.0}


def test_the_parts_of_the_total_follow_from_the_inputs(run: Run) -> None:
    ran = run(
        *("cost", "tco", LOG, "--node", "framework-desktop", "--nodes", "2", "--json", "-"),
        *("--runs-per-day", "40", "--years", "5", "--price-kwh", "0.3", "--pue", "1.2"),
        *("--grid", "DE"),
    )
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    bill, of = found["run"], found["run"]["inputs"]
    runs = 40 * 365.25
    assert bill["runs_per_year"] == pytest.approx(runs)
    assert bill["busy"] == pytest.approx(runs * found["time_s"] / YEAR_S)
    assert bill["purchase"] == pytest.approx(2 * of["purchase_price"] / 5 / runs)
    between = 86400 / 40 - found["time_s"]
    kwh = (of["energy_j"] + 2 * of["idle_w"] * between) * 1.2 / 3.6e6
    assert bill["electricity"] == pytest.approx(kwh * 0.3)
    assert bill["total"] == pytest.approx(bill["purchase"] + bill["drives"] + bill["electricity"])
    assert found["per_year"] == pytest.approx(bill["total"] * runs)
    grams = found["operation"]["grams_per_kwh"]
    assert "Germany" in found["operation_sources"]["grams_per_kwh"]
    assert bill["carbon_use_kg"] == pytest.approx(kwh * grams / 1000)


def test_the_range_of_the_total_holds_the_total_and_names_what_moves_it_most() -> None:
    cost = tco(LOG, "framework-desktop", nodes=2, runs_per_day=40)["cost"]
    assert cost is not None
    assert cost["high"] is not None
    assert cost["low"] < cost["value"] < cost["high"]
    widths = [end["at_high"] or 0 for end in cost["by"]]
    assert len(widths) > 3
    # Twice the runs halve the share of the year.
    of_runs = next(end for end in cost["by"] if end["input"] == "runs_per_day")
    assert (of_runs["at_low"] or 0) > cost["value"] > (of_runs["at_high"] or 0)


def test_the_objectives_decide_front_names_and_verdict() -> None:
    result = of_tasks(survey.run(LOG, objective="time,tco,carbon", deadline=600, **SMALL))
    assert result["objectives"] == ["time", "tco", "carbon"]
    totals = {
        row["id"]: bill["total"]
        for row in result["designs"]
        if (bill := row["bill"]) is not None and bill["total"] is not None
    }
    named, verdict = result["named"]["least-tco"], result["verdict"]
    assert verdict is not None
    assert (verdict["by"], verdict["id"]) == ("tco", named)
    assert named in totals
    assert "total cost" in result["sentence"]
    front = {row["id"] for row in result["designs"] if row["pareto"]}
    assert named in front <= set(totals)
    # Energy and price are no objectives, and have names all the same.
    assert result["named"]["least-energy"] is not None
    plain = of_tasks(survey.run(LOG, **SMALL))
    assert "least-tco" not in plain["named"]


def test_limits_leave_designs_out_and_an_impossible_one_is_said(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = of_tasks(survey.run(LOG, max_power="40W", **SMALL))
    for row in result["designs"]:
        inputs = row["bill"]["inputs"] if row["bill"] else None
        if row["pareto"] and inputs:
            assert (inputs["energy_j"] or 0) / row["tasks"]["time_s"] <= 40
    none = of_tasks(survey.run(LOG, max_power=0.1, **SMALL))
    assert none["verdict"] is None
    assert none["sentence"] == "No cluster of the space is within --max-power 0.1 W."
    files = ("-o", "page.html", "--json", "result.json", "--csv", "rows.csv")
    ran = run("survey", LOG, "--space", "modern", "--nodes", "1", "--max-power", "0.1W", *files)
    assert ran.status == 0, ran.err
    assert "No cluster of the space is within" in ran.out
    assert {path.name for path in tmp_path.iterdir()} == {"page.html", "result.json", "rows.csv"}


def test_runs_that_do_not_fit_the_day_and_unknown_prices_are_said() -> None:
    slow = tco(LOG, "raspberry-pi-5", nodes=1, runs_per_day=1e6)
    assert slow["run"]["total"] is None
    assert "do not keep up" in slow["unknown"][0]
    assert slow["cost"] is None


@pytest.mark.parametrize(
    ("options", "kind", "word"),
    [
        ({"objective": "time,speed"}, "unknown-name", "speed"),
        ({"objective": ","}, "no-objective", "--objective"),
        ({"objective": "tco,tco"}, "out-of-range", "--objective: tco is given twice"),
        ({"price_kwh": -0.1}, "out-of-range", "--price-kwh: -0.1"),
        ({"pue": 0.5}, "out-of-range", "--pue: 0.5"),
        ({"years": 1e6}, "out-of-range", "--years"),
        ({"grid": "Atlantis"}, "unknown-name", "Atlantis"),
        ({"grid": "nan"}, "bad-number", "--grid nan"),
        ({"objective": "time,life"}, "wrong-model", "tasks model"),
        ({"max_price": -1.0}, "out-of-range", "--max-price: -1"),
    ],
)
def test_what_no_machine_is_used_like_is_refused(options: Any, kind: str, word: str) -> None:
    with raises(kind, word):
        survey.run(LOG, **{"space": "modern", "nodes": [1]} | options)


def test_a_rented_machine_has_its_rent_and_no_electricity(run: Run) -> None:
    found = tco(LOG, "m5.xlarge", nodes=2)
    bill = found["run"]
    assert bill["total"] == bill["rent"]
    assert bill["electricity"] is None
    assert found["per_year"] is None
    ran = run("cost", "tco", LOG, "--node", "m5.xlarge", "--nodes", "2")
    assert "rented for the time of a run" in ran.out


def test_the_minimum_that_is_billed_bounds_the_rent() -> None:
    cost = tco(LOG, "m5.xlarge", nodes=4)["cost"]
    assert cost is not None
    # The run takes less than the minute that is billed, also at the upper end of its time.
    assert cost["low"] == cost["value"] == cost["high"]


def test_nodes_that_may_not_keep_up_have_an_open_range_and_are_not_compared(run: Run) -> None:
    cost = tco(LOG, "framework-desktop", runs_per_day=5500)["cost"]
    assert cost is not None
    assert cost["high"] is None
    assert cost["by"][0]["at_high"] is None
    ran = run("cost", "tco", LOG, "--node", "framework-desktop", "--runs-per-day", "5500")
    assert "no end, because the nodes may not keep up" in ran.out
    result = of_tasks(survey.run(LOG, **SMALL | {"objective": "time,tco", "runs_per_day": 4000}))
    assert any("may not keep up with --runs-per-day" in text for text in result["warnings"])
    none = of_tasks(survey.run(LOG, **SMALL | {"objective": "tco", "runs_per_day": 1e5}))
    assert none["sentence"].startswith("The total cost of no candidate is known, so that")


def test_other_years_change_the_price_of_an_hour_too() -> None:
    four, ten = (
        of_tasks(survey.run(LOG, **SMALL | {"years": years}))["designs"][0] for years in (4, 10)
    )
    assert four["price_per_hour"] == pytest.approx(2.5 * (ten["price_per_hour"] or 0))


def test_prices_in_usd_are_not_added_to_another_currency(tmp_path: Path) -> None:
    text = (Path(survey.__file__).parent / "spaces/modern.toml").read_text(encoding="utf-8")
    own = tmp_path / "own.toml"
    own.write_text(text.replace('currency = "USD"', 'currency = "EUR"'), encoding="utf-8")
    found = tco(LOG, "framework-desktop", space=str(own), runs_per_day=40)
    assert found["unknown"] == ["the price of its drives is unknown"]
    result = of_tasks(survey.run(LOG, **SMALL | {"space": str(own), "objective": "tco"}))
    assert any("give the tariff with --price-kwh" in text for text in result["warnings"])


def test_ranges_stay_within_what_is_possible() -> None:
    cost = tco(LOG, "framework-desktop", years=90, pue=9, grid=1600, runs_per_day=1e-6)["cost"]
    assert cost is not None
    ends = {end["input"]: end for end in cost["by"]}
    assert ends["years"]["high"] == 100
    assert ends["pue"]["high"] == 10


def test_options_of_use_are_refused_where_they_have_no_effect(run: Run, trace: str) -> None:
    for words in (("--space", "gordon-2009", "--pue", "1.2"), ("--service", "--grid", "DE")):
        run("survey", trace, *words).refused("wrong-model", words[-2], status=2)


def test_the_life_of_a_disk_is_no_limit(trace: str) -> None:
    result = of_machines(survey.run(trace, space="modern", min_life=1.0))
    kept = {row["storage_kind"] for row in result["designs"] if row["bill"] is not None}
    assert kept >= {"flash", "disk"}


def test_unknown_machines_are_named() -> None:
    with raises("unknown-name", "framwork-desktop"):
        tco(LOG, "framwork-desktop")


def test_every_input_of_a_bill_that_moves_it_has_a_range() -> None:
    keys = {doubt.key for doubt in doubts.DOUBTS}
    assert {"energy_j", "purchase_price", "price_per_kwh", "pue", "years"} <= keys
    assert all(doubt.low < 1 < doubt.high for doubt in doubts.DOUBTS)


@needs_browser
def test_the_page_computes_the_same_bills(tmp_path: Path) -> None:
    from gordon.survey import tasks_page

    result = of_tasks(survey.run(LOG, **SMALL))
    page = tmp_path / "tasks.html"
    page.write_text(tasks_page.render(result), encoding="utf-8")
    text = drawn(page, tmp_path)
    table = re.search(r'<table id="bill-table">(.*?)</table>', text, re.DOTALL)
    assert table is not None
    rows = re.findall(
        r"<tr><th[^>]*>([^<]*)</th><td[^>]*>[^<]*</td><td[^>]*>([^<]*)</td>", table[1]
    )
    assert rows
    bills = {row["id"]: row["bill"] for row in result["designs"]}
    for id, total in rows:
        bill = bills[id]
        assert bill is not None
        assert float(total.replace(",", "")) == pytest.approx(bill["total"], rel=0.01)
    # Slower ones of the front are cheaper.
    totals = [float(total.replace(",", "")) for _, total in rows]
    assert all(before >= after for before, after in pairwise(totals))


def test_a_page_without_totals_has_no_such_part() -> None:
    result = of_machines_without_prices()
    assert bill_page.of(result, result["designs"]) is None


def of_machines_without_prices() -> Any:
    result: Any = of_tasks(survey.run(LOG, **SMALL))
    for row in result["designs"]:
        row["bill"]["total"] = None
    return result


def test_an_explanation_adds_up(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    result = of_tasks(survey.run(LOG, **SMALL))
    found = explain(result, "2 x framework-desktop/nvme-tlc-1tb")
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


def test_explanations_of_a_trace_and_of_a_grid(trace: str, surveyed: str) -> None:
    of_job = explain(of_machines(survey.run(trace, space="modern")))
    assert of_job["model"] == "job"
    of_grid = explain(json.loads(surveyed))
    assert {part["what"] for part in of_grid["energy"]} >= {"cpu", "memory", "storage"}
    assert of_grid["money"] == []


def test_explain_refuses_other_files(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tmp_path / "other.json"
    for text, words in (
        ("{}", "is not the result of a survey"),
        ("not JSON", "is not the result of a survey"),
        ('{"designs": [], "model": "job", "jobs": {"a": 1}}', "one job is explained"),
        ('{"designs": [], "model": "service", "load": {}}', "is of a service"),
        ('{"designs": null, "model": "job"}', "lacks what this version writes"),
        ('{"designs": [{}], "model": "job", "space": {}}', "lacks what this version writes"),
    ):
        other.write_text(text)
        ran = run("explain", str(other))
        assert ran.status in (1, 2)
        assert words in ran.err
    monkeypatch.setattr(sys, "stdin", io.StringIO("{}"))
    run("explain", "-").refused("not-a-result", "standard input")
    ran = run("explain", str(tmp_path / "missing.json"))
    assert ran.status == 1
    assert "cannot read" in ran.err
