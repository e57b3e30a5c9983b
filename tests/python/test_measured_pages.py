"""The pages of `storage characterise`, `sort tune` and `meter record`: sentences, numbers, bands,
and what a browser draws at any width."""

import html
import json
import re
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from browser import Document, drawn, loads, needs_browser, result_of
from gordon.report.page import PLOTLY

from conftest import Run

COMMANDS = {
    "measured": "storage characterise disk --sizes 4KiB,64KiB --seconds 0.02 --bytes 1MiB",
    "simulated": "storage characterise --preset sata-7200-1tb --sizes 4KiB..64KiB --bytes 4MiB",
    "tune": "sort tune --records 20000 --budget 3s -o tuned.toml",
    "steer": "sort tune --flash gordon-slc-256g --set capacity=8GiB -o tuned.toml",
    "meter": "meter record --meter model --interval 0.01s --idle 0.1s --tail 0.05s --runs 2",
}
AFTER = {"meter": ["--", "/bin/sh", "-c", "sleep 0.2; : '<b>x</b>'"]}


@dataclass
class Made:
    """A page and the result of the same run."""

    path: Path
    text: str
    result: Any

    @property
    def heading(self) -> str:
        found = re.search(r'<h1 class="verdict">(.*?)</h1>', self.text)
        assert found is not None
        return found[1]


def made(name: str, run: Run) -> Made:
    Path("disk").mkdir(exist_ok=True)
    outputs = ["--report", "out.html", "--json", "out.json"]
    ran = run(*COMMANDS[name].split(), *outputs, *AFTER.get(name, []))
    assert ran.status == 0, ran.err
    page = Path("out.html")
    return Made(page.resolve(), page.read_text(), json.loads(Path("out.json").read_text()))


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_is_one_small_file_with_an_answer_and_its_numbers(name: str, run: Run) -> None:
    page = made(name, run)
    document = Document(page.text)
    assert loads(document) == []
    assert "default-src 'none'" in page.text
    assert result_of(page.text)["result"] == page.result
    assert re.search(r"\d.*\.$", page.heading), page.heading
    assert "/" not in page.heading.replace("B/s", "").replace("records/J", ""), page.heading
    if (files("gordon.report") / PLOTLY).is_file():
        assert len(page.text) < 1.5e6
    tags = [attrs for tag, attrs in document.tags if tag == "div" and attrs.get("class") == "plot"]
    figures = result_of(page.text)["figures"]
    # The keys of the page's JSON are sorted.
    assert sorted(str(attrs["id"]) for attrs in tags) == [f"plot-{figure}" for figure in figures]
    for attrs in tags:
        assert (attrs["role"], bool(attrs["aria-label"])) == ("img", True)
    assert page.text.count("<h1") == 1
    assert {"scope"} <= {key for tag, attrs in document.tags if tag == "th" for key in attrs}
    assert "<b>x</b>" not in page.text


@needs_browser
@pytest.mark.parametrize("name", COMMANDS)
def test_a_browser_draws_every_figure(name: str, run: Run, tmp_path: Path) -> None:
    page = made(name, run)
    text = drawn(page.path, tmp_path)
    for figure in result_of(page.text)["figures"]:
        plot = text.partition(f'id="plot-{figure}"')[2].partition("</section>")[0]
        assert 'class="main-svg"' in plot, figure
        assert "js-line" in plot or "point" in plot, figure


@needs_browser
@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_is_as_wide_as_a_telephone(name: str, run: Run, tmp_path: Path) -> None:
    page = made(name, run)
    frame = f'<iframe width="390" height="3000" srcdoc="{html.escape(page.text)}"></iframe>'
    probe = (
        "<script>setTimeout(() => { document.body.dataset.wide = "
        "document.querySelector('iframe').contentDocument.documentElement.scrollWidth; }, 8000);"
        "</script>"
    )
    page.path.write_text(f"<!doctype html><body>{frame}{probe}</body>")
    found = re.search(r'data-wide="(\d+)"', drawn(page.path, tmp_path))
    assert found is not None
    assert int(found[1]) <= 390


def test_the_bands_of_a_characterisation_are_its_quantiles(run: Run) -> None:
    page = made("simulated", run)
    figures = result_of(page.text)["figures"]
    for op in ("read", "write"):
        lines = figures[f"{op}-latency"]["data"]
        bands = [line for line in lines if line.get("fill") == "tonexty"]
        assert len(bands) == 2
        deepest = max(point["queue_depth"] for point in page.result["points"])
        wanted = {
            point["latency_us"]["p99"]
            for point in page.result["points"]
            if (point["op"], point["queue_depth"]) == (op, deepest)
        }
        assert {y for band in bands for y in band["y"]} == wanted
    best = max(p["bandwidth_mb_s"] for p in page.result["points"] if p["op"] == "read")
    from gordon.human import short

    assert page.heading.startswith(f"sata-7200-1tb reads up to {short(best * 1e6, 'B/s')} (")


