"""Surveys of services: machines that keep up with a recorded load."""

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from browser import Document, drawn, loads, needs_browser
from services import OWNED, answer, by_id, converted, record
from spaces import BOTH, GRID, MACHINES

from conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(MACHINES)


def test_a_day_of_sysstat_has_a_machine_a_number_and_a_price_of_a_month(run: Run) -> None:
    trace = converted(run, record(), "web1")
    result = answer(run, trace, "--reference", "small", "--nodes", "1..3")
    assert result["model"] == "service"
    assert result["designs_total"] == 9
    designs = by_id(result)
    small = designs["1 x small"]
    assert (small["machine"], small["nodes"], small["keeps_up"]) == ("small", 1, True)
    assert small["is_reference"]
    # Two cores, busy for 20 %; 10 writes of 64 KiB a second to a volume of 131 MB.
    assert small["use"]["cpu"] == pytest.approx(0.2)
    assert small["use"]["disk"] == pytest.approx(640 * 1024 / 131e6, rel=1e-3)
    assert small["use"]["network"] == pytest.approx(1024 * 8 / 10e9, rel=1e-3)
    assert 0 < small["use"]["memory"] < 0.1
    assert small["price_per_month"] == pytest.approx(0.096 * 730)
    assert small["power_w"] == pytest.approx(4 + 16 * 0.2)
    # One core of half the speed.
    assert designs["1 x worse"]["use"]["cpu"] == pytest.approx(0.8)
    assert designs["1 x worse"]["keeps_up"] is False
    assert designs["2 x worse"]["use"]["cpu"] == pytest.approx(0.4)
    assert designs["3 x small"]["price_per_month"] == pytest.approx(3 * 0.096 * 730)
    assert designs["1 x large"]["use"]["cpu"] == pytest.approx(0.05)
    verdict = result["verdict"]
    assert (verdict["machine"], verdict["nodes"], verdict["by"]) == ("small", 1, "price")
    assert result["sentence"].startswith(
        "Cheapest that keeps up with 30% headroom: 1 x small, 70.1 USD a month, 7.20 W; "
    )
    assert not any("time_s" in key for row in result["designs"] for key in row)
    assert result["load"]["span_s"] == pytest.approx(86400)
    assert not any("the record covers" in warning for warning in result["warnings"])


def test_the_headroom_and_the_numbers_of_nodes_are_as_given(run: Run) -> None:
    trace = converted(run, record(user=60.0), "web1")
    words = (trace, "--reference", "small", "--nodes", "1,2")
    kept = {
        headroom: by_id(answer(run, *words, "--headroom", headroom))["1 x small"]["keeps_up"]
        for headroom in ("30%", "0.4", "41%", "0")
    }
    assert kept == {"30%": True, "0.4": True, "41%": False, "0": True}
    assert {row["nodes"] for row in answer(run, *words)["designs"]} == {1, 2}
    default = answer(run, trace, "--reference", "small")
    assert sorted({row["nodes"] for row in default["designs"]}) == list(range(1, 9))


def test_full_cores_have_no_verdict_and_the_sentence_says_what_is_unknown(run: Run) -> None:
    result = answer(run, converted(run, record(user=100.0), "web1"), "--reference", "small")
    assert result["verdict"] is None
    assert result["maybe"]["resource"] == "cpu"
    assert result["sentence"].startswith(
        "No design is known to keep up with 30% headroom. The nearest may, if its processor "
    )
    assert {row["keeps_up"] for row in result["designs"]} == {None, False}
    assert by_id(result)["1 x large"]["range"]["cpu"][1] is None


def test_the_nearest_is_named_with_what_limits_it(run: Run) -> None:
    words = (converted(run, record(user=90.0), "web1"), "--reference", "small", "--nodes", "1")
    small = [f"machines.large.{key}" for key in ("cores=1", "core_speed=0.5")]
    result = answer(run, *words, *(word for value in small for word in ("--set", value)))
    assert result["verdict"] is None
    assert result["nearest"] == {
        "id": "1 x small",
        "machine": "small",
        "nodes": 1,
        "resource": "cpu",
        "use": pytest.approx(0.9),
    }
    assert result["sentence"].endswith("whose processor is up to 90% used in 99% of the time.")


