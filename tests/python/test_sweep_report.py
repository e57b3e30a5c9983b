"""The screen and the page of a sweep."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from browser import Document, drawn, loads, needs_browser
from gordon import sweep
from gordon.sweep import page as sweep_page
from gordon.sweep import rows, words
from gordon.sweep.config import Objective
from sweeps import SMALL, WA, Write, parquet, write

from conftest import Run

__all__ = ["write"]


def row(number: int, **results: float | None) -> dict[str, Any]:
    return {"configuration": number, "error": None, **results}


def test_the_front_has_what_no_other_beats() -> None:
    low, high = Objective("a", "min"), Objective("b", "max")
    points = [row(0, a=1, b=1), row(1, a=2, b=3), row(2, a=2, b=2), row(3, a=1, b=1), row(4, a=3)]
    # The last one has no b, so that nothing compares with it.
    assert rows.front(points, [low, high]) == [0, 3, 1, 4]
    assert [r["configuration"] for r in rows.best(points, high)] == [1, 2, 0, 3]


def test_the_effect_of_a_range_is_the_difference_of_its_means(write: Write) -> None:
    result = sweep.run(write(WA), "out.parquet", workers=1)
    found = result["rows"]
    effect = next(
        one
        for one in result["effects"]
        if (one["range"], one["objective"]) == ("policy", "write_amplification")
    )
    means = {
        policy: sum(r["write_amplification"] for r in found if r["policy"] == policy) / 4
        for policy in ("greedy", "fifo")
    }
    assert {one["value"]: one["mean"] for one in effect["levels"]} == pytest.approx(means)
    assert effect["effect"] == pytest.approx(abs(means["greedy"] - means["fifo"]))
    assert effect["best"] == "greedy"
    for level in effect["levels"]:
        ordered = [level[key] for key in ("min", "q1", "median", "q3", "max")]
        assert ordered == sorted(ordered)
        assert level["count"] == 4


def test_a_result_with_the_name_of_a_range_has_a_prefix(write: Write) -> None:
    text = f'command = "flash bench"\n{SMALL.replace("requests = 300", "")}\n[ranges]\n'
    sweep.run(write(f"{text}requests = [100, 200]\n"), "out.parquet", workers=1)
    found = parquet("out.parquet")
    assert [(r["requests"], r["result.requests"]) for r in found] == [(100, 100), (200, 200)]


def test_the_report_has_the_best_rows_the_front_and_the_errors(write: Write) -> None:
    text = f'command = "flash bench"\n{SMALL}\n[ranges]\nspan = ["1MiB", "1TiB"]\nseed = [1, 2]\n'
    result = sweep.run(write(text), "out.parquet", workers=1)
    html = result.html()
    document = Document(html)
    assert loads(document) == []
    ids = {attrs.get("id") for _, attrs in document.tags}
    assert {"best", "ranges", "pareto", "errors", "inputs", "plot-front", "plot-effect-0-1"} <= ids
    assert result["rows"][3]["error"].split(";")[0][:30] in html
    assert html == sweep_page.render(json.loads(json.dumps(result.report)))


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("write_amplification", ("write amplification", "")),
        ("write.latency_us.p99", ("99th percentile of the write latency", "us")),
        ("read.latency_us.p999", ("99.9th percentile of the read latency", "us")),
        ("host.queue_depth.mean", ("mean host queue depth", "")),
        ("read.bandwidth_mb_s", ("read bandwidth", "MB/s")),
        ("energy_by_part_j.dies", ("energy by part dies", "J")),
    ],
)
def test_a_key_of_a_result_is_said_in_words(key: str, said: tuple[str, str]) -> None:
    assert words.of_result(key) == said


@pytest.mark.parametrize(
    ("key", "head"),
    [
        ("write_amplification", "write amplification"),
        ("write.latency_us.p99", "write latency p99, us"),
        ("host.queue_depth.mean", "host queue depth mean"),
        ("read.bandwidth_mb_s", "read bandwidth, MB/s"),
    ],
)
def test_a_column_of_a_result_has_words_and_a_unit(key: str, head: str) -> None:
    assert words.column(key) == head


def test_a_screen_and_a_page_have_words_for_results_and_keys_for_ranges(
    run: Run, write: Write
) -> None:
    objectives = "objectives = ['write.latency_us.p99:min', 'write_amplification:min']\n"
    ranges = "[ranges]\nftl.write_points = [1, 2]\n"
    path = write(f'command = "flash bench"\n{objectives}{SMALL}\n{ranges}')
    ran = run("sweep", path, "-o", "out.parquet", "--report", "out.html", "--json", "out.json")
    assert ran.status == 0, ran.err
    assert "by 99th percentile of the write latency, the least first:" in ran.out
    assert "  ftl.write_points  write latency p99, us  write amplification" in ran.out
    tables = re.sub("<script.*?</script>", "", Path("out.html").read_text(), flags=re.DOTALL)
    for text in (ran.out, tables):
        assert "write_amplification" not in text
        assert "latency_us" not in text
        assert "ftl.write_points" in text
    assert json.loads(Path("out.json").read_text())["objectives"][1] == "write_amplification:min"


def test_the_heading_and_the_figures_of_a_page_have_no_keys(write: Write) -> None:
    objectives = "objectives = ['write.latency_us.p99:min', 'write_amplification:min']\n"
    text = f'command = "flash bench"\n{objectives}{SMALL}\n[ranges]\nqueue_depth = [1, 2]\n'
    result = sweep.run(write(text), "out.parquet", workers=1)
    page = result.html()
    heading = re.search(r"<h1[^>]*>([^<]*)<", page)
    assert heading is not None
    assert heading[1].startswith("The least 99th percentile of the write latency is ")
    assert "_" not in heading[1]
    for figure in sweep_page.drawn(result.report).values():
        layout = figure["layout"]
        for text in (layout["title"], layout["xaxis"]["title"], layout["yaxis"]["title"]):
            assert "_" not in text["text"]


@needs_browser
def test_the_browser_draws_the_report(write: Write, tmp_path: Path) -> None:
    page = tmp_path / "sweep.html"
    page.write_text(sweep.run(write(WA), "out.parquet", workers=1).html())
    html = drawn(page, tmp_path)
    assert html.count('class="main-svg"') >= 2 * 5
    assert html.count('class="box') or html.count("boxlayer")
