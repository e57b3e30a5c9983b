"""Surveys of machines: the space, the result, the table, the report, refused input."""

import csv
import json
import math
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import sadf
from browser import Document, drawn, loads, needs_browser, result_of
from cores import stretch
from gordon.survey import space
from spaces import BOTH, MACHINES, without

from conftest import Run, Traced, raises


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def trace(run: Run, tmp_path: Path) -> str:
    """Ten seconds in which both cores of a machine compute."""
    (tmp_path / "day.json").write_text(sadf.day([sadf.second(n) for n in range(10)], "db1"))
    made = run("trace", "convert", "day.json", "db1.trace", "--format", "sysstat")
    assert made.status == 0, made.err
    return "db1.trace"


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own.toml").write_text(MACHINES)
    return "own.toml"


def answer(run: Run, *words: str) -> dict[str, Any]:
    ran = run("survey", *words, "--json", "-")
    assert ran.status == 0, ran.err
    result: dict[str, Any] = json.loads(ran.out)
    return result


def test_a_space_with_machines_has_times_prices_energies_and_a_front(
    run: Run, trace: str, own: str
) -> None:
    result = answer(run, trace, "--space", own, "--reference", "small")
    assert (result["model"], result["designs_total"], result["nodes"]) == ("job", 3, 1)
    assert [d["id"] for d in result["designs"]] == ["small", "large", "worse"]
    for design in result["designs"]:
        job = design["job"]
        assert 0 < job["time_s_low"] < job["time_s"] < job["time_s_high"]
        for price, time in (("price", "time_s"), ("price_high", "time_s_high")):
            assert job[price] == pytest.approx(design["price_per_hour"] * job[time] / 3600)
        assert job["energy_j"] > 0
        assert design["memory_fits"] is True
        assert sum(design["limits"].values()) == pytest.approx(1)
    assert [d["pareto"] for d in result["designs"]] == [True, True, False]
    assert result["named"] == {"fastest": "large", "cheapest": "small", "least-energy": "small"}
    assert result["front"] == ["large", "small"]
    assert result["designs"][0]["is_reference"]
    assert result["verdict"] == {
        "id": "large",
        "machine": "large",
        "nodes": 1,
        "fastest": "large",
        "slack": 0.1,
        "deadline_s": None,
        "by": "price",
    }
    assert result["sentence"].startswith("Cheapest within 10% of the fastest: large, ")
    assert not any("less memory" in warning for warning in result["warnings"])


def test_a_machine_with_too_little_memory_is_no_candidate(run: Run, trace: str, own: str) -> None:
    words = (trace, "--space", own, "--reference", "small")
    result = answer(run, *words, "--set", "machines.small.memory=1MiB")
    plain = answer(run, *words)
    small = result["designs"][0]
    assert small["memory_fits"] is False
    assert small["names"] == []
    assert not small["pareto"]
    assert small["job"] == plain["designs"][0]["job"]
    assert set(result["named"].values()) == {"large"}
    assert result["front"] == ["large"]
    (warning,) = [w for w in result["warnings"] if w.startswith("small: less memory than the ")]
    assert warning.endswith("that the job could not give back; no candidates")
    # Between what the job held for certain and what the trace has, nothing is known.
    result = answer(run, *words, "--set", "machines.small.memory=270MiB")
    assert 270 * 2**20 < result["peak_memory_bytes"] < 270 * 2**20 / 0.8
    assert result["designs"][0]["memory_fits"] is None
    assert result["front"] == ["large"]


def test_a_saturated_job_gains_from_cores_and_speed(run: Run, trace: str, own: str) -> None:
    result = answer(run, trace, "--space", own, "--reference", "small")
    times = {d["id"]: d["job"]["time_s"] for d in result["designs"]}
    large = 10.0 / 2.0 * stretch(2, 4)
    assert times == pytest.approx({"small": 10.0, "large": large, "worse": 40.0})
    job = {d["id"]: d["job"] for d in result["designs"]}
    # Four cores of twice the speed help to the full, or only two of them do.
    assert job["large"]["range_by_s"]["cores"] == pytest.approx([2.5, 5.0])
    assert "cores" not in job["worse"]["range_by_s"]
    # Runs on the traced machine differ, too.
    assert set(job["small"]["range_by_s"]) == {"runs"}
    for end in ("time_s_low", "time_s_high"):
        assert abs(math.log(job["small"][end] / 10.0)) == pytest.approx(0.02, rel=0.01)
    assert any("all of the 2 cores were busy in 100 %" in w for w in result["warnings"])


