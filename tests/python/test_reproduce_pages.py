"""The tables and figures of the papers: what is computed, what is not and why, and their pages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import gordon
from browser import Document, drawn, loads, needs_browser, result_of
from gordon.reproduce import array, costs, papers
from gordon.reproduce.joulesort import stripe
from gordon.reproduce.page import pages, printed
from gordon.reproduce.row import Row, as_result

from conftest import Run, raises

PAPERS = ("gordon", "joulesort", "flashcache")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", PAPERS)
def test_every_place_is_computed_or_has_a_reason(name: str) -> None:
    found = papers.paper(name)
    assert len({place.place.casefold() for place in found.places}) == len(found.places)
    for place in found.places:
        assert bool(place.by) != bool(place.missing), place
        assert place.missing == "" or place.missing.endswith("."), place
        assert not place.see or place.missing, place
    for bounds in found.numbers.values():
        assert bounds
        assert set(bounds) <= {"low", "high"}
        assert bounds.get("low", -1.0) <= bounds.get("high", float("inf"))


def test_the_paper_has_no_table_or_figure_that_is_left_out() -> None:
    counts = {
        "gordon": (8, 8),
        "joulesort": (3, 13),
        "flashcache": (3, 7),
    }
    for name, (tables, drawings) in counts.items():
        text = "; ".join(place.place for place in papers.paper(name).places).casefold()
        wanted = [f"table {n + 1}" for n in range(tables)]
        wanted += [f"figure {n + 1}" for n in range(drawings)]
        assert [one for one in wanted if not re.search(rf"\b{one}\b", text)] == []


def test_a_figure_is_chosen_by_its_number_or_name() -> None:
    found = papers.paper("gordon")
    assert [one.place for one in found.chosen("4")] == ["Figure 4"]
    assert [one.place for one in found.chosen("TABLE 6")] == ["Table 6"]
    assert [one.place for one in papers.paper("flashcache").chosen("5")] == [
        "section 6.1, figure 5"
    ]
    assert len(found.chosen(None)) == len(found.places)
    for wrong in ("9", "table 9", "", "figure"):
        with raises("unknown-figure", "has no"):
            found.chosen(wrong)


def test_the_array_has_the_rates_of_the_text() -> None:
    found = {row.what: row for row in array.rows()}
    assert all(row.table == "Figure 4" for row in found.values())
    for op, peak, fast in (("read", 900, 2200), ("write", 900, 1100)):
        assert found[f"peak bandwidth, sequential {op}s"].ours == pytest.approx(peak, rel=0.05)
        at_400 = found[f"peak bandwidth at 400 MHz, sequential {op}s"]
        assert at_400.ours == pytest.approx(fast, rel=0.05)
        slow = found[f"40 MHz over 133 MHz, sequential {op}s"]
        assert 40 / 133 < slow.ours < 0.4
        assert slow.reason
    assert found["writes with super-pages of 64 KiB over the best size"].ours <= 1.0


def test_costs_are_those_of_the_commands() -> None:
    from gordon import cost

    items = {item["what"]: item for item in cost.petabyte()["items"]}
    rows = costs.petabyte()
    assert {row.table for row in rows} == {"Table 8", "section 6.2"}
    for row in rows:
        assert row.ours == items[row.what]["ours"]
        assert row.low == items[row.what]["paper"]["low"]
    assert all(row.table != "Figure 1" for row in costs.racks())


def test_a_stripe_of_five_drives_is_the_sum_of_them() -> None:
    rows = stripe.rows()
    over = [row for row in rows if "over those of one drive" in row.what]
    assert len(over) == 2
    for row in over:
        assert row.ours == pytest.approx(5, rel=0.1)
        assert row.agrees


def made(run: Run, *words: str) -> Any:
    ran = run("reproduce", *words, "--json", "out.json", "--pages", "pages")
    assert ran.status == 0, ran.err
    return json.loads(Path("out.json").read_text())


def test_one_figure_is_computed_alone(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from gordon.reproduce import designs, flash_array

    for part in (designs, flash_array):
        monkeypatch.setattr(part, "rows", None)
    found = made(run, "gordon", "--figure", "table 8")
    assert {item["table"] for item in found["items"]} == {"Table 8"}
    assert sorted(path.name for path in Path("pages").iterdir()) == ["index.html", "table-8.html"]
    assert found["summary"]["figures"] == len(found["items"])
    assert found["summary"]["not_reproduced"] == []
    page = Path("pages/table-8.html").read_text()
    assert result_of(page)["result"] == found["items"]


def test_a_figure_that_is_not_reproduced_says_why(run: Run) -> None:
    ran = run("reproduce", "joulesort", "--figure", "10", "--json", "out.json")
    assert ran.status == 0, ran.err
    assert "gordon reproduce rewrite" in ran.out
    assert ran.out.splitlines()[-1] == "1 table or figure is not reproduced"
    summary = json.loads(Path("out.json").read_text())["summary"]
    assert (summary["figures"], summary["places"]) == (0, [])
    (missing,) = summary["not_reproduced"]
    assert missing["place"] == "Figure 10"
    run("reproduce", "joulesort", "--figure", "14").refused("unknown-figure", "figure 14")
    assert (
        "try: figure 11, 12, 13; table 2, 3; section 4.2.2; text\n"
        in run("reproduce", "joulesort", "--figure", "14").err
    )
    assert (
        "section 3, 4.2.1, 4.2.2, 6.2, 6.3; claims; slides"
        in run("reproduce", "gordon", "--figure", "14").err
    )
    assert (
        "figure 2, 3, 5, 6; section 2.1, 3.1, 6.1, 6.2, 6.3"
        in run("reproduce", "flashcache", "--figure", "14").err
    )


def test_the_summary_of_a_paper_counts_its_items(run: Run) -> None:
    found = made(run, "joulesort")
    summary, items = found["summary"], found["items"]
    assert {item["table"].casefold() for item in items} == {
        place.place.casefold() for place in papers.paper("joulesort").places if place.by
    }
    assert all(item["reason"].endswith(".") for item in items if not item["agrees"])
    assert len(summary["not_reproduced"]) == sum(
        bool(place.missing) for place in papers.paper("joulesort").places
    )
    index = Path("pages/index.html").read_text()
    agree = sum(item["agrees"] for item in items)
    assert f"{agree} of {len(items)} figures of " in index
    for link in re.findall(r'<a href="([\w-]+\.html)">', index):
        text = Path("pages", link).read_text()
        assert loads(Document(text)) == []
        assert "gordon reproduce joulesort --figure" in text
        assert len(text) < 1.5e6 or "plotly-basic" not in text


def test_all_of_the_gordon_paper_is_computed_quickly(run: Run) -> None:
    ran = run("reproduce", "gordon", "--quick", "--json", "out.json")
    assert ran.status == 0, ran.err
    found = json.loads(Path("out.json").read_text())
    wanted = {place.place for place in papers.paper("gordon").places if place.by}
    assert {item["table"] for item in found["items"]} == wanted
    assert len({item["id"] for item in found["items"]}) == len(found["items"])
    assert {"id", "paper", "ours", "ratio", "source", "agrees", "reason"} <= set(found["items"][0])
    assert all(item["reason"].endswith(".") for item in found["items"] if not item["agrees"])
    assert "not reproduced" in ran.out


@needs_browser
def test_a_browser_draws_ratios_with_their_band(run: Run, tmp_path: Path) -> None:
    made(run, "gordon", "--figure", "table 8")
    for name in ("index", "table-8"):
        text = drawn(tmp_path / f"pages/{name}.html", tmp_path)
        assert 'class="main-svg"' in text
        assert "point" in text


def test_bounds_are_printed_as_bounds() -> None:
    def of(low: float | None = None, high: float | None = None) -> str:
        row = Row("Table 6", "job", "what", 1.0, low, high)
        return printed(as_result([row])["items"][0])

    assert of(low=1.0) == "at least 1"
    assert of(high=2.5) == "at most 2.5"
    assert of(low=2.0, high=2.0) == "2"
    assert of(low=2.0, high=3.0) == "2 to 3"
    assert of(low=99_500.0, high=100_499.0) == "99.5 k to 100 k"


def test_a_paper_without_any_figure_has_a_summary_alone() -> None:
    found = papers.paper("gordon")
    places = found.chosen("1")
    made = pages(found, [], papers.outcomes(places, []))
    assert list(made) == ["index.html"]
    assert "0 of 0 figures" in made["index.html"]


def test_a_comparison_from_python_is_that_of_the_command(run: Run, tmp_path: Path) -> None:
    found = gordon.reproduce.compare(figure="table 8")
    ran = run("reproduce", "gordon", "--figure", "table 8", "--json", "-")
    assert json.loads(ran.out) == found
    assert repr(found).startswith("<gordon.reproduce.PaperResult: ")
    assert len(found.table()) == found["summary"]["figures"] > 0
    written = found.pages(tmp_path / "pages")
    assert {Path(path).name for path in written} == {"index.html", "table-8.html"}
    assert all(Path(path).stat().st_size for path in written)


def test_a_comparison_names_what_does_not_apply(tmp_path: Path) -> None:
    with raises("unknown-name", "gordn"):
        gordon.reproduce.compare("gordn")
    with raises("needs-option", "set", "gordon"):
        gordon.reproduce.compare(set={"records": 1})
    with raises("needs-option", "runs", "joulesort"):
        gordon.reproduce.compare("joulesort", runs=tmp_path)
    (tmp_path / "file").write_text("")
    with raises("unwritable", str(tmp_path / "file")):
        gordon.reproduce.compare(figure="table 8").pages(tmp_path / "file")