def test_reads_alone_have_no_figures_of_writes(run: Run) -> None:
    Path("data").write_bytes(bytes(1 << 20))
    words = "storage characterise data --sizes 4KiB --seconds 0.01 --patterns random-read"
    ran = run(*words.split(), "--report", "out.html")
    assert ran.status == 0, ran.err
    text = Path("out.html").read_text()
    assert set(result_of(text)["figures"]) == {"read-bandwidth", "read-latency"}
    assert "writes up to" not in text
    assert "was only read" in text


def test_the_table_of_a_search_has_all_settings_the_best_first(run: Run) -> None:
    page = made("tune", run)
    section = page.text.partition('<section id="all">')[2].partition("</section>")[0]
    shown = re.findall(r'<th scope="row">(.*?)(?: <abbr.*?)?</th>', section)
    tried = {
        trial["what"]
        for trial in page.result["trials"]
        if trial["cost"] is not None and trial["role"] != "warm-up"
    }
    assert sorted(shown) == sorted(tried)
    assert section.count("<abbr") == 1
    costs = result_of(page.text)["figures"]["settings"]["data"][0]["x"]
    usual = [name for name in shown[:12] if name != "defaults"]
    assert len(costs) >= len(usual)


def test_a_search_without_a_gain_says_so(run: Run) -> None:
    from gordon.sort.tune import page

    result = made("tune", run).result
    result["gain"] |= {"beyond_noise": False, "pairs": 0, "compared": "nothing cost less"}
    assert page.sentence(result).startswith("Sort 2.00 MB with the defaults: no gain")
    result["gain"] |= {
        "beyond_noise": True, "pairs": 3, "gain": 0.25, "deviation": 0.01, "best": 3.0,
        "default": 4.0,
    }  # fmt: skip
    result["chosen"]["what"] = "buffered"
    assert page.sentence(result) == (
        "Sort 2.00 MB with buffered: gain over the defaults: 25.0% +- 1.0% of time, 3 instead of 4 "
        "s in 3 alternating pairs."
    )


def test_the_phases_and_the_idle_band_of_a_metered_command_are_its_own(run: Run) -> None:
    page = made("meter", run)
    (figure,) = result_of(page.text)["figures"].values()
    shapes = figure["layout"]["shapes"]
    assert [shape["label"]["text"] for shape in shapes if "label" in shape][1:3] == [
        "run 1",
        "run 2",
    ]
    idle = page.result["meters"][0]["idle"]
    band = next(shape for shape in shapes if shape.get("fillcolor") == "--band")
    sd = idle["sd_w"] or 0.0
    assert (band["y0"], band["y1"]) == (idle["mean_w"] - sd, idle["mean_w"] + sd)
    assert page.heading.startswith("sh drew a modelled ")


def test_many_samples_are_drawn_as_means_with_a_band() -> None:
    from gordon.energy.page import POINTS, _power

    meter: Any = {"name": "wall", "how": "measured", "idle": None}
    rows: Any = [
        {"time_s": n / 10, "phase": "run 1", "meter": "wall", "watts": 50.0 + n % 10}
        for n in range(10 * POINTS)
    ]
    spec = _power(meter, rows)
    assert spec is not None
    low, high, line = spec["data"][1], spec["data"][0], spec["data"][2]
    assert len(line["y"]) == POINTS
    assert set(line["y"]) == {54.5}
    assert (max(low["y"]), min(high["y"])) == (50.0, 59.0)
    assert _power(meter, []) is None


def test_a_meter_without_samples_has_a_page(run: Run) -> None:
    from gordon.energy.page import render, sentence
    from gordon.energy.record import Recording

    result = made("meter", run).result
    account = result["meters"][0]
    for key in ("energy_j", "mean_w", "above_idle_j", "idle", "tail"):
        account[key] = None
    account["runs"] = [
        dict.fromkeys(one, None) | {"samples": 0, "channels_j": {}} for one in account["runs"]
    ]
    assert sentence(result).endswith("; no meter gave its energy.")
    text = render(Recording(result, []))
    assert "plot-power" not in text.partition("<script")[0]