def test_a_recorded_trace_is_surveyed_with_its_own_machine(
    run: Run, traced: Traced, own: str
) -> None:
    result = answer(run, str(traced.folder), "--space", own, "--reference", "small")
    assert result["traces"][0]["kinds"]["iowait_ns"] == "measured"
    assert all(d["job"]["time_s"] > 0 for d in result["designs"])


def test_the_table_names_the_reference_and_ends_with_the_verdict(
    run: Run, trace: str, own: str
) -> None:
    ran = run("survey", trace, "--space", own, "--reference", "small")
    assert ran.status == 0, ran.err
    lines = ran.out.splitlines()
    assert lines[0] == "3 machines of own, 1 node; times by the job model"
    assert "low - high" in lines[1]
    assert any("small" in line and "traced here" in line for line in lines)
    assert not any("worse" in line for line in lines)
    assert "; --all also prints 1 more" in ran.out
    assert lines[-1].startswith("Cheapest within 10% of the fastest: ")


def test_rows_limit_the_result_but_not_the_front(run: Run, trace: str, own: str) -> None:
    result = answer(run, trace, "--space", own, "--reference", "small", "--rows", "0")
    assert result["designs_total"] == 3
    assert [d["id"] for d in result["designs"]] == ["small", "large"]


def test_without_a_reference_the_speed_is_assumed_with_a_warning(
    run: Run, trace: str, own: str
) -> None:
    result = answer(run, trace, "--space", own)
    assert result["reference"] == {"machine": None, "core_speed": 1.0, "is_assumed": True}
    assert any("--reference" in warning for warning in result["warnings"])
    # The traced processor may be half or twice as fast. That of a known speed has no such range.
    of_small = result["designs"][0]["job"]
    assert of_small["range_by_s"]["speed"] == pytest.approx([5.0, 20.0])
    assert of_small["time_s_low"] < 5.0 < 20.0 < of_small["time_s_high"]
    known = answer(run, trace, "--space", own, "--reference", "1.0")["designs"][0]["job"]
    assert known["time_s"] == pytest.approx(of_small["time_s"])
    assert "speed" not in known["range_by_s"]


@pytest.mark.parametrize("nodes", [1, 2])
def test_a_price_has_the_shortest_billed_time_and_a_volume_for_each_node(
    run: Run, trace: str, own: str, nodes: int
) -> None:
    for nth in range(nodes):
        shutil.copytree(trace, f"hosts/{nth}.trace")
    words = ("hosts", "--space", own, "--reference", "small")
    # The trace touches less than a GiB, and a month has 730 hours.
    volume = ("--set", "machines.small.volume_price_per_gib_month=73")
    for billed in (5, 10.1, 60):
        minimum = ("--set", f"machines.small.minimum_billing={billed}s")
        result = answer(run, *words, *volume, *minimum)
        job = result["designs"][0]["job"]
        per_second = nodes * (0.096 + 0.1) / 3600
        assert job["price"] == pytest.approx(max(job["time_s"], billed) * per_second)
        assert job["price_high"] == pytest.approx(max(job["time_s_high"], billed) * per_second)


