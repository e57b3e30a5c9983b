"""Surveys of services: machines that keep up with a recorded load."""

import csv
import io
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import sadf
from browser import Document, drawn, loads, needs_browser
from gordon import survey
from gordon.human import figures
from gordon.survey.explain import explain
from gordon.survey.results import ServiceResult
from spaces import BOTH, GRID, MACHINES
from surveyed import of_service

from conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(MACHINES)


def record(*, count: int = 48, interval: int = 1800, user: float = 20.0) -> list[dict[str, Any]]:
    """Samples of a monitor, with the same load each."""
    samples = []
    for number in range(count):
        sample = sadf.second(0, user=user, writes=10.0, write_kib=640.0)
        hours, seconds = divmod(number * interval, 3600)
        day, hour = divmod(hours, 24)
        sample["timestamp"] = {
            "date": f"2026-11-{day + 1:02}",
            "time": f"{hour:02}:{seconds // 60:02}:{seconds % 60:02}",
            "utc": 1,
            "interval": interval,
        }
        samples.append(sample)
    return samples


def converted(run: Run, samples: list[dict[str, Any]], *hosts: str) -> str:
    """The trace of a record, or the folder with those of several hosts."""
    Path("day.json").write_text(sadf.day(samples, *hosts))
    made = run("trace", "convert", "day.json", "day.trace", "--format", "sysstat")
    assert made.status == 0, made.err
    return "day.trace"


def answer(run: Run, *words: str) -> dict[str, Any]:
    ran = run("survey", *words, "--space", "own.toml", "--service", "--json", "-")
    assert ran.status == 0, ran.err
    result: dict[str, Any] = json.loads(ran.out)
    return result


