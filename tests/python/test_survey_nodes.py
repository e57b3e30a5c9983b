"""Surveys of a job that was traced on several nodes, on other numbers of them."""

import json
from pathlib import Path
from typing import Any

import pytest

import sadf
from browser import Document
from spaces import MACHINES

from conftest import Run

SECONDS = 10


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.toml").write_text(MACHINES)


def hosts(busy: float, *, waits: bool = False) -> str:
    """A file of two hosts whose cores are busy for this share of each second; `waits`: in turn."""
    made = []
    for host in range(2):
        seconds = [
            sadf.second(n, user=100.0 * busy * (not waits or n % 2 == host)) for n in range(SECONDS)
        ]
        day = json.loads(sadf.day(seconds, f"db{host}"))
        made += day["sysstat"]["hosts"]
    Path("days.json").write_text(json.dumps({"sysstat": {"hosts": made}}))
    return "days.json"


def survey(run: Run, file: str, *words: str) -> dict[str, Any]:
    ran = run(
        *("survey", file, "--space", "own.toml", "--reference", "small", *words, "--json", "-")
    )
    assert ran.status == 0, ran.err
    result: dict[str, Any] = json.loads(ran.out)
    return result


def rows(result: dict[str, Any], machine: str) -> dict[int, dict[str, Any]]:
    """The designs of a machine by their number of nodes."""
    return {row["nodes"]: row for row in result["designs"] if row["machine"] == machine}


@pytest.mark.parametrize("waits", [False, True])
def test_the_traced_machines_have_the_range_of_runs_on_the_same_ones(run: Run, waits: bool) -> None:
    result = survey(run, hosts(0.4, waits=waits), "--nodes", "1,2,4")
    (traced,) = (row for row in result["designs"] if row["is_reference"])
    assert (traced["machine"], traced["nodes"]) == ("small", 2)
    job = traced["job"]
    assert job["time_s"] == pytest.approx(SECONDS)
    # What each node did on its cores is recorded.
    assert "cores" not in job["range_by_s"]
    assert 0.95 * SECONDS < job["time_s_low"] < job["time_s_high"] < 1.05 * SECONDS
    # Another number of nodes may divide the work evenly.
    assert rows(result, "small")[4]["job"]["time_s_low"] < 0.7 * SECONDS


def test_saturated_nodes_give_less_time_on_more_of_them_within_a_wide_range(run: Run) -> None:
    result = survey(run, hosts(1.0), "--nodes", "1,2,4")
    assert (result["model"], result["nodes"], result["designs_total"]) == ("job", 2, 9)
    one, two, four = (rows(result, "small")[number]["job"] for number in (1, 2, 4))
    assert two["time_s"] == pytest.approx(SECONDS)
    assert one["time_s"] == pytest.approx(2 * SECONDS, rel=0.01)
    assert SECONDS / 2 < four["time_s"] < SECONDS
    # Nothing says whether more workers would start: from half of the time to all of it.
    assert four["time_s_low"] < SECONDS / 2 * 1.05
    assert four["time_s_high"] > SECONDS * 0.95
    assert any("another number" in warning for warning in result["warnings"])
    assert [row["id"] for row in result["designs"] if row["is_reference"]] == ["2 x small"]
    for row in result["designs"]:
        job = row["job"]
        assert job["time_s_low"] < job["time_s"] < job["time_s_high"]
        price = row["price_per_hour"] * row["nodes"] * job["time_s"] / 3600
        assert job["price"] == pytest.approx(price)


def test_a_node_that_waits_for_another_is_not_idle_time_of_the_job(run: Run) -> None:
    result = survey(run, hosts(0.5, waits=True), "--nodes", "1..3")
    assert result["floor_s"] == pytest.approx(0.0, abs=0.01)
    # One core was busy at any time, so that one node is as fast as two.
    found = rows(result, "small")
    assert found[1]["job"]["time_s"] == pytest.approx(found[2]["job"]["time_s"], rel=0.02)
    assert found[3]["job"]["time_s_low"] < found[3]["job"]["time_s"] / 2


def test_without_numbers_a_cluster_is_as_large_as_the_traced_one(run: Run) -> None:
    result = survey(run, hosts(1.0))
    assert {row["nodes"] for row in result["designs"]} == {2}
    assert [row["id"] for row in result["designs"]] == ["small", "large", "worse"]
    assert not any("another number" in warning for warning in result["warnings"])


def test_a_deadline_names_the_cheapest_cluster_that_is_sure_to_meet_it(run: Run) -> None:
    file = hosts(1.0)
    easy = survey(run, file, "--nodes", "1,2,4", "--deadline", "1h")
    assert easy["verdict"]["id"] == easy["named"]["cheapest"]
    tight = survey(run, file, "--nodes", "1,2,4", "--deadline", "12s")
    chosen = next(row for row in tight["designs"] if row["id"] == tight["verdict"]["id"])
    assert chosen["nodes"] == tight["verdict"]["nodes"]
    assert chosen["job"]["time_s_high"] <= 12
    cheaper = [row for row in tight["designs"] if row["job"]["price"] < chosen["job"]["price"]]
    assert all(row["job"]["time_s_high"] > 12 for row in cheaper)
    hard = survey(run, file, "--nodes", "1,2,4", "--deadline", "1s")
    assert hard["verdict"] is None
    assert hard["sentence"].startswith("No machine is sure to end within 1.00 s")


def test_screen_page_and_table_have_the_numbers_of_nodes(run: Run, tmp_path: Path) -> None:
    ran = run(
        *("survey", hosts(1.0), "--space", "own.toml", "--reference", "small", "--nodes", "1,4"),
        *("--all", "-o", "out.html", "--parquet", "out.parquet"),
    )
    assert ran.status == 0, ran.err
    assert "1 to 4 nodes, 2 traced" in ran.out
    assert "4 x small" in ran.out
    table = pytest.importorskip("pyarrow.parquet").read_table("out.parquet")
    named = zip(table["id"].to_pylist(), table["nodes"].to_pylist(), strict=True)
    assert {("1 x small", 1), ("4 x small", 4)} <= set(named)
    page = Document(Path("out.html").read_text())
    assert {row["data-nodes"] for row in page.rows()} == {"1", "4"}


@pytest.mark.parametrize("words", [("--nodes", "2"), ("--nodes", "1..4")])
def test_the_trace_of_one_machine_is_not_divided(run: Run, words: tuple[str, ...]) -> None:
    Path("day.json").write_text(sadf.day([sadf.second(n) for n in range(SECONDS)], "db1"))
    ran = run("survey", "day.json", "--space", "own.toml", *words)
    ran.refused("bad-nodes", "--nodes", "one trace", status=2)


def test_a_deadline_is_of_jobs_on_machines(run: Run) -> None:
    file = hosts(1.0)
    ran = run("survey", file, "--space", "own.toml", "--service", "--deadline", "1h")
    ran.refused("wrong-model", "--deadline", status=2)
    ran = run("survey", file, "--space", "gordon-2009", "--deadline", "1h")
    ran.refused("wrong-model", "--deadline", status=2)