def test_a_name_without_a_candidate_is_null(run: Run, trace: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(without(MACHINES, "idle", "active", "price"))
    result = answer(run, trace, "--space", "own.toml", "--reference", "small")
    assert result["named"] == {"fastest": "large", "cheapest": None, "least-energy": None}
    assert result["designs"][0]["job"]["price"] is None
    assert result["verdict"]["by"] == "time"
    assert result["sentence"].startswith("Fastest: large, ")


def test_csv_has_the_figures_of_the_job(run: Run, trace: str, own: str) -> None:
    ran = run("survey", trace, "--space", own, "--reference", "small", "--csv", "-")
    rows = list(csv.DictReader(ran.out.splitlines()))
    assert [row["id"] for row in rows] == ["small", "large", "worse"]
    assert float(rows[0]["job_time_s_low"]) <= float(rows[0]["job_time_s"])


def test_csv_has_the_day_of_the_prices_and_a_column_for_each_source_of_doubt(
    run: Run, trace: str
) -> None:
    words = (trace, "--space", "ec2", "--reference", "m5.xlarge")
    result = answer(run, *words)
    ran = run("survey", *words, "--csv", "-")
    rows = {row["id"]: row for row in csv.DictReader(ran.out.splitlines())}
    assert {row["prices_date"] for row in rows.values()} == {result["space"]["prices_date"]}
    for design in result["designs"]:
        ends = [float(end) for end in rows[design["id"]]["job_range_by_s_runs"].split()]
        assert ends == design["job"]["range_by_s"]["runs"]
    assert "{" not in ran.out


def test_a_space_may_have_a_grid_and_machines(run: Run, trace: str, tmp_path: Path) -> None:
    (tmp_path / "both.toml").write_text(BOTH)
    words = (trace, "--space", "both.toml")
    assert answer(run, *words)["designs_total"] == 3
    grid = answer(run, *words, "--model", "paper", "--nodes", "1")
    designs = [d["id"] for d in grid["designs"]]
    assert designs == ["atom-1.9GHz-x1-flash", "atom-1.9GHz-x1-disk1"]


@pytest.mark.parametrize("name", ["ec2", "gcp", "azure", "modern"])
def test_shipped_machines_can_be_surveyed(run: Run, trace: str, name: str) -> None:
    result = answer(run, trace, "--space", name, "--reference", "m5.xlarge")
    assert result["designs_total"] == space.count(space.load(name))
    assert all(d["job"]["time_s"] > 0 for d in result["designs"])


def test_settings_change_machines_and_their_storage_parts_for_one_run(
    run: Run, trace: str, own: str
) -> None:
    words = (trace, "--space", own, "--reference", "small")
    plain = answer(run, *words)["designs"]
    settings = (
        *("--set", "machines.large.price_per_hour=0.01"),
        *("--set", "machines.large.storage.count=2"),
        *("--set", "machines.worse.cores=8"),
        *("--set", "disk.sata-7200-1tb.power.idle=1W"),
    )
    result = answer(run, *words, *settings)
    small, large, worse = result["designs"]
    assert small == plain[0] | {"pareto": small["pareto"], "names": small["names"]}
    assert large["price_per_hour"] == 0.01
    assert large["job"]["price"] < plain[1]["job"]["price"] / 80
    assert large["storage"].endswith(" x 2")
    assert worse["job"]["time_s"] < plain[2]["job"]["time_s"]
    assert "cheapest" in large["names"]
    changed = {(p["part"], p["key"]): p for p in result["parameters"]}
    for at in (("large", "price_per_hour"), ("worse", "cores"), ("sata-7200-1tb", "power.idle")):
        assert changed[at]["origin"] == "assumed"
        assert "--set" in changed[at]["why"]


@pytest.mark.parametrize(
    ("name", "model", "cores", "memory", "threads", "found"),
    [
        ("ec2", "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", 4, "15.5GiB", 2, "m5.xlarge"),
        ("ec2", "Intel(R) Xeon(R) Platinum 8259CL CPU @ 2.50GHz", 4, "31GiB", 2, "r5.xlarge"),
        ("ec2", "Intel(R) Xeon(R) Platinum 8175M CPU @ 2.50GHz", 8, "31GiB", None, "m5.2xlarge"),
        ("ec2", "Neoverse-V1", 4, "15GiB", 1, None),
        ("gcp", "AMD EPYC 7B13", 4, "15GiB", 2, "n2d-standard-4"),
        ("gcp", "AMD EPYC 7B13", 4, "15GiB", 1, "t2d-standard-4"),
        ("azure", "AMD EPYC 7763 64-Core Processor", 4, "15GiB", 2, "Standard_D4as_v5"),
        ("modern", "Cortex-A76", 4, "8GiB", 1, None),
        ("ec2", "Intel(R) Core(TM) i7", 4, "15GiB", 2, None),
    ],
)
def test_the_traced_machine_is_found_by_its_processor_cores_and_memory(
    run: Run,
    trace: str,
    tmp_path: Path,
    name: str,
    model: str,
    cores: int,
    memory: str,
    threads: int | None,
    found: str | None,
) -> None:
    copy = shutil.copytree(trace, tmp_path / "copy.trace")
    manifest = json.loads((copy / "manifest.json").read_text())
    machine = {"cpu_model": model, "cores": cores, "memory": memory}
    manifest["machine"] |= machine | ({"threads_per_core": threads} if threads else {})
    (copy / "manifest.json").write_text(json.dumps(manifest))
    result = answer(run, str(copy), "--space", name)
    reference = result["reference"]
    assert reference["machine"] == found
    assert reference["is_assumed"] == (found is None)
    # Machines of different clocks have the same cores of Arm.
    is_core = model.startswith(("Neoverse", "Cortex"))
    unknown = [w for w in result["warnings"] if "speed of the traced machine is unknown" in w]
    assert [model in w for w in unknown] == ([is_core] if found is None else [])


def test_an_id_with_dots_can_be_set(run: Run, trace: str) -> None:
    words = (trace, "--space", "ec2", "--reference", "m5.xlarge")
    result = answer(run, *words, "--set", "machines.m5.2xlarge.price_per_hour=0.001")
    assert result["named"]["cheapest"] == "m5.2xlarge"


@pytest.mark.parametrize(
    ("setting", "kind", "what", "hint"),
    [
        ("machines.smal.cores=4", "unknown-name", "no machine `smal`", "`small`"),
        (
            "machines.smal.storage.iops=4",
            "unknown-name",
            "no machine `smal`",
            "`small`",
        ),
        ("machines.small.price=4", "unknown-name", "no key `price`", "`price_per_hour`"),
        ("machines.small.bandwidth=4MB", "unknown-name", "`bandwidth`", "`storage.bandwidth`"),
        ("machines.small.storage.iop=4", "unknown-name", "no key `iop`", "`iops`"),
        ("machines.small.storage=nvme", "not-a-value", "`storage` is a table", "one by one"),
        ("machines.small=3", "not-a-value", "`small` is a table", "one by one"),
        ("machines=3", "not-a-value", "`machines` is a table", "one by one"),
        ("machine.small.cores=3", "unknown-name", "no setting `machine`", "`machines`"),
        ("disk.sata-7200-1tc.power.idle=1W", "unknown-name", "no disk part", "`sata-7200-1tb`"),
        ("machines.small.cores", "bad-setting", "not KEY=VALUE", "machines.ID"),
        ("machines.small.cores=many", "config-error", "--set machines.small.cores=many: ", ""),
        ("machines.small.network=1Gbit", "config-error", "machines.small.network=1Gbit: ", ""),
        ("executor.cores=2", "no-application", "tasks model", "--model tasks"),
        ("machines.small.cores=0", "impossible", "machine `small`: cores", "--set"),
        ("cpu.atom.ipc=1", "no-grid", "grid of designs", "machines.ID.KEY"),
    ],
)
def test_bad_settings_of_machines_are_one_clear_error(
    run: Run, trace: str, own: str, setting: str, kind: str, what: str, hint: str
) -> None:
    ran = run("survey", trace, "--space", own, "--set", setting)
    ran.refused(kind, what)
    assert hint in ran.err


def test_values_of_machines_have_the_source_of_their_key_or_of_their_machine(
    run: Run, trace: str, tmp_path: Path
) -> None:
    sources = """
[sources]
cores = { source = "a list", date = 2026-01-02 }
storage = { source = "a guide" }
local_latency = { assumed = "as other disks" }
"""
    text = MACHINES.replace('id = "small"', 'id = "small"\nsource = "a shop"\ndate = 2025-03-04', 1)
    text = text.replace('latency = "1ms"', 'latency = "1ms", local = true', 1)
    text = text.replace("price_per_hour = 0.096", 'price_per_hour = {value=1,source="a bill"}')
    (tmp_path / "own.toml").write_text(text.replace("\n[[machines]]", sources + "[[machines]]", 1))
    result = answer(run, trace, "--space", "own.toml", "--reference", "small")
    found = {(p["part"], p["key"]): (p["origin"], p["why"]) for p in result["parameters"]}
    assert found["small", "cores"] == ("source", "a list, 2026-01-02")
    assert found["small", "memory"] == ("source", "a shop, 2025-03-04")
    assert found["small", "price_per_hour"] == ("source", "a bill")
    assert found["small", "storage.bandwidth"] == ("source", "a guide")
    assert found["small", "storage.latency"] == ("assumed", "as other disks")
    assert found["large", "memory"] == ("given", "")


def report(run: Run, *words: str) -> tuple[str, dict[str, Any]]:
    """The report of a survey, and its result."""
    ran = run("survey", *words, "-o", "out.html", "--json", "out.json")
    assert ran.status == 0, ran.err
    page = Path("out.html").read_text(encoding="utf-8")
    result: dict[str, Any] = json.loads(Path("out.json").read_text())
    return page, result


def section(page: str, name: str) -> str:
    return page.partition(f'<section id="{name}">')[2].partition("</section>")[0]


def test_the_report_is_one_file_with_the_verdict_and_all_machines(
    run: Run, trace: str, own: str
) -> None:
    words = (trace, "--space", own, "--reference", "small")
    page, result = report(run, *words, "--set", "machines.small.memory=1MiB")
    document = Document(page)
    assert loads(document) == []
    assert "default-src 'none'" in page
    assert f'<h1 class="verdict">{result["sentence"]}</h1>' in page
    assert "it took 10.0 s (<em>measured</em>)" in page
    by_id = {design["id"]: design for design in result["designs"]}
    rows = document.rows()
    assert [row["data-id"] for row in rows] == ["large", "small", "worse"]
    for row in rows:
        design = by_id[row["data-id"] or ""]
        for key, figure in (("time", "time_s"), ("low", "time_s_low"), ("high", "time_s_high")):
            assert float(row[f"data-{key}"] or 0) == design["job"][figure]
        assert float(row["data-price"] or 0) == design["job"]["price"]
        assert float(row["data-energy"] or 0) == design["job"]["energy_j"]
        assert ("pareto" in (row["class"] or "")) == design["pareto"]
        assert ("reference" in (row["class"] or "")) == design["is_reference"]
    assert "too little memory" in (rows[1]["data-names"] or "")
    assert page.count("less memory than the") == 1  # as a warning
    assert result_of(page) == result


def test_the_report_has_a_line_for_each_cause_of_warnings_after_the_answer(
    run: Run, trace: str, own: str
) -> None:
    for name in ("a", "b"):
        shutil.copytree(trace, f"hosts/{name}.trace")
    page, result = report(run, "hosts", "--space", own, "--reference", "small")
    texts = [w for w in result["warnings"] if "cores were busy" in w]
    assert len(texts) == 2
    found = page.partition('id="warnings">')[2]
    assert found.partition("</section>")[0].count("cores were busy") == 1
    assert "hosts/a.trace and hosts/b.trace: " in found
    assert page.index('id="table"') < page.index('id="warnings"') < page.index('id="inputs"')


def test_the_report_has_the_sources_of_the_front_and_the_terms_of_the_page(
    run: Run, trace: str, own: str
) -> None:
    page, _ = report(run, trace, "--space", own, "--reference", "small", "--rows", "0")
    sources = section(page, "sources")
    assert "<b>small</b>" in sources
    assert "<b>nvme-tlc-1tb</b>" in sources
    assert "<b>worse</b>" not in sources
    assert "<b>sata-7200-1tb</b>" not in sources
    assert "1 machine is left out" in section(page, "machines")
    for term in ("low, high", "price", "limited by", "speed", "little memory"):
        assert f'<th scope="row">{term}</th>' in section(page, "machines")


def test_the_report_shows_a_traced_machine_that_is_not_in_the_space(
    run: Run, trace: str, own: str
) -> None:
    page, _ = report(run, trace, "--space", own)
    assert "on the traced machine, which is unknown" in page
    assert 'data-measured="10.0"' in section(page, "front")
    assert "measured; not a machine of own" in section(page, "machines")
    assert [row["data-id"] for row in Document(page).rows()] == ["large", "small", "worse"]


def test_the_report_says_whether_the_traced_machine_is_shown_as_measured(
    run: Run, trace: str, own: str
) -> None:
    front = section(report(run, trace, "--space", own, "--reference", "small")[0], "front")
    assert "The diamond is the traced machine, as measured." in front
    assert "data-measured" not in front
    # The trace is of two cores, this machine has four.
    front = section(report(run, trace, "--space", own, "--reference", "large")[0], "front")
    assert "as measured" not in front
    assert 'data-measured="10.0"' in front


@pytest.mark.parametrize(
    ("left_out", "against"),
    [(("price",), "energy_j"), (("idle", "active"), "price"), (("price", "idle", "active"), None)],
)
def test_the_report_draws_the_figures_that_are_known(
    run: Run, trace: str, tmp_path: Path, left_out: tuple[str, ...], against: str | None
) -> None:
    (tmp_path / "own.toml").write_text(without(MACHINES, *left_out))
    page, _ = report(run, trace, "--space", "own.toml", "--reference", "small")
    found = re.search(r'data-against="(\w+)"', page)
    assert (found and found[1]) == against
    assert ('data-key="price"' in page) == (against == "price")
    assert ('data-key="energy"' in page) == ("idle" not in left_out)


def test_a_survey_without_a_verdict_says_why(run: Run, trace: str, tmp_path: Path) -> None:
    (tmp_path / "tiny.toml").write_text(re.sub('memory = ".*"', 'memory = "1MiB"', MACHINES))
    samples = [sadf.second(n, user=5.0) for n in range(10)]
    (tmp_path / "idle.json").write_text(sadf.day(samples, "db1"))
    assert run("trace", "convert", "idle.json", "idle.trace", "--format", "sysstat").status == 0
    (tmp_path / "own.toml").write_text(MACHINES)
    reference = ("--reference", "small")
    words = (trace, "--space", "tiny.toml", *reference)
    page, result = report(run, *words)
    assert result["verdict"] is None
    assert set(result["named"].values()) == {None}
    assert result["front"] == []
    assert result["sentence"].startswith("No machine of the space is known to have the memory")
    assert f'<h1 class="verdict">{result["sentence"]}</h1>' in page
    assert len(Document(page).rows()) == 3
    assert run("survey", *words).out.splitlines()[-1] == result["sentence"]

    words = ("idle.trace", "--space", "own.toml", *reference)
    page, result = report(run, *words)
    assert result["verdict"] is None
    # A tenth of a core is busy, and no machine shortens the rest.
    assert result["floor_s"] == pytest.approx(9.0)
    assert result["named"]["fastest"] == "large"
    assert result["sentence"].startswith("No machine makes this job faster than 9.00 s")
    assert f'<h1 class="verdict">{result["sentence"]}</h1>' in page
    assert run("survey", *words).out.splitlines()[-1] == result["sentence"]


def test_text_of_a_space_cannot_become_markup(run: Run, trace: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(MACHINES.replace('"large"', '"</script><img src=x>"'))
    page, _ = report(run, trace, "--space", "own.toml", "--reference", "small")
    assert "<img" not in page
    assert len(Document(page).rows()) == 3


@needs_browser
def test_the_browser_draws_and_sorts_machines(
    run: Run, trace: str, own: str, tmp_path: Path
) -> None:
    report(run, trace, "--space", own, "--reference", "small")
    page = drawn(tmp_path / "out.html", tmp_path, "#sort=-time")
    document = Document(page)
    assert loads(document) == []
    assert [row["data-id"] for row in document.rows()] == ["worse", "small", "large"]
    front = section(page, "front")
    assert 'class="main-svg"' in front
    assert "xerror" in front
    for label in ("small", "cheapest", "traced here", "on the Pareto front"):
        assert label in front
    assert 'class="main-svg"' in section(page, "limits")
    assert 'data-title="Share chart' not in page

    report(run, trace, "--space", own)
    page = drawn(tmp_path / "out.html", tmp_path, "#front=1")
    assert "traced: 10.0 s, measured" in section(page, "front")
    shown = [row["data-id"] for row in Document(page).rows() if "hidden" not in row]
    assert shown == ["large", "small"]


@pytest.mark.parametrize(
    ("words", "kind", "named"),
    [
        (("--reference", "smal"), "unknown-name", "no machine or processor `smal`"),
        (("--nodes", "2"), "bad-nodes", "--nodes 2"),
        (("--shift", "0.1"), "bad-shift", "--shift"),
        (("--set", "budget=3W"), "no-grid", "--set"),
        (("--space", "gordon-2009", "--model", "job"), "wrong-model", "gordon-2009"),
    ],
)
def test_options_that_machines_do_not_have_are_refused(
    run: Run, trace: str, own: str, words: tuple[str, ...], kind: str, named: str
) -> None:
    wrong_use = {"wrong-model", "bad-nodes", "bad-shift"}
    ran = run("survey", trace, "--space", own, *words)
    ran.refused(kind, named, status=2 if kind in wrong_use else 1)


@pytest.mark.parametrize(
    ("old", "new", "what", "hint"),
    [
        ("core_speed = 1.0", "core_sped = 1.0", "unknown field `core_sped`", "`core_speed`"),
        ("core_speed = 1.0\n", "", "missing field `core_speed`", ""),
        ('"10Gb"', '"10Gbit"', "unknown unit", ""),
        ('"nvme-tlc-1tb"', '"nvme-tlc-1"', "`nvme-tlc-1`", "nvme-tlc-1tb"),
        ('latency = "1ms"', 'latency = "1ms", iop = 3', "unknown field `iop`", "`iops`"),
        ('id = "large"', 'id = "small"', "machine `small`", "space"),
        ('idle = "4W"\n', "", "machine `small`: idle", ""),
        ("cores = 2", "cores = 0", "machine `small`: cores", ""),
        ("\n[[machines]]", 'budget = "3W"\n[[machines]]', "field `baseline`", "grid"),
    ],
)
def test_bad_machines_are_one_clear_error(
    run: Run, trace: str, tmp_path: Path, old: str, new: str, what: str, hint: str
) -> None:
    assert old in MACHINES
    (tmp_path / "bad.toml").write_text(MACHINES.replace(old, new, 1))
    ran = run("survey", trace, "--space", "bad.toml", "--json", "out.json")
    assert ran.status == 1
    assert ran.err.count("error: ") == 1
    assert what in ran.err
    assert hint in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize("text", ["machines = []", ""])
def test_a_space_without_designs_and_machines_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "empty.toml").write_text(f'name = "empty"\nsummary = "nothing"\n{text}\n')
    with raises("no-designs", "empty.toml"):
        space.load(str(tmp_path / "empty.toml"))


STAGES = '{"stages": [{"name": "map", "start_s": 0, "end_s": 1.5, "tasks": 8}]}'


def test_stages_lie_between_sync_and_nosync(run: Run, trace: str) -> None:
    Path("stages.json").write_text(STAGES)
    words = ("--model", "stages", "--stages", "stages.json", "--space", "gordon-2009")
    result = answer(run, trace, *words)
    assert result["model"] == "stages"
    for design in result["designs"]:
        times = [design[model]["time_s"] for model in ("sync", "stages", "nosync")]
        assert times == sorted(times, reverse=True)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("--stages", "missing.json"), "unreadable-file"),
        (("--stages", "text.json"), "bad-stages"),
        (("--stages", "list.json"), "bad-stages"),
        (("--stages", "key.json"), "bad-stages"),
        (("--stages", "order.json"), "bad-stages"),
    ],
)
def test_bad_stages_are_one_clear_error(
    run: Run, trace: str, own: str, words: tuple[str, ...], kind: str
) -> None:
    for name, text in {
        "stages.json": STAGES,
        "text.json": "map 0 1.5",
        "list.json": "[]",
        "key.json": STAGES.replace("end_s", "ends"),
        "order.json": STAGES.replace("1.5", "-1"),
    }.items():
        Path(name).write_text(text)
    ran = run("survey", trace, "--space", own, *words, "--json", "out.json")
    assert (ran.status, ran.kind) == (1, kind), ran.err
    assert not Path("out.json").exists()


