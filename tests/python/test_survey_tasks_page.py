"""The report of a survey of clusters: one file, its numbers, what it draws, its table as CSV."""

from __future__ import annotations

import csv
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from browser import Document, drawn, loads, needs_browser, result_of
from gordon.report.page import PLOTLY
from gordon.survey import tasks_page
from spaces import MACHINES, without

from conftest import Run

LOG = "spark-sort"
#: Machines that the chart draws in colours.
TONES = 8


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def own(tmp_path: Path) -> str:
    (tmp_path / "own.toml").write_text(MACHINES)
    return "own.toml"


@pytest.mark.skipif(
    not (files("gordon.report") / PLOTLY).is_file(), reason=f"{PLOTLY} was not downloaded"
)
def test_a_page_of_many_clusters_is_small(run: Run) -> None:
    page, result = report(run, "ec2")
    assert len(result["designs"]) >= 1000
    assert len(page) < 1.5e6


def report(run: Run, space: str, *words: str) -> tuple[str, Any]:
    """The report of a survey of the bundled log, and its result."""
    ran = run("survey", LOG, "--space", space, *words, "-o", "out.html", "--json", "out.json")
    assert ran.status == 0, ran.err
    page = Path("out.html").read_text(encoding="utf-8")
    result: Any = json.loads(Path("out.json").read_text())
    return page, result


def section(page: str, name: str) -> str:
    return page.partition(f'<section id="{name}">')[2].partition("</section>")[0]