def test_the_screen_the_table_and_the_files_have_use_and_price_of_a_month(run: Run) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    trace = converted(run, record(), "web1")
    words = (trace, "--space", "own.toml", "--service", "--reference", "small", "--nodes", "1..2")
    ran = run("survey", *words, "--csv", "out.csv", "--parquet", "out.parquet", "-o", "out.html")
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    for title in ("keeps up", "processor", "memory", "storage", "network", "USD/month", "power"):
        assert title in lines[1]
    assert any(line.startswith("* 1 x small") and "cheapest" in line for line in lines)
    assert "Cheapest that keeps up with 30% headroom: 1 x small" in ran.out
    rows = {row["id"]: row for row in csv.DictReader(io.StringIO(Path("out.csv").read_text()))}
    assert float(rows["1 x small"]["use_cpu"]) == pytest.approx(0.2)
    assert float(rows["1 x small"]["price_per_month"]) == pytest.approx(70.08)
    table = parquet.read_table("out.parquet").to_pylist()
    assert [row["nodes"] for row in table] == [1, 2] * 3
    assert table[0]["use_cpu"] == pytest.approx(0.2)
    page = Document(Path("out.html").read_text())
    assert loads(page) == []
    assert {row["data-id"] for row in page.rows()} == set(rows)


@needs_browser
def test_the_report_draws_the_load(run: Run, tmp_path: Path) -> None:
    trace = converted(run, record(), "web1")
    words = (trace, "--space", "own.toml", "--service", "--reference", "small")
    assert run("survey", *words, "-o", "out.html").status == 0
    page = drawn(tmp_path / "out.html", tmp_path)
    assert "hours since the start" in page
    for title in ("busy cores", "memory, GB", "disk, MB/s", "network, MB/s"):
        assert title in page


@needs_browser
def test_the_page_has_the_front_of_the_survey(run: Run, tmp_path: Path) -> None:
    # A peak of 0.5 % of the time decides, and the speed of the recorded machine is unknown.
    samples = record(count=200, interval=600, user=10.0)
    samples[7]["cpu-load"][0] |= {"user": 60.0, "idle": 40.0}
    trace = converted(run, samples, "web1")
    words = (trace, "--objective", "tco", "--nodes", "1..8")
    result = answer(run, *words)
    assert run("survey", *words, "--space", "own.toml", "--service", "-o", "out.html").status == 0
    page = drawn(tmp_path / "out.html", tmp_path)
    table = re.search(r'<table id="bill-table">(.*?)</table>', page, re.DOTALL)
    assert table is not None
    assert set(re.findall(r"<tr><th[^>]*>([^<]*)</th><td", table[1])) == set(result["front"])


def test_the_survey_of_a_job_points_to_service_for_a_record_that_looks_like_one(run: Run) -> None:
    def hinted(samples: list[dict[str, Any]]) -> bool:
        trace = converted(run, samples, "web1")
        ran = run("survey", trace, "--space", "own.toml", "--json", "-", "--reference", "small")
        assert ran.status == 0, ran.err
        warnings = json.loads(ran.out)["warnings"]
        shutil.rmtree(trace)
        return any("gordon survey --service" in warning for warning in warnings)

    assert hinted(record())
    # Minutes, and a machine that waits for jobs.
    assert not hinted(record(count=10, interval=60))
    rare = record()
    for sample in rare[:40]:
        sample["cpu-load"][0] |= {"user": 0.0, "idle": 100.0}
    assert not hinted(rare)


@pytest.mark.parametrize(
    ("words", "status", "kind"),
    [
        (("--headroom", "30%"), 2, "--headroom"),
        (("--service", "--headroom", "130%"), 1, "--headroom 30%"),
        (("--service", "--headroom", "100%"), 1, "--headroom 30%"),
        (("--service", "--headroom", "-5%"), 1, "--headroom 30%"),
        (("--service", "--headroom", "30"), 1, "--headroom 30%"),
        (("--service", "--nodes", "0"), 2, "--nodes"),
        (("--service", "--nodes", "4..2"), 2, "--nodes"),
        (("--service", "--model", "job"), 2, "--model"),
        (("--service", "--shift", "0.2"), 2, "--shift"),
        (("--service", "--stages", "x.json"), 2, "--stages"),
        (("--service", "--space", "gordon-2009"), 2, "gordon-2009"),
        (("--nodes", "1..2"), 2, "--nodes"),
    ],
)
def test_options_that_do_not_fit_are_refused(
    run: Run, words: tuple[str, ...], status: int, kind: str
) -> None:
    trace = converted(run, record(count=2), "web1")
    ran = run("survey", trace, "--space", "own.toml", *words, "--json", "out.json")
    assert ran.status == status, ran.err
    assert kind in ran.err
    assert not Path("out.json").exists()


