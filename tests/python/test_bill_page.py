"""The part of a survey's page that computes bills of other uses, in a browser."""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest

from browser import drawn, needs_browser
from gordon import survey
from gordon.survey import bill_page, doubts
from surveyed import LOG, SMALL, of_tasks, small

Json = dict[str, Any]


@needs_browser
def test_the_page_computes_the_same_bills(tmp_path: Path) -> None:
    from gordon.survey import tasks_page

    result = small()
    page = tmp_path / "tasks.html"
    page.write_text(tasks_page.render(result), encoding="utf-8")
    text = drawn(page, tmp_path)
    table = re.search(r'<table id="bill-table">(.*?)</table>', text, re.DOTALL)
    assert table is not None
    rows = re.findall(r"<tr><th[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td>", table[1])
    assert rows
    bills = {row["id"]: row["bill"] for row in result["designs"]}
    for id, total in rows:
        bill = bills[id]
        assert bill is not None
        assert float(total.replace(",", "")) == pytest.approx(bill["total"], rel=0.01)
    # Slower ones of the front are cheaper.
    totals = [float(total.replace(",", "")) for _, total in rows]
    assert all(before >= after for before, after in pairwise(totals))


#: Moves a slider of the page to the place of a value, and marks the end.
MOVE = """<script>addEventListener("load", () => setTimeout(() => {
  for (const [key, value] of Object.entries(%s)) {
    const slider = document.querySelector(`[data-slider="${key}"]`);
    slider.value = slider.dataset.log ? Math.log10(value) : value;
    slider.dispatchEvent(new Event("input"));
  }
  document.body.dataset.moved = "1";
}, 1000));</script></body>"""


def moved(result: Any, values: Json, folder: Path) -> tuple[list[tuple[str, float]], str]:
    """The front of a page whose sliders are moved, with its totals, and the HTML of the part."""
    from gordon.survey import tasks_page

    page = folder / "moved.html"
    text = tasks_page.render(result)
    assert "</body>" in text
    page.write_text(text.replace("</body>", MOVE % json.dumps(values)), encoding="utf-8")
    html = drawn(page, folder)
    assert 'data-moved="1"' in html
    table = re.search(r'<table id="bill-table">(.*?)</table>', html, re.DOTALL)
    assert table is not None
    rows = re.findall(r"<tr><th[^>]*>([^<]*)</th><td[^>]*>([^<]*)</td>", table[1])
    return [(id, float(total.replace(",", ""))) for id, total in rows], html


def front_of(result: Any, use: Json) -> list[tuple[str, float]]:
    """The front of time and total of the same designs with another use, without the page."""
    rows = result["designs"]
    made = doubts.bills([(row["bill"]["inputs"], result["operation"] | use) for row in rows])
    known = [
        (row["tasks"]["time_s_high"], bill["total"], row["id"])
        for row, bill in zip(rows, made, strict=True)
        if bill["total"] is not None
    ]
    front: list[tuple[str, float]] = []
    in_order = sorted((numpy.float32(time), numpy.float32(total), id) for time, total, id in known)
    for _, total, id in in_order:
        if not front or total < front[-1][1]:
            front.append((id, float(total)))
    return front


@needs_browser
def test_sliders_move_the_front_as_another_run_would(tmp_path: Path) -> None:
    result = small()
    at_start, _ = moved(result, {}, tmp_path)
    # Nodes for a year at a high tariff, that run the job seldom or often.
    for values in (
        {"price_per_kwh": 0.6},
        {"years": 1},
        {"runs_per_day": 4},
        {"price_per_kwh": 0.6, "years": 1.5, "runs_per_day": 400},
    ):
        front, _ = moved(result, values, tmp_path)
        assert front != at_start
        wanted = front_of(result, values)
        assert [id for id, _ in front] == [id for id, _ in wanted]
        for (_, total), (_, ours) in zip(front, wanted, strict=True):
            assert total == pytest.approx(ours, rel=0.02)


@needs_browser
def test_a_slider_shows_the_value_of_the_run_and_a_page_without_a_front_says_so(
    tmp_path: Path,
) -> None:
    odd = SMALL | {"years": 0.13, "price_kwh": 0.1234}
    result = of_tasks(survey.run(LOG, **odd))
    front, html = moved(result, {}, tmp_path)
    shown = re.findall(r"<output>([^<]*)</output>", html)
    assert shown == ["0.123", "0.130", "40.0"]
    assert [id for id, _ in front] == [id for id, _ in front_of(result, {})]
    assert re.search(r'id="bill-none" hidden', html)
    none, html = moved(result, {"runs_per_day": 40_000}, tmp_path)
    assert none == []
    assert re.search(r'id="bill-none"(?! hidden)', html)


def test_a_page_without_totals_has_no_such_part() -> None:
    result = of_machines_without_prices()
    assert bill_page.of(result, result["designs"]) is None


def of_machines_without_prices() -> Any:
    result: Any = small()
    for row in result["designs"]:
        row["bill"]["total"] = None
    return result