def cells(part: str) -> list[list[str]]:
    """The text of the rows of the bodies of tables."""
    bodies = "".join(re.findall(r"<tbody>(.*?)</tbody>", part, re.DOTALL))
    rows = re.findall(r"<tr[^>]*>(.*?)</tr>", bodies, re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


def test_the_page_is_one_file_with_the_sentence_and_all_clusters(run: Run, own: str) -> None:
    page, result = report(run, own, "--reference", "small", "--nodes", "1..3")
    document = Document(page)
    assert loads(document) == []
    assert "default-src 'none'" in page
    assert f'<h1 class="verdict">{result["sentence"]}</h1>' in page
    assert f"<b>{result['application']['name']}</b> on 9 clusters of <b>own</b>" in page
    assert "on <b>small</b>." in page
    by_id = {design["id"]: design for design in result["designs"]}
    rows = document.rows()
    assert {row["data-id"] for row in rows} == set(by_id)
    assert len(rows) == len(by_id) == 9
    times = [float(row["data-time"] or 0) for row in rows]
    assert times == sorted(times)
    for row in rows:
        design = by_id[row["data-id"] or ""]
        found = design["tasks"]
        figures = {
            "time": found["time_s"], "low": found["time_s_low"], "high": found["time_s_high"],
            "floor": found["floor_s"], "price": found["price"], "energy": found["energy_j"],
            "nodes": design["nodes"], "slots": design["nodes"] * design["slots_per_node"],
            "hour": design["nodes"] * design["price_per_hour"],
        }  # fmt: skip
        assert {key: float(row[f"data-{key}"] or 0) for key in figures} == figures
        assert ("pareto" in (row["class"] or "")) == design["pareto"]
        assert ("reference" in (row["class"] or "")) == design["is_reference"]
    assert [row["data-id"] for row in rows if "reference" in (row["class"] or "")] == ["2 x small"]
    assert result_of(page) == result
    assert tasks_page.render(result) == page


def test_the_parts_of_the_page_add_up_to_the_time(run: Run, own: str) -> None:
    page, result = report(run, own, "--nodes", "1,4")
    best = next(d for d in result["designs"] if d["id"] == result["verdict"]["id"])
    found = best["tasks"]
    assert sum(found["parts_s"].values()) == pytest.approx(found["time_s"])
    rows = {row[0]: row[1] for row in cells(section(page, "parts").partition("<h3>")[0])}
    *parts, time, floor = rows
    assert (time, floor) == ("time", "floor")
    shown = [float(rows[part]) for part in parts if rows[part] != "–"]
    assert sum(shown) == pytest.approx(float(rows["time"]), rel=0.01)
    assert float(rows["floor"]) == pytest.approx(found["floor_s"], rel=0.01)
    ends = {row[0]: row[1:] for row in cells(section(page, "parts").partition("<h3>")[2])}
    assert len(ends) == len(found["range_by_s"])
    for source, (low, high) in found["range_by_s"].items():
        assert [float(end) for end in ends[source]] == pytest.approx([low, high], rel=0.01)


def test_the_stages_of_the_page_are_those_recorded_and_those_of_the_best_cluster(
    run: Run, own: str
) -> None:
    page, result = report(run, own, "--nodes", "1..8")
    best = next(d for d in result["designs"] if d["id"] == result["verdict"]["id"])
    stages = section(page, "stages")
    assert f"<h2>Stages as recorded and on {best['id']}</h2>" in stages
    rows = cells(stages.partition("<details>")[0])
    recorded = result["application"]["stages"]
    assert len(rows) == len(recorded) == len(best["stages"])
    for row, one, there in zip(rows, recorded, best["stages"], strict=True):
        name, *figures, limit = row
        assert name.startswith(f"{one['id']}: {one['name'][:20]}")
        assert limit == there["limit"]
        expected = [
            one["start_s"], one["end_s"] - one["start_s"], one["tasks"], one["longest_s"],
            there["start_s"], there["end_s"] - there["start_s"], there["tasks"],
            there["longest_s"], there["driver_s"],
        ]  # fmt: skip
        assert [float(figure) for figure in figures] == pytest.approx(expected, rel=0.01)
    limits = {row[0] for row in cells(stages.partition("<details>")[2])}
    assert {there["limit"] for there in best["stages"]} <= limits


@pytest.mark.parametrize(
    ("left_out", "against"),
    [
        ((), "price"),
        (("price",), "energy_j"),
        (("idle", "active"), "price"),
        (("price", "idle", "active"), "nodes"),
    ],
)
def test_the_chart_is_against_what_is_known(
    run: Run, tmp_path: Path, left_out: tuple[str, ...], against: str
) -> None:
    (tmp_path / "own.toml").write_text(without(MACHINES, *left_out) if left_out else MACHINES)
    page, result = report(run, "own.toml", "--nodes", "1..3")
    found = re.search(r'data-against="(\w+)"', page)
    assert (found and found[1]) == against
    assert ('data-key="price"' in page) == ("price" not in left_out)
    assert ('data-key="hour"' in page) == ("price" not in left_out)
    assert ('data-key="energy"' in page) == ("idle" not in left_out)
    assert len(Document(page).rows()) == len(result["designs"])


def test_clusters_without_a_price_are_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(MACHINES.replace("price_per_hour = 9.0\n", ""))
    page, _ = report(run, "own.toml", "--nodes", "1..3")
    assert "3 clusters are only in the table: their price is unknown." in section(page, "front")
    assert len(Document(page).rows()) == 9
    prices = {row["data-id"]: row["data-price"] for row in Document(page).rows()}
    assert [id for id, price in prices.items() if not price] == [
        id for id in prices if (id or "").endswith("worse")
    ]


def test_a_deadline_that_nothing_meets_shows_the_nearest_cluster(run: Run, own: str) -> None:
    page, result = report(run, own, "--nodes", "1..3", "--deadline", "1s")
    assert result["verdict"] is None
    nearest = result["named"]["fastest"]
    assert f'data-best="{nearest}"' in section(page, "front")
    assert "The bar through the fastest cluster" in section(page, "front")
    assert f"<h2>Stages as recorded and on {nearest}</h2>" in section(page, "stages")
    assert "verdict" not in {row["data-names"] for row in Document(page).rows()}


def test_refused_machines_are_named_with_what_they_lack(run: Run, own: str) -> None:
    words = ("--nodes", "1..3", "--set", "machines.small.memory=64MiB")
    page, result = report(run, own, *words)
    assert [one["machine"] for one in result["refused"]] == ["small"]
    refused = section(page, "refused")
    assert cells(refused) == [["small", result["refused"][0]["why"]]]
    assert "1 machine holds no executor" in refused
    page, result = report(run, own, "--nodes", "1..3")
    assert result["refused"] == []
    assert 'id="refused"' not in page


def test_clusters_beyond_rows_are_counted(run: Run, own: str) -> None:
    page, result = report(run, own, "--nodes", "1..8", "--rows", "0")
    left_out = result["designs_total"] - len(result["designs"])
    assert left_out > 0
    assert f"{left_out} clusters are left out" in section(page, "clusters")
    assert f"The chart has the {len(result['designs'])} clusters" in section(page, "front")


def test_text_of_a_log_and_a_space_cannot_become_markup(run: Run, own: str) -> None:
    _, result = report(run, own, "--nodes", "1..3")
    bad = "</script><img src=x onerror=alert(1)>"
    result["application"]["name"] = bad
    for design in result["designs"]:
        design["summary"] = bad
        for stage in design.get("stages", []):
            stage["name"] = bad
    for stage in result["application"]["stages"]:
        stage["name"] = bad
    text = tasks_page.render(result)
    assert "<img" not in text
    assert len(Document(text).rows()) == len(result["designs"])


def test_a_result_without_stages_or_name_has_a_page(run: Run, own: str) -> None:
    _, result = report(run, own, "--nodes", "2")
    for design in result["designs"]:
        design.pop("stages", None)
    result["application"]["name"] = ""
    text = tasks_page.render(result)
    assert 'id="stages"' not in text
    assert 'href="#stages"' not in text
    assert "<title>Gordon survey: an application of Spark</title>" in text


def test_the_csv_has_a_row_for_each_cluster_and_no_stages(run: Run, own: str) -> None:
    ran = run(
        "survey", LOG, "--space", own, "--nodes", "1..3", "--csv", "c.csv", "--json", "c.json"
    )
    assert ran.status == 0, ran.err
    result = json.loads(Path("c.json").read_text())
    rows = list(csv.DictReader(Path("c.csv").read_text().splitlines()))
    assert [row["id"] for row in rows] == [design["id"] for design in result["designs"]]
    for row, design in zip(rows, result["designs"], strict=True):
        assert float(row["tasks_time_s"]) == design["tasks"]["time_s"]
        for part, secs in design["tasks"]["parts_s"].items():
            assert float(row[f"tasks_parts_s_{part}"]) == secs
        assert not any("{" in cell for cell in row.values())
    assert any(design.get("stages") for design in result["designs"])


@needs_browser
def test_the_browser_draws_and_sorts_clusters(run: Run, own: str, tmp_path: Path) -> None:
    _, result = report(run, own, "--reference", "small", "--nodes", "1..4", "--deadline", "1h")
    page = drawn(tmp_path / "out.html", tmp_path, "#sort=-nodes")
    document = Document(page)
    assert loads(document) == []
    nodes = [int(row["data-nodes"] or 0) for row in document.rows()]
    assert nodes == sorted(nodes, reverse=True)
    front = section(page, "front")
    for machine in ("small", "large", "worse"):
        assert machine in front
    for text in (
        "yerror",
        "recommended",
        "deadline: 1 h",
        "recorded: ",
        "price of the application",
    ):
        assert text in front
    # Each cluster is a point, and the recommended one has a mark of its own.
    points = sum("point" in (a.get("class") or "").split() for _, a in Document(front).tags)
    assert points >= len(result["designs"])
    parts = section(page, "parts")
    for text in ("start-up", "driver", "compute", "floor", "time, s"):
        assert f">{text}" in parts
    stages = section(page, "stages")
    bars = 2 * (len(result["application"]["stages"]) + 1)
    paths = [attrs for _, attrs in Document(stages).tags if attrs.get("class") == "point"]
    assert len(paths) == bars
    assert 'data-title="Share chart' not in page

    page = drawn(tmp_path / "out.html", tmp_path, "#front=1")
    shown = {row["data-id"] for row in Document(page).rows() if "hidden" not in row}
    assert shown == set(result["front"])


@needs_browser
def test_the_browser_draws_many_machines_in_grey(run: Run, tmp_path: Path) -> None:
    _, result = report(run, "ec2", "--nodes", "1,2")
    front = section(drawn(tmp_path / "out.html", tmp_path), "front")
    found = re.search(r"other machines \((\d+)\)", front)
    assert found
    others = int(found[1])
    machines = {design["machine"] for design in result["designs"]}
    notable = {design["machine"] for design in result["designs"] if design["pareto"]}
    assert others == len(machines) - min(len(notable), TONES)
    assert sum(f">{machine}<" in front for machine in notable) >= min(len(notable), TONES)


@needs_browser
def test_the_browser_draws_nodes_where_no_price_is_known(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(without(MACHINES, "price", "idle", "active"))
    report(run, "own.toml", "--nodes", "1..4")
    front = section(drawn(tmp_path / "out.html", tmp_path), "front")
    assert ">nodes<" in front
    assert "time of the application" in front


@needs_browser
def test_the_browser_draws_machines_that_cost_nothing(run: Run, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(
        re.sub(r"price_per_hour = \S+", "price_per_hour = 0", MACHINES)
    )
    report(run, "own.toml", "--nodes", "1..4")
    front = section(drawn(tmp_path / "out.html", tmp_path), "front")
    assert 'class="main-svg"' in front
    assert "price of the application" in front