def test_a_space_of_machines_and_a_grid_is_surveyed_by_its_machines(run: Run) -> None:
    trace = converted(run, record(count=2), "web1")
    Path("both.toml").write_text(BOTH)
    Path("grid.toml").write_text(GRID)
    ran = run("survey", trace, "--space", "both.toml", "--service", "--json", "-")
    assert ran.status == 0, ran.err
    assert run("survey", trace, "--space", "grid.toml", "--service").status == 2


def test_the_total_of_a_month_chooses_another_machine_than_its_price(run: Run) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    Path("owned.toml").write_text(OWNED)
    trace = converted(run, record(), "web1")
    words = ("survey", trace, "--space", "owned.toml", "--service", "--reference", "small")
    use = ("--nodes", "1,2", "--years", "5", "--price-kwh", "0.3", "--pue", "1.5", "--grid", "400")
    ran = run(*words, *use, "--json", "-")
    assert ran.status == 0, ran.err
    plain = json.loads(ran.out)
    assert (plain["verdict"]["machine"], plain["verdict"]["by"]) == ("hungry", "price")
    assert plain["ranking"] is None
    ran = run(
        *(*words, *use, "--objective", "tco,carbon", "--requests-per-s", "100"),
        *("--json", "r.json", "--csv", "r.csv", "-o", "r.html", "--parquet", "r.parquet"),
    )
    assert ran.status == 0, ran.err
    result = json.loads(Path("r.json").read_text())
    assert (result["verdict"]["machine"], result["verdict"]["by"]) == ("small", "tco")
    row = by_id(result)["1 x small"]
    bill, of = row["bill"], row["bill"]["inputs"]
    month = 730 * 3600
    assert of["time_s"] == month
    assert of["energy_j"] == pytest.approx(row["power_w"] * month)
    months = 8766 / 730
    assert bill["purchase"] == pytest.approx(1000 / 5 / months)
    assert bill["electricity"] == pytest.approx(row["power_w"] * 730 / 1000 * 1.5 * 0.3)
    assert bill["total"] == pytest.approx(bill["purchase"] + bill["drives"] + bill["electricity"])
    assert bill["carbon_use_kg"] == pytest.approx(row["power_w"] * 0.73 * 1.5 * 0.4)
    # Ten writes of 64 KiB a second, sequential ones.
    programmed = 640 * 1024 * month
    assert of["wear"] == pytest.approx(programmed / 3000 / 1.1e12, rel=0.05)
    assert of["wear_low"] == of["wear"] < of["wear_high"]
    million = 1e6 * bill["total"] / (100 * month)
    assert row["total_per_million_requests"] == pytest.approx(million)
    assert result["ranking"]["best"] == "1 x small"
    assert "USD a month in all" in ran.out
    assert "draws of all inputs" in ran.out
    with Path("r.csv").open() as file:
        (first,) = [row for row in csv.DictReader(file) if row["id"] == "1 x small"]
    assert float(first["bill_total"]) == pytest.approx(bill["total"])
    table = parquet.read_table("r.parquet").to_pylist()
    (own,) = [row for row in table if row["id"] == "1 x small"]
    assert own["bill_total"] == pytest.approx(bill["total"])
    assert own["bill_inputs_energy_j"] == pytest.approx(of["energy_j"])
    page = Path("r.html").read_text()
    assert "What a month costs in all" in page


def test_the_cost_of_a_service_has_its_range_and_says_what_traces_lack(run: Run) -> None:
    Path("owned.toml").write_text(OWNED)
    trace = converted(run, record(), "web1")
    words = ("cost", "tco", trace, "--service", "--node", "small", "--space", "owned.toml")
    ran = run(*words, "--reference", "small", "--json", "t.json")
    assert ran.status == 0, ran.err
    found = json.loads(Path("t.json").read_text())
    assert found["model"] == "service"
    assert found["keeps_up"] is True
    assert found["per_year"] == pytest.approx(found["run"]["total"] * 8766 / 730)
    inputs = {one["input"] for one in found["cost"]["by"]}
    assert {"energy_j", "purchase_price"} <= inputs
    assert not inputs & {"time_s", "runs_per_day", "hours_per_year"}
    assert found["cost"]["low"] < found["cost"]["value"] < found["cost"]["high"]
    assert any("traces do not count requests" in text for text in found["unknown"])
    assert "keeps up with the load" in ran.out
    assert "USD / month" in ran.out
    ran = run(*words, "--requests-per-s", "50", "--nodes", "3")
    assert "a million requests" in ran.out
    run(*words, "--requests-per-s", "0").refused("out-of-range", "--requests-per-s")
    # A service uses a machine at all hours, whatever the space says of jobs.
    common = ("--service", "--space", "owned.toml", "--reference", "small", "--json", "s.json")
    ran = run("survey", trace, *common)
    assert ran.status == 0, ran.err
    rows = json.loads(Path("s.json").read_text())["designs"]
    alone = next(row for row in rows if (row["machine"], row["nodes"]) == ("small", 1))
    assert alone["price_per_month"] == pytest.approx(1000 / (5 * 8766) * 730)
    assert alone["price_per_month"] == pytest.approx(alone["bill"]["purchase"])
    ran = run("survey", trace, *common, "--set", "ownership.hours_per_year=4000")
    ran.refused("always-on", "ownership.hours_per_year", "--service")