def test_a_file_of_stages_of_machines_has_their_limits(run: Run, trace: str, own: str) -> None:
    Path("stages.json").write_text(STAGES)
    plain = answer(run, trace, "--space", own)
    result = answer(run, trace, "--space", own, "--stages", "stages.json")
    assert [stage["name"] for stage in result["timeline"]["stages"]] == ["map"]
    assert result["designs"] == plain["designs"]


def time_of(design: dict[str, Any]) -> float:
    return float(design["sync" if "sync" in design else "job"]["time_s"])


def test_the_table_has_all_designs(run: Run, trace: str, own: str) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    for name in ("gordon-2009", own):
        result = answer(run, trace, "--space", name, "--rows", "0", "--parquet", "all.parquet")
        table = parquet.read_table("all.parquet")
        assert table.num_rows == result["designs_total"] > len(result["designs"])
        rows = {row["id"]: row for row in table.to_pylist()}
        assert sorted(id for id in rows if rows[id]["pareto"]) == sorted(result["front"])
        for design in result["designs"]:
            time = rows[design["id"]]["sync_time_s" if "sync" in design else "time_s"]
            assert time == pytest.approx(time_of(design), rel=1e-12)
        made = json.loads(table.schema.metadata[b"gordon.survey"])
        assert made["traces"] == [trace]
    failed = run("survey", trace, "--set", "machines.x=1", "--parquet", "none.parquet")
    assert failed.status == 1
    assert not list(Path().glob("*none.parquet*"))


