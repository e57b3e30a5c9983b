"""The report: one file, offline, the result's numbers; and, where there is a browser, as drawn."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from browser import Document, drawn, loads, needs_browser, result_of
from surveyed import of_grid

from conftest import raises


@pytest.fixture
def page(result: Any, tmp_path: Path) -> Path:
    from gordon.survey.page import render

    path = tmp_path / "report.html"
    path.write_text(render(result), encoding="utf-8")
    return path


def test_it_is_one_file_with_the_results_numbers(page: Path, result: Any) -> None:
    text = page.read_text(encoding="utf-8")
    document = Document(text)
    assert loads(document) == []
    assert "default-src 'none'" in text
    rows = document.rows()
    assert [r["data-id"] for r in rows] == [d["id"] for d in result["designs"]]
    for row, design in zip(rows, result["designs"], strict=True):
        assert float(row["data-energy"] or 0) == design["sync"]["energy_j"]
        assert float(row["data-time"] or 0) == design["sync"]["time_s"]
    assert result_of(text) == result


def test_text_of_others_cannot_become_markup(result: Any) -> None:
    from gordon.survey.page import render

    result["traces"][0]["command"] = ["</script><img src=x onerror=alert(1)>"]
    text = render(result)
    assert "<img src=x" not in text
    assert Document(text).rows()


def test_it_renders_without_disks_flash_or_warnings(trace: str, tmp_path: Path) -> None:
    from gordon import survey
    from gordon.survey import space
    from gordon.survey.page import render

    for drop in ("sata-7200-1tb", "gordon-slc-256g"):
        text = space.text("gordon-2009")
        head, *storages = text.split("[[storage]]")
        kept = [s for s in storages if drop not in s]
        (tmp_path / "own.toml").write_text("[[storage]]".join([head, *kept]))
        result = of_grid(survey.run([trace], space=str(tmp_path / "own.toml")))
        result["warnings"] = []
        html = render(result)
        assert len(Document(html).rows()) == len(result["designs"]) < 84


def test_flash_without_writes_has_no_end_of_life(result: Any) -> None:
    from gordon.cli.survey_view import show
    from gordon.cli.terminal import data
    from gordon.survey.columns import to_csv
    from gordon.survey.page import render

    for design in result["designs"]:
        if design["flash"]:
            design["flash"] |= {
                "write_amplification": None,
                "endurance_used": 0.0,
                "lifetime_years": None,
            }
    show(data(), result, show_all=True)
    assert "None" not in to_csv(result)
    rows = Document(render(result)).rows()
    assert {row["data-life"] for row in rows} == {""}


def test_without_plotly_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    import gordon.report.page as report

    monkeypatch.setattr(report, "find_spec", lambda _: None)
    monkeypatch.setattr(report, "PLOTLY", "none.js")
    with raises("no-plotly") as raised:
        report.plotly_js()
    assert raised.value.args[1].endswith("or pip install plotly")


def test_without_its_part_a_page_has_all_of_plotly(monkeypatch: pytest.MonkeyPatch) -> None:
    import gordon.report.page as report

    part = report.plotly_js()
    monkeypatch.setattr(report, "PLOTLY", "none.js")
    assert "plotly.js v" in report.plotly_js()[:100]
    assert len(report.plotly_js()) >= len(part)


@needs_browser
def test_the_browser_draws_and_sorts_it(page: Path, tmp_path: Path, result: Any) -> None:
    text = drawn(page, tmp_path, "#sort=-energy")
    document = Document(text)
    assert loads(document) == []
    assert sum(attrs.get("class") == "main-svg" for _, attrs in document.tags) >= 4
    for plot in ("front", "limits", "energy", "time"):
        assert f'id="plot-{plot}"' in text
    marks = [attrs for _, attrs in document.tags if "point plotly" in (attrs.get("class") or "")]
    assert len(marks) == 84
    assert 'data-title="Reset axes"' in text
    assert 'data-title="Share chart' not in text
    energies = [float(row["data-energy"] or 0) for row in document.rows()]
    assert len(energies) == 84
    assert energies == sorted(energies, reverse=True)

    text = drawn(page, tmp_path, "#sort=time&front=1")
    shown = [row["data-id"] for row in Document(text).rows() if "hidden" not in row]
    assert shown == result["front"]


@pytest.fixture(params=["flash", "disk"])
def compared(request: pytest.FixtureRequest) -> Any:
    """Two devices under one load, small and quick."""
    from gordon import disk, flash

    if request.param == "disk":
        pair = ["sata-7200-1tb", "seagate-cheetah-9lp"]
        return disk.compare(None, pair, pattern="mixed", requests=2000)
    changes = ["capacity=64MiB", "geometry.blocks_per_plane=12"]
    return flash.compare(
        None, ["gordon-slc-256g", "gordon-mlc-512g"], pattern="mixed", requests=3000,
        set=changes, precondition=0.9,
    )  # fmt: skip


def test_figures_without_data_are_left_out() -> None:
    from gordon import flash

    result: Any = flash.bench("random-read", requests=100, span="1MiB")
    assert {"write_amplification", "erases"}.isdisjoint(result.figures())
    html = result.html()
    assert "Write amplification over time" not in html
    assert "Erases since" not in html
    assert "Utilisation of buses and dies" in html


FIGURES = {
    "flash": ["utilisation", "write_amplification", "erases"],
    "disk": ["utilisation", "mechanism", "energy"],
}


def figures_of(shown: Any) -> list[str]:
    from gordon.results import Comparison

    one = shown.results[0] if isinstance(shown, Comparison) else shown
    module = type(one).__module__
    return ["bandwidth", "iops", "queue_depth", "latency", *FIGURES[module.split(".")[1]]]


def test_reports_on_runs_are_one_file_with_their_numbers(compared: Any, tmp_path: Path) -> None:
    for shown in (compared, compared.results[0]):
        shown.save(tmp_path / "runs.html")
        text = (tmp_path / "runs.html").read_text(encoding="utf-8")
        assert loads(Document(text)) == []
        assert "default-src 'none'" in text
        runs = result_of(text)["runs"]
        results = compared.results if shown is compared else [shown]
        assert [run["report"] for run in runs] == [result.report for result in results]
    shown.save(tmp_path / "runs.json")
    assert json.loads((tmp_path / "runs.json").read_text()) == shown.report


def test_reports_on_runs_put_ratios_to_the_first(compared: Any) -> None:
    from gordon.human import figures

    text = compared.html()
    row = re.search(r'data-row="Reads: latency mean, [um]s">(.*?)</tr>', text)
    assert row
    cells = re.findall(r"<td>(.*?)</td>", row[1])
    first, second = (r.report["read"]["latency_us"]["mean"] for r in compared.results)
    assert "small" not in cells[0]
    assert f"<small>{figures(second / first)}×</small>" in cells[1]


def test_figures_of_runs_are_plotlys(compared: Any) -> None:
    for shown, lines in ((compared, 4), (compared.results[0], 2)):
        made = shown.figures()
        assert list(made) == figures_of(shown)
        assert len(made["latency"].data) == lines
        # The last line ends at all of the requests.
        assert made["latency"].data[-1].y[-1] == 1
        assert all(line.line.color.startswith("#") for line in made["bandwidth"].data)


def test_rates_over_a_handful_of_requests_are_drawn_as_means(compared: Any) -> None:
    run = compared.results[0]
    series = run.columns("series")
    made = run.figures()["bandwidth"].data[0]
    assert len(made.x) == len(made.y) <= len(series["start_s"]) + 1
    assert len(made.x) <= run.report["requests"] / 50 + 2 < len(series["start_s"])
    drawn = sum(y * (b - a) for y, a, b in zip(made.y, made.x, made.x[1:], strict=False))
    assert drawn == pytest.approx(run.report["read"]["bytes"] / 1e6)


def test_text_of_others_is_not_markup_in_reports_on_runs(tmp_path: Path) -> None:
    from gordon import disk, flash

    trace = tmp_path / "<img src=x onerror=alert(1)>"
    trace.write_text("0 0 0 8 1\n")
    for device in (disk, flash):
        text = device.replay(trace, format="mqsim").html()
        assert "<img src=x" not in text


@needs_browser
def test_the_browser_draws_runs(compared: Any, tmp_path: Path) -> None:
    for name, shown in (("compared", compared), ("one", compared.results[0])):
        page = tmp_path / f"{name}.html"
        shown.save(page)
        text = drawn(page, tmp_path)
        document = Document(text)
        assert loads(document) == []
        for figure in figures_of(shown):
            plot = text.partition(f'id="plot-{figure}"')[2].partition("</section>")[0]
            assert 'class="main-svg"' in plot, figure
            assert "js-line" in plot or "point" in plot, figure
        assert 'data-title="Share chart' not in text