def by_id(result: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {row["id"]: row for row in result["designs"]}


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


def test_hosts_of_a_service_are_added(run: Run) -> None:
    folder = converted(run, record(), "web1", "web2")
    result = answer(run, folder, "--reference", "small", "--nodes", "1..2")
    designs = by_id(result)
    assert designs["1 x small"]["use"]["cpu"] == pytest.approx(0.4)
    assert designs["2 x small"]["use"]["cpu"] == pytest.approx(0.2)
    assert designs["2 x small"]["is_reference"]
    memory = {id: designs[id]["use"]["memory"] for id in ("1 x small", "2 x small")}
    assert memory["1 x small"] == pytest.approx(2 * memory["2 x small"])
    assert result["load"]["nodes"] == 2


def test_gaps_and_restarts_are_counted_and_the_rest_is_used(run: Run) -> None:
    samples = record(count=96)
    del samples[10:20]
    Path("day.json").write_text(
        json.dumps(
            {
                "sysstat": {
                    "hosts": [
                        {
                            "nodename": "web1",
                            "number-of-cpus": 2,
                            "statistics": samples,
                            "restarts": [{"boot": {"date": "2026-11-01", "time": "07:10:00"}}],
                        }
                    ]
                }
            }
        )
    )
    assert run("trace", "convert", "day.json", "day.trace").status == 0
    result = answer(run, "day.trace", "--reference", "small")
    assert result["load"]["samples"] == 86
    assert by_id(result)["1 x small"]["use"]["cpu"] == pytest.approx(0.2)
    (warning,) = [w for w in result["warnings"] if "86 samples of 43.0 hours are used" in w]
    assert "samples for 18000 s (the input has 1 gap)" in warning
    assert "time of restarts (the input has 1 restart" in warning


def test_a_short_record_and_one_of_the_processor_alone_warn(run: Run) -> None:
    samples = record(count=10, interval=60)
    for sample in samples:
        for section in ("memory", "disk", "network"):
            del sample[section]
    result = answer(run, converted(run, samples, "web1"), "--reference", "small", "--nodes", "1")
    text = "\n".join(result["warnings"])
    assert "the record covers 10 minutes: it has none of the peaks of a day or a week" in text
    for name in ("memory", "disks", "network"):
        assert f"the record has no {name}" in text
    small = by_id(result)["1 x small"]
    assert small["use"] == {
        "cpu": pytest.approx(0.2),
        "memory": None,
        "disk": None,
        "network": None,
    }
    # The recorded machine has the memory that it had.
    assert small["keeps_up"] is True


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


def test_a_range_query_of_prometheus_is_a_load(run: Run) -> None:
    start, step, count = 1795687200, 60, 30

    def series(name: str, labels: dict[str, str], a_second: float) -> dict[str, Any]:
        values = [[start + step * n, str(a_second * step * n)] for n in range(count)]
        return {"metric": {"__name__": name, "instance": "a:9100", **labels}, "values": values}

    cpus = [
        series("node_cpu_seconds_total", {"cpu": cpu, "mode": mode}, share)
        for cpu in ("0", "1")
        for mode, share in (("user", 0.3), ("idle", 0.7))
    ]
    network = [
        series(f"node_network_{way}_bytes_total", {"device": "eth0"}, 1e6)
        for way in ("receive", "transmit")
    ]
    found = {"status": "success", "data": {"resultType": "matrix", "result": cpus + network}}
    Path("hour.json").write_text(json.dumps(found))
    assert run("trace", "convert", "hour.json", "a.trace", "--format", "prometheus").status == 0
    result = answer(run, "a.trace", "--reference", "small")
    small = by_id(result)["1 x small"]
    assert small["use"]["cpu"] == pytest.approx(0.3, rel=0.01)
    assert small["use"]["network"] == pytest.approx(8e6 / 10e9, rel=0.01)


@pytest.mark.parametrize(("busy_in_gap", "are_peaks_missing"), [(0.3, False), (0.9, True)])
def test_a_gap_of_prometheus_is_left_out_of_the_load(
    run: Run, busy_in_gap: float, are_peaks_missing: bool
) -> None:
    start, step, gap = 1795687200, 60, range(100, 110)
    busy = [busy_in_gap if number in gap else 0.3 for number in range(300)]

    def series(cpu: str, mode: str, shares: list[float]) -> dict[str, Any]:
        counter = [sum(shares[:number]) * step for number in range(len(shares))]
        values = [
            [start + step * number, str(value)]
            for number, value in enumerate(counter)
            if number not in gap
        ]
        labels = {"instance": "a:9100", "cpu": cpu, "mode": mode}
        return {"metric": {"__name__": "node_cpu_seconds_total", **labels}, "values": values}

    idle = [1 - share for share in busy]
    cpus = [
        series(cpu, mode, shares)
        for cpu in ("0", "1")
        for mode, shares in (("user", busy), ("idle", idle))
    ]
    found = {"status": "success", "data": {"resultType": "matrix", "result": cpus}}
    Path("hours.json").write_text(json.dumps(found))
    result = answer(run, "hours.json", "--reference", "small")
    small = by_id(result)["1 x small"]
    assert small["use"]["cpu"] == pytest.approx(0.3, rel=0.01)
    assert small["peak"]["cpu"] == pytest.approx(0.3, rel=0.01)
    (note,) = (text for text in result["warnings"] if "has a gap there" in text)
    assert note.startswith("1 sample is left out of the load, 11 min")
    assert ("peaks of the load are missing" in note) == are_peaks_missing


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


#: Machines that are bought: one of a high price, one of a high power.
OWNED = """
name = "own"
summary = "machines that are bought"
currency = "USD"
ownership = { years = 5, hours_per_year = 4383 }

[[machines]]
id = "small"
cores = 2
core_speed = 1.0
memory = "8GiB"
storage = "nvme-tlc-1tb"
network = "10Gb"
purchase_price = 1000
embodied_kg = 100
idle = "10W"
active = "30W"

[[machines]]
id = "hungry"
cores = 2
core_speed = 1.0
memory = "8GiB"
storage = "nvme-tlc-1tb"
network = "10Gb"
purchase_price = 800
embodied_kg = 100
idle = "100W"
active = "300W"
"""


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


def test_an_event_log_is_not_the_record_of_a_service(run: Run) -> None:
    ran = run("survey", "spark-sort", "--space", "own.toml", "--service")
    assert ran.status == 2
    assert "spark-sort is an event log of Spark" in ran.err
    assert "leave out --service" in ran.err


def test_a_busy_disk_of_a_long_record_takes_no_memory(run: Run) -> None:
    # 3e11 requests: the sums of a record are taken without making its requests.
    samples = record(count=48, interval=86_400)
    for sample in samples[:28]:
        sample["disk"][0] |= {"tps": 100_000.0, "wkB": 4e6, "rkB": 4e6}
    converted_ = converted(run, samples[:28], "web1")
    result = answer(run, converted_, "--reference", "small", "--nodes", "1")
    assert result["load"]["disk"]["writes_per_s"]["peak"] == pytest.approx(50_000)


def test_records_in_other_time_zones_are_not_added(run: Run) -> None:
    utc, local = record(), record()
    for sample in local:
        sample["timestamp"]["utc"] = 0
    entries = [
        {"nodename": name, "number-of-cpus": 2, "statistics": samples}
        for name, samples in (("web1", utc), ("web2", local))
    ]
    Path("day.json").write_text(json.dumps({"sysstat": {"hosts": entries}}))
    ran = run("survey", "day.json", "--space", "own.toml", "--service")
    assert ran.status == 1
    assert "some times are UTC" in ran.err
    assert "without -t and -T" in ran.err


def test_records_of_other_hours_are_refused_with_what_to_do(run: Run) -> None:
    early, late = record(), record()
    for sample in late:
        sample["timestamp"]["date"] = "2026-12-01"
    entries = [
        {"nodename": name, "number-of-cpus": 2, "statistics": samples}
        for name, samples in (("web1", early), ("web2", late))
    ]
    Path("day.json").write_text(json.dumps({"sysstat": {"hosts": entries}}))
    ran = run("survey", "day.json", "--space", "own.toml", "--service", "--reference", "small")
    assert ran.status == 1
    assert "no time is in all of them" in ran.err
    assert "records of the same hours" in ran.err


def test_what_a_record_hides_is_said(run: Run) -> None:
    full = record()
    for sample in full:
        sample["memory"] = {"memfree": 0, "memused": 990_000, "memused-percent": 99.0, "avail": 0}
        sample["disk"][0]["util-percent"] = 100.0
    entries = [
        {"nodename": name, "number-of-cpus": cores, "statistics": full}
        for name, cores in (("web1", 2), ("db1", 4))
    ]
    Path("day.json").write_text(json.dumps({"sysstat": {"hosts": entries}}))
    text = "\n".join(answer(run, "day.json", "--reference", "small")["warnings"])
    assert "memory was at least 95 % used in 100.00 % of the time" in text
    assert "a disk had requests without a pause in 100.00 % of the time" in text
    assert "the recorded nodes have 2 to 4 cores" in text


def test_a_warning_about_a_missing_section_is_given_once(run: Run) -> None:
    samples = record()
    for sample in samples:
        for section in ("disk", "network"):
            del sample[section]
    Path("day.json").write_text(sadf.day(samples, "web1"))
    text = "\n".join(answer(run, "day.json", "--reference", "small")["warnings"])
    assert "-n DEV" in text
    assert "the network is not judged" not in text
    assert "storage is not judged" not in text


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


def test_a_headroom_is_printed_as_it_was_given(run: Run) -> None:
    trace = converted(run, record(), "web1")
    result = answer(run, trace, "--nodes", "1", "--headroom", "99.9%")
    assert "with 99.9% headroom" in result["sentence"]
    Path("result.json").write_text(json.dumps(result))
    ran = run("explain", "result.json")
    assert "with 99.9% headroom" in ran.out
    assert "the headroom allows 0.1%" in ran.out