def test_samples_without_memory_do_not_lower_the_memory_of_a_service(run: Run) -> None:
    samples = record(count=200, interval=600)
    for sample in samples[1:]:
        del sample["memory"]
    found = answer(run, converted(run, samples, "web1"), "--reference", "small", "--nodes", "1")
    small = by_id(found)["1 x small"]
    assert small["use"]["memory"] == small["peak"]["memory"] > 0
    load = found["load"]["memory_bytes"]
    assert load["mean"] == pytest.approx(load["peak"])
    assert load["p99"] == load["peak"]
    assert any("memory in some samples" in warning for warning in found["warnings"])


def test_a_trace_that_is_given_twice_is_refused(run: Run) -> None:
    converted(run, record(), "web1")
    ran = run("survey", "day.trace", "./day.trace", "--space", "own.toml", "--service")
    ran.refused("given-twice", "day.trace is given twice")


def test_machines_that_differ_in_their_burst_alone_keep_their_own(run: Run) -> None:
    machine = """
[[machines]]
id = "{id}"
cores = 2
core_speed = 1.0
memory = "16GiB"
storage = {{ bandwidth = "1MB"{burst} }}
network = "10Gb"
price_per_hour = 0.1
"""
    # Ten writes a second of 2 MB each, for 25 minutes of a day.
    samples = record(count=1, interval=1500)
    samples[0]["disk"][0]["wkB"] = 20_000.0
    trace = converted(run, samples, "web1")
    plain = machine.format(id="plain", burst="")
    burst = machine.format(id="burst", burst=', burst = "100MB"')
    for order in (plain + burst, burst + plain):
        Path("own.toml").write_text(f'name = "own"\nsummary = "two machines"\n{order}')
        found = by_id(answer(run, trace, "--reference", "burst", "--nodes", "1"))
        assert found["1 x plain"]["keeps_up"] is False
        assert found["1 x burst"]["keeps_up"] is True


def test_the_life_of_rented_flash_is_unknown_and_said(run: Run) -> None:
    trace = converted(run, record(), "web1")
    words = ("survey", trace, "--space", "own.toml", "--service", "--reference", "small")
    ran = run(*words, "--nodes", "1", "--min-life", "1", "--json", "r.json")
    assert ran.status == 0, ran.err
    said = " ".join(ran.err.split())
    assert "the life of flash of 2 designs is unknown, so that --min-life leaves them out" in said


def test_a_price_of_bought_machines_can_be_set_without_an_ownership(run: Run) -> None:
    Path("own.toml").write_text(MACHINES.replace("price_per_hour = 0.096", "purchase_price = 1000"))
    trace = converted(run, record(), "web1")
    found = answer(run, trace, "--reference", "small", "--nodes", "1", "--set", "ownership.years=4")
    price = by_id(found)["1 x small"]["price_per_month"]
    assert price == pytest.approx(1000 / 4 / 8766 * 730)


def test_limits_of_a_service_leave_designs_out(run: Run) -> None:
    Path("owned.toml").write_text(OWNED)
    trace = converted(run, record(), "web1")
    words = ("survey", trace, "--space", "owned.toml", "--service", "--reference", "small")
    ran = run(*words, "--nodes", "1", "--max-power", "50W", "--json", "r.json")
    assert json.loads(Path("r.json").read_text())["verdict"]["machine"] == "small"
    Path("owned.toml").write_text(OWNED.replace("embodied_kg = 100\n", "", 1))
    lacking = run(*words, "--nodes", "1", "--objective", "carbon")
    assert "the carbon of 1 design is unknown" in " ".join(lacking.err.split())
    none = run(*words, "--nodes", "1", "--max-price", "0.001")
    assert "No design is known to keep up with 30% headroom within --max-price 0.001" in none.out
    assert "no design is on the front; --all prints" in none.out
    assert "design  \n" not in none.out, "a table without rows"
    assert ran.status == none.status == 0