LISTS = """
name = "lists"
summary = "one machine, three designs"

[[machines]]
id = "box"
cores = 4
core_speed = 1.0
memory = "1GiB"
storage = ["nvme-tlc-1tb", "nvme-qlc-2tb", "sata-7200-1tb"]
network = "10Gb"
idle = "10W"
active = "40W"
"""


def test_the_report_of_lists_has_the_sources_of_their_machine(run: Run, trace: str) -> None:
    Path("lists.toml").write_text(LISTS)
    page, _ = report(run, trace, "--space", "lists.toml")
    assert "<b>box</b>" in section(page, "sources")
    assert "on 3 designs of" in page
    assert run("survey", trace, "--space", "lists.toml").out.startswith("3 designs of lists")


def test_a_setting_of_a_list_names_one_of_it(run: Run, trace: str) -> None:
    Path("lists.toml").write_text(LISTS)
    words = (trace, "--space", "lists.toml")
    ids = [
        d["id"] for d in answer(run, *words, "--set", "machines.box.storage.3.count=2")["designs"]
    ]
    assert ids == ["box/nvme-tlc-1tb", "box/nvme-qlc-2tb", "box/sata-7200-1tb-x2"]
    for key in ("storage.count", "storage.4.count", "storage.0.count", "storage.x.count"):
        ran = run("survey", *words, "--set", f"machines.box.{key}=2")
        assert (ran.status, ran.kind) == (1, "no-choice"), ran.err
        assert "1 to 3" in ran.err


