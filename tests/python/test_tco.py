"""The total cost of a job: `gordon cost tco` and the objectives of surveys."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy
import pytest

from browser import parts
from gordon import survey
from gordon.cost import tco
from gordon.cost.prices import price
from gordon.cost.rent import break_even
from gordon.errors import GordonError
from gordon.human import percent
from gordon.survey import doubts
from gordon.survey.machines import machine_of
from spaces import MACHINES
from surveyed import LOG, SMALL, of_machines, of_tasks, small

from conftest import Run, raises

Json = dict[str, Any]
YEAR_S = 365.25 * 86400


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


#: Two nodes of 1,000 USD that a run of half an hour uses, and a rented one that needs an hour.
OWNED: Any = {
    "nodes": 2,
    "time_s": 1800.0,
    "energy_j": 360_000.0,
    "idle_w": 20.0,
    "purchase_price": 1000.0,
    "drives_price": 100.0,
    "rent_per_hour": None,
    "billed_s": 0.0,
    "embodied_kg": None,
    "drives_embodied_kg": None,
    "drives_life_years": 5.0,
    "wear": None,
}
RENTED: Any = OWNED | {"time_s": 3600.0, "purchase_price": None, "rent_per_hour": 1.0}
#: 0.36 USD a kWh of the machines: 1e-7 USD a joule.
OPERATION: Any = {
    "years": 4.0,
    "hours_per_year": 4383.0,
    "price_per_kwh": 0.24,
    "pue": 1.5,
    "grams_per_kwh": 0.0,
}


def test_the_break_even_is_that_of_the_formula_by_hand() -> None:
    found = break_even(OWNED, RENTED, OPERATION)
    assert found is not None
    # 2,000 and 200 USD over 4 years, and 40 W for 31,557,600 s.
    fixed = 500 + 50 + 40 * 31_557_600 * 1e-7
    assert found["fixed_per_year"] == pytest.approx(fixed) == pytest.approx(676.2304)
    # A run needs 360 kJ, of which 40 W x 1,800 s are counted already.
    assert found["per_run_owned"] == pytest.approx(0.0288)
    assert found["per_run_rented"] == 1.0
    runs = 676.2304 / (1 - 0.0288) / 12
    assert found["runs_per_month"] == pytest.approx(runs) == pytest.approx(58.0236, rel=1e-5)
    assert found["hours_per_month"] == pytest.approx(runs / 2)
    assert found["rented_hours_per_month"] == pytest.approx(runs)
    assert found["cost_per_month"] == pytest.approx(runs)


def test_the_break_even_is_where_the_bills_are_equal() -> None:
    cases = [
        (OWNED, RENTED),
        (OWNED | {"wear": 1 / 2000}, RENTED),
        (OWNED | {"wear": 1 / 200}, RENTED | {"rent_per_hour": 3.0}),
        (OWNED, RENTED | {"time_s": 60.0, "billed_s": 600.0, "rent_per_hour": 9.0}),
    ]
    for owned, rented in cases:
        found = break_even(owned, rented, OPERATION)
        assert found is not None
        assert found["runs_per_month"] is not None
        use = OPERATION | {"runs_per_day": found["runs_per_month"] * 12 / 365.25}
        own, rent = doubts.bills([(owned, use), (rented, use)])
        assert own["total"] == pytest.approx(rent["total"])
    # A run of a minute is billed for ten.
    minute = break_even(*cases[3], OPERATION)
    assert minute is not None
    hours = minute["rented_hours_per_month"]
    assert hours == pytest.approx((minute["runs_per_month"] or 0) / 6)
    # Drives that wear out within a year and a half make the second one later.
    first, worn = (break_even(owned, RENTED, OPERATION) for owned, _ in cases[:2])
    assert first is not None
    assert worn is not None
    assert (worn["runs_per_month"] or 0) > (first["runs_per_month"] or 0)


def test_nodes_that_are_rented_without_a_pause_have_no_minimum_billing() -> None:
    # Billed for 60 s each, the runs would fill more than a month.
    short = RENTED | {"time_s": 6.0, "billed_s": 60.0, "rent_per_hour": 0.05}
    found = break_even(OWNED | {"time_s": 1.0, "energy_j": 40.0}, short, OPERATION)
    assert found is not None
    assert found["per_run_rented"] == pytest.approx(0.05 * 6 / 3600)
    assert (found["rented_hours_per_month"] or 0) > 730


def test_a_month_may_be_too_short_and_a_rent_too_low() -> None:
    for rent in (0.0001, 0.03):
        found = break_even(OWNED, RENTED | {"rent_per_hour": rent}, OPERATION)
        assert found is not None
        assert found["runs_per_month"] is None
        assert found["hours_per_month"] is None
    assert break_even(OWNED | {"idle_w": None}, RENTED, OPERATION) is None
    assert break_even(OWNED, OWNED, OPERATION) is None


def test_what_is_rented_is_the_cheapest_that_is_as_fast(trace: str, run: Run) -> None:
    node = ("--node", "raspberry-pi-5", "--reference", "m5.xlarge")
    ran = run("cost", "tco", trace, *node, "--rent", "ec2", "--json", "-")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    rented = found["rented"]
    assert rented["time_s"] <= found["time_s"]
    of_ec2 = of_machines(survey.run(trace, space="ec2", reference="m5.xlarge"))
    fast = [
        row["bill"]["rent"]
        for row in of_ec2["designs"]
        if row["job"]["time_s"] <= found["time_s"] and row["bill"] and row["bill"]["rent"]
    ]
    assert rented["break_even"]["per_run_rented"] == pytest.approx(min(fast))
    named = run("cost", "tco", trace, *node, "--rent", rented["machine"], "--json", "-")
    assert json.loads(named.out)["rented"] == rented
    assert rented["design"] in run("cost", "tco", trace, *node, "--rent", "ec2").out


def test_what_is_rented_has_the_memory_of_the_job(trace: str, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    rented = MACHINES.replace('id = "worse"', 'id = "tiny"').replace("9.0", "0.0001")
    own.write_text(
        rented.replace(
            'memory = "1024GiB"\nstorage = { part', 'memory = "1MiB"\nstorage = { part'
        ).replace("cores = 1\ncore_speed = 0.5", "cores = 4\ncore_speed = 2.0")
    )
    text = own.read_text() + "\n".join(
        (
            '[[machines]]\nid = "owned"\ncores = 2\ncore_speed = 1.0\nmemory = "1MiB"',
            'storage = { bandwidth = "1MB" }\nnetwork = "10Gb"\npurchase_price = 500',
            'idle = "4W"\nactive = "20W"\n',
        )
    )
    own.write_text(text)
    found = tco(trace, "owned", space=str(own), reference=1.0, rent=str(own))
    assert found["rented"] is not None
    assert found["rented"]["machine"] != "tiny"
    lacking = [text for text in found["warnings"] if "less memory" in text]
    # The survey also warns of it, with the other designs that lack memory.
    assert len(lacking) == 1
    assert "owned has less memory than the job used" in lacking[0]


def test_a_machine_that_holds_no_executor_is_refused_with_the_reason(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(MACHINES.replace('memory = "16GiB"', 'memory = "256MiB"'))
    with pytest.raises(GordonError) as refusal:
        tco(LOG, "small", space=str(own), reference=1.0)
    assert refusal.value.kind == "too-small"
    assert refusal.value.message.startswith("small: ")


def test_standard_input_is_not_read_twice(run: Run) -> None:
    ran = run("cost", "tco", "-", "--node", "framework-desktop", "--rent", "ec2")
    ran.refused("exclusive-options", "--rent ec2 surveys the input twice")


def test_a_rented_machine_has_the_costs_of_the_runs_of_a_year(trace: str, run: Run) -> None:
    node: Json = {"reference": 1.0}
    found = tco(trace, "m5.xlarge", runs_per_day=40, **node)
    total = found["run"]["total"]
    assert total is not None
    assert found["per_year"] == pytest.approx(40 * 365.25 * total)
    # Billed for a minute each, 10,000 runs would take a week of every day.
    often = tco(trace, "m5.xlarge", runs_per_day=10_000, **node)["run"]
    rate = often["inputs"]["rent_per_hour"]
    assert rate is not None
    assert often["rent"] == pytest.approx(rate / 3600 * 8.64)
    words = ("cost", "tco", trace, "--node", "m5.xlarge", "--reference", "1.0")
    assert (
        "rented for the time of a run, 40.0 runs a day" in run(*words, "--runs-per-day", "40").out
    )


def test_what_cannot_be_rented_is_refused(trace: str, run: Run) -> None:
    node = ("--node", "raspberry-pi-5", "--reference", "m5.xlarge")
    run("cost", "tco", trace, *node, "--rent", "m5.huge").refused("unknown-name", "m5.huge")
    run("cost", "tco", trace, *node, "--rent", "epyc-7742").refused("not-rented", "epyc-7742")
    rented = ("--node", "m5.xlarge", "--rent", "ec2")
    run("cost", "tco", trace, *rented).refused("not-owned", "m5.xlarge")


def test_drives_have_the_prices_of_a_year(trace: str, run: Run) -> None:
    node = ("--node", "raspberry-pi-5", "--reference", "m5.xlarge", "--json", "-")
    found = [
        json.loads(run("cost", "tco", trace, *node, "--price-year", year).out)["run"]["inputs"]
        for year in ("2014", "2023")
    ]
    prices = [price("ssd", year).usd_per_gb * 1000 for year in (2014, 2023)]
    assert [one["drives_price"] for one in found] == [pytest.approx(usd, 1e-4) for usd in prices]
    assert found[0]["purchase_price"] == found[1]["purchase_price"]
    run("cost", "tco", trace, *node, "--price-year", "1999").refused("no-price", "1999")
    run("cost", "tco", trace, "--node", "m5.xlarge", "--price-year", "2014").refused(
        "no-drives", "m5.xlarge"
    )


def test_a_total_that_no_input_moves_has_no_table_of_inputs(run: Run) -> None:
    # A run of seconds is billed as a minute, so that its time does not matter either.
    words = ("cost", "tco", LOG, "--node", "m5.xlarge", "--reference", "m5.xlarge")
    found = json.loads(run(*words, "--json", "-").out)["cost"]
    assert found["by"] == []
    text = run(*words).out
    assert "no input with a range moves it" in text
    assert "from - to" not in text


def test_disks_sleep_in_a_job_if_asked_to(trace: str, run: Run) -> None:
    node = ("--node", "core-ultra-265k/sata-7200-1tb", "--reference", "m5.xlarge", "--json", "-")
    awake = json.loads(run("cost", "tco", trace, *node).out)
    asleep = json.loads(run("cost", "tco", trace, *node, "--spin-down", "1ms").out)
    assert asleep["time_s"] >= awake["time_s"]
    plain = ("survey", trace, "--reference", "m5.xlarge")
    ran = run(*plain, "--spin-down", "auto", "--json", "-")
    found = {row["id"]: row["job"] for row in json.loads(ran.out)["designs"]}
    slept = found["core-ultra-265k/sata-7200-1tb"]["spin_down"]
    assert slept["is_used"]
    assert slept["after_s"] == pytest.approx((227 - 9 * 13.5) / 8)
    assert "spin_down" not in found["raspberry-pi-5/nvme-tlc-1tb-400MB"]
    run(*plain, "--space", "ec2", "--spin-down", "auto").refused("out-of-range", "--spin-down")
    run(*plain, "--spin-down", "soon").refused("bad-quantity", "--spin-down soon")
    run(*plain, "--spin-down", "0s").refused("out-of-range", "--spin-down")
    run(*plain, "--service", "--spin-down", "auto").refused("wrong-model", "--spin-down", status=2)
    run("survey", LOG, "--spin-down", "auto").refused("wrong-model", "--spin-down", status=2)
    grid = ("--space", "gordon-2009", "--spin-down", "auto")
    run("survey", trace, *grid).refused("wrong-model", "--spin-down", status=2)


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
    plain = small()
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


def test_designs_without_the_figure_of_a_limit_are_counted(trace: str, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text(MACHINES.replace('idle = "400W"\nactive = "2000W"\n', ""))
    options: Any = {"space": str(own), "reference": 1.0}
    limited = of_machines(survey.run(trace, max_power="5kW", **options))
    rows = {row["id"]: row for row in limited["designs"]}
    assert not rows["worse"]["pareto"]
    wanted = "the power of 1 design is unknown, so that --max-power leaves it out: worse"
    assert wanted in limited["warnings"]
    plain = of_machines(survey.run(trace, **options))
    assert not any("leaves" in text for text in plain["warnings"])


def test_runs_that_do_not_fit_the_day_and_unknown_prices_are_said() -> None:
    slow = tco(LOG, "raspberry-pi-5", nodes=1, runs_per_day=1e6)
    assert slow["run"]["total"] is None
    assert "do not keep up" in slow["unknown"][0]
    assert f"which holds {int(86400 / slow['time_s']):,}" in slow["unknown"][0]
    assert slow["cost"] is None
    # Other machines are not a part of the answer.
    assert not any("may not keep up" in text for text in slow["warnings"])


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
        ({"max_power": "500"}, "bad-quantity", "--max-power 500"),
        ({"max_power": "-5W"}, "bad-quantity", "--max-power -5W"),
        ({"objective": [" "]}, "no-objective", "--objective ' '"),
        ({"grid": "nan"}, "bad-number", "--grid nan"),
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
    assert none["sentence"].startswith("No design is sure to keep up with --runs-per-day, so that")
    # Also without an objective that runs decide.
    plain = of_tasks(survey.run(LOG, **SMALL | {"runs_per_day": 1e5}))
    assert any("may not keep up with --runs-per-day" in text for text in plain["warnings"])
    assert not any("not on the front" in text for text in plain["warnings"])


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
    assert found["unknown"] == [
        "the price of its drives is unknown: parts of the catalogue have prices in USD, and the "
        "space is in EUR; a part in the space has its currency"
    ]
    assert any("give the tariff with --price-kwh" in text for text in found["warnings"])
    given = tco(LOG, "framework-desktop", space=str(own), runs_per_day=40, price_kwh=0.3)
    assert not any("--price-kwh" in text for text in given["warnings"])
    result = of_tasks(survey.run(LOG, **SMALL | {"space": str(own), "objective": "tco"}))
    assert any("give the tariff with --price-kwh" in text for text in result["warnings"])


def test_ranges_stay_within_what_is_possible() -> None:
    cost = tco(LOG, "framework-desktop", years=90, pue=9, grid=1600, runs_per_day=1e-6)["cost"]
    assert cost is not None
    ends = {end["input"]: end for end in cost["by"]}
    assert ends["years"]["high"] == 100
    assert ends["pue"]["high"] == 10


def test_options_of_use_are_refused_where_they_have_no_effect(run: Run, trace: str) -> None:
    for words in (
        ("--space", "gordon-2009", "--pue", "1.2"),
        ("--service", "--runs-per-day", "4"),
        ("--service", "--deadline", "10min"),
        ("--service", "--objective", "time"),
        ("--requests-per-s", "9"),
    ):
        run("survey", trace, *words).refused("wrong-model", words[-2], status=2)


def test_what_tasks_write_wears_flash(run: Run, tmp_path: Path) -> None:
    result = of_tasks(survey.run(LOG, **SMALL | {"objective": "time,life"}))
    rows = {row["id"]: row for row in result["designs"]}
    wear = {}
    for nodes in (1, 2, 4):
        row = rows[f"{nodes} x framework-desktop/nvme-tlc-1tb"]
        assert row["bill"] is not None
        of = row["bill"]["inputs"]
        assert of["wear"] is not None
        assert of["wear_low"] is not None
        assert of["wear_high"] is not None
        assert 0 < of["wear_low"] <= of["wear"] < of["wear_high"]
        life = 1 / (of["wear"] * 40 * 365.25)
        assert row["bill"]["flash_life_years"] == pytest.approx(life)
        wear[nodes] = of["wear"] * nodes
    # The nodes share the bytes: those of the sort, and hardly more, of 3,000 fills of 1.1 TB.
    assert wear[2] == pytest.approx(wear[4], rel=0.01)
    assert 1e6 < wear[4] * 3000 * 1.1e12 < 1e11
    assert result["named"]["longest-life"] is not None
    page = tmp_path / "page.html"
    ran = run("survey", LOG, "--nodes", "2", "--objective", "time,life", "--all", "-o", str(page))
    assert ran.status == 0, ran.err
    for text in (ran.out, page.read_text()):
        assert "wear / run" in text
        assert "life of flash" in text
    assert percent(wear[2] / 2) in ran.out
    limited = of_tasks(survey.run(LOG, **SMALL | {"min_life": 1e9}))
    kinds = {row["storage_kind"] for row in limited["designs"] if row["pareto"]}
    assert "flash" not in kinds


def test_the_life_of_a_disk_is_no_limit(trace: str) -> None:
    result = of_machines(survey.run(trace, space="modern", min_life=1.0))
    kept = {row["storage_kind"] for row in result["designs"] if row["bill"] is not None}
    assert kept >= {"flash", "disk"}


def test_a_machine_with_a_slash_in_its_name_has_its_cost(trace: str, tmp_path: Path) -> None:
    space = tmp_path / "own.toml"
    storages = 'storage = ["nvme-tlc-1tb", "nvme-qlc-2tb"]'
    text = MACHINES.replace('id = "large"', 'id = "own/large"')
    space.write_text(text.replace('storage = "nvme-tlc-1tb"', storages))
    for node, storage in (
        ("own/large", "nvme-tlc-1tb"),
        ("own/large/nvme-qlc-2tb", "nvme-qlc-2tb"),
    ):
        found = tco(trace, node=node, space=str(space))
        assert found["machine"] == f"own/large/{storage}"


@pytest.mark.parametrize(
    ("name", "id"),
    [
        ("own/a", "own/a"),
        ("own/a/nvme-tlc-1tb", "own/a"),
        ("own/b/nvme-tlc-1tb/10Gb", "own/b"),
        ("own/nvme-tlc-1tb", "own"),
        ("m5.large", "m5.large"),
    ],
)
def test_machines_with_the_same_first_word_are_two(name: str, id: str) -> None:
    assert machine_of(name, ["own", "own/a", "own/b", "m5.large", "m5"]) == id


def test_unknown_machines_are_named() -> None:
    with raises("unknown-name", "framwork-desktop"):
        tco(LOG, "framwork-desktop")
    with raises("unknown-name", "MaxE") as caught:
        tco(LOG, "MaxE")
    assert "gordon spaces" in caught.value.hint


def test_every_input_of_a_bill_that_moves_it_has_a_range() -> None:
    keys = {doubt.key for doubt in doubts.DOUBTS}
    assert {"energy_j", "purchase_price", "price_per_kwh", "pue", "years"} <= keys
    assert all(doubt.low < 1 < doubt.high for doubt in doubts.DOUBTS)


def test_the_shares_of_the_variance_are_those_of_salib() -> None:
    analysis = pytest.importorskip("SALib.analyze.sobol")
    sampling = pytest.importorskip("SALib.sample.sobol")

    result = tco(LOG, "framework-desktop", nodes=2, runs_per_day=40)
    cost, bill = result["cost"], result["run"]
    assert cost is not None
    keys = ("purchase_price", "drives_price", "price_per_kwh", "pue", "years", "runs_per_day")
    ends = {one["input"]: one for one in cost["by"]}
    values: Any = {**result["operation"], **bill["inputs"]}
    problem = {"num_vars": len(keys), "names": list(keys), "bounds": [[0.0, 1.0]] * len(keys)}

    def factor(key: str, share: float) -> float:
        z = NormalDist().inv_cdf(min(max(share, 1e-9), 1 - 1e-9))
        end = ends[key]["high" if z > 0 else "low"] / values[key]
        return float(end ** (abs(z) / NormalDist().inv_cdf(0.9)))

    cases = []
    for sample in sampling.sample(problem, 1024, calc_second_order=False, seed=1):
        inputs: Any = dict(bill["inputs"])
        use: Any = dict(result["operation"])
        for key, share in zip(keys, sample, strict=True):
            table = inputs if key in inputs else use
            table[key] *= factor(key, share)
        use["pue"] = max(1.0, use["pue"])
        cases.append((inputs, use))
    totals = [bill["total"] or 0.0 for bill in doubts.bills(cases)]
    theirs = analysis.analyze(problem, numpy.array(totals), calc_second_order=False, seed=1)
    listed = [
        doubts.Range(key, "", values[key], ends[key]["low"], ends[key]["high"]) for key in keys
    ]
    ours = doubts.drawn(bill["inputs"], result["operation"], "total", listed)["indices"]
    found: Json = {one["input"]: one for one in ours}
    for key, first, total in zip(keys, theirs["S1"], theirs["ST"], strict=True):
        assert found[key]["first"] == pytest.approx(first, abs=0.06), key
        assert found[key]["total"] == pytest.approx(total, abs=0.06), key


def test_the_indices_of_all_inputs_explain_the_variance() -> None:
    cost = tco(LOG, "framework-desktop", nodes=2, runs_per_day=40)["cost"]
    assert cost is not None
    assert cost["kept_up"] == 1
    first = sum(one["first"] for one in cost["indices"])
    assert 0.8 < first < 1.1
    assert all(one["total"] > one["first"] - 0.1 for one in cost["indices"])
    # What moves the total most alone has most of the variance.
    assert cost["indices"][0]["input"] == cost["by"][0]["input"] == "runs_per_day"


def test_the_tables_of_a_cost_hold_every_value(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.chdir(tmp_path)
    ran = run(
        *("cost", "tco", LOG, "--node", "framework-desktop", "--runs-per-day", "40"),
        *("--json", "r.json", "--csv", "r.csv", "--parquet", "tables"),
    )
    assert ran.status == 0, ran.err
    result = json.loads(Path("r.json").read_text())
    (values,) = parquet.read_table("tables/values.parquet").to_pylist()
    with Path("r.csv").open() as file:
        (row,) = csv.DictReader(file)
    for key in ("total", "purchase", "electricity", "flash_life_years"):
        assert values[f"run_{key}"] == result["run"][key]
        assert float(row[f"run_{key}"]) == result["run"][key]
    for key, value in result["run"]["inputs"].items():
        assert values[f"run_inputs_{key}"] == value
    for name in ("by", "indices"):
        table = parquet.read_table(f"tables/cost_{name}.parquet").to_pylist()
        assert [one["input"] for one in table] == [one["input"] for one in result["cost"][name]]


def test_a_row_of_a_survey_has_all_that_its_bill_is_made_of(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--space", "modern", "--nodes", "1,2", "--runs-per-day", "40", "--objective", "tco")
    parquet = pytest.importorskip("pyarrow.parquet")
    outputs = ("--csv", "rows.csv", "--parquet", "rows.parquet", "-o", "page.html")
    ran = run("survey", LOG, *words, "--price-kwh", "0.3", "--pue", "1.2", *outputs)
    assert ran.status == 0, ran.err
    with Path("rows.csv").open() as file:
        rows = list(csv.DictReader(file))
    months = {}
    is_number = re.compile(r"-?\d[\d.]*(e-?\d+)?").fullmatch
    for row in rows:
        of = {key: float(value) for key, value in row.items() if is_number(value)}
        runs = of["operation_runs_per_day"] * 365.25
        between = YEAR_S / runs - of["bill_inputs_time_s"]
        idle_j = of["bill_inputs_nodes"] * of["bill_inputs_idle_w"] * between
        kwh = (of["bill_inputs_energy_j"] + idle_j) * of["operation_pue"] / 3.6e6
        electricity = kwh * of["operation_price_per_kwh"]
        purchase = of["bill_inputs_purchase_price"] * of["bill_inputs_nodes"]
        assert of["bill_electricity"] == pytest.approx(electricity)
        assert of["bill_purchase"] == pytest.approx(purchase / of["operation_years"] / runs)
        months[row["id"]] = of["price_per_month"]
        assert of["price_per_month"] == pytest.approx(of["bill_purchase"] * runs / 8766 * 730)
    table = parquet.read_table("rows.parquet").to_pylist()
    assert {row["id"]: row["price_per_month"] for row in table} == pytest.approx(months)
    # A desktop of 2,000 USD for four years.
    assert months["1 x framework-desktop/nvme-tlc-1tb"] == pytest.approx(2000 / 48, rel=1e-3)
    of_page = parts(Path("page.html").read_text())["rows"]
    assert [float(month) for month in re.findall('data-month="(.*?)"', of_page)] == pytest.approx(
        [months[id] for id in re.findall('data-id="(.*?)"', of_page)]
    )


@pytest.mark.parametrize(
    ("words", "tables"),
    [
        (("cost", "petabyte"), {"values", "media", "by_processors", "bandwidth", "items"}),
        (("cost", "grids"), {"grids"}),
        (("cost", "prices"), {"prices", "media"}),
        (("rack", "--node", "MaxE"), {"values", "limits", "items"}),
        (("plan", "--node", "MaxE", "--link", "2Gb", "--data", "10TB"), {"values", "jobs"}),
    ],
)
def test_costs_have_csv_and_parquet(
    words: tuple[str, ...],
    tables: set[str],
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = run(*words, "--csv", "rows.csv", "--parquet", "tables")
    assert ran.status == 0, ran.err
    assert {path.stem for path in Path("tables").iterdir()} >= tables
    with Path("rows.csv").open() as file:
        assert list(csv.DictReader(file))


def test_a_ranking_says_how_sure_the_cheapest_design_is(run: Run) -> None:
    result = of_tasks(survey.run(LOG, **SMALL | {"objective": "time,tco", "deadline": 600}))
    ranking = result["ranking"]
    assert ranking is not None
    assert sum(one["share"] for one in ranking["winners"]) == pytest.approx(1)
    assert ranking["best"] == result["named"]["least-tco"]
    assert all(0 < one["share"] <= 1 for one in ranking["by"])
    # All designs have the same tariff, which hardly changes their order; their prices do.
    by = {one["input"]: one["share"] for one in ranking["by"]}
    assert by["purchase_price"] > by.get("price_per_kwh", 0)
    assert small()["ranking"] is None
    ran = run(
        *("survey", LOG, "--space", "modern", "--nodes", "1,2,4", "--objective", "time,tco"),
        *("--runs-per-day", "40"),
    )
    assert "draws of all inputs" in ran.out