@pytest.mark.parametrize("words", [(), ("--service",), ("--nodes", "1,2")])
def test_a_machine_and_its_number_name_one_design_and_have_their_sources(
    run: Run, trace: str, words: tuple[str, ...]
) -> None:
    """The machines of this space have several storages; of an event log, on any number of nodes."""
    of = "spark-sort" if "--nodes" in words else trace
    result = answer(run, of, "--space", "modern", *words)
    designs = {(row["machine"], row["nodes"]): row["id"] for row in result["designs"]}
    assert len(designs) == len(result["designs"])
    verdict = result["verdict"] or result["maybe"]
    assert designs[verdict["machine"], verdict["nodes"]] == verdict["id"]
    sourced = {one["part"] for one in result["parameters"] if one["kind"] == "machine"}
    assert sourced == {machine.partition("/")[0] for machine, _ in designs}


def test_a_machine_with_a_slash_in_its_name_has_its_sources(run: Run, trace: str) -> None:
    storages = 'storage = ["nvme-tlc-1tb", "nvme-qlc-2tb"]'
    text = MACHINES.replace('id = "large"', 'id = "own/large"')
    Path("own.toml").write_text(text.replace('storage = "nvme-tlc-1tb"', storages))
    result = answer(run, trace, "--space", "own.toml")
    assert "own/large/nvme-qlc-2tb" in {row["machine"] for row in result["designs"]}
    sourced = {one["part"] for one in result["parameters"] if one["kind"] == "machine"}
    assert sourced == {"small", "own/large", "worse"}
