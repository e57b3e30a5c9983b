"""Surveys of jobs with stages: what limits each, and the bands of the report."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import gordon
from browser import Document, drawn, loads, needs_browser
from gordon.survey import machines_page
from gordon.survey import page as designs_page
from test_run import made_run

from conftest import Run

#: Two that overlap, one shorter than a sample (0.2 s), one after the trace, one without a length.
STAGES = [
    {"name": "0: map", "start_s": 0, "end_s": 0.6},
    {"name": "1: </script><img src=x>", "start_s": 0.3, "end_s": 0.8},
    {"name": "2: short", "start_s": 0.45, "end_s": 0.5},
    {"name": "3: late", "start_s": 1000, "end_s": 2000},
    {"name": "4: none", "start_s": 0.5, "end_s": 0.5},
]
GRID = "gordon-2009"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def plain(tmp_path: Path, trace: str) -> Path:
    """A run of two nodes, without stages."""
    return made_run(tmp_path / "run", trace, [0, 0])


@pytest.fixture
def staged(plain: Path) -> Path:
    file = plain / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"stages": STAGES}))
    return plain


def page(result: Any) -> str:
    html: str = (machines_page if "verdict" in result else designs_page).render(result)
    return html


@pytest.mark.parametrize(
    ("space", "model"),
    [(GRID, None), (GRID, "stages"), ("modern", None)],
)
def test_every_model_has_the_limits_of_the_stages_of_a_run(
    staged: Path, space: str, model: str | None
) -> None:
    result: Any = gordon.survey.run(staged, space=space, model=model).report
    timeline = result["timeline"]
    assert [node["name"] for node in timeline["nodes"]] == ["node-1", "node-2"]
    for node in timeline["nodes"]:
        assert len(node["cpu_share"]) == len(timeline["start_s"])
        # The job computes, and its writes reach the medium.
        assert max(node["cpu_share"]) > 0.1
        assert max(node["disk_bytes_per_s"]) > 1e6
    stages = timeline["stages"]
    assert [stage["name"] for stage in stages] == [stage["name"] for stage in STAGES[:4]]
    shown = {design["id"] for design in result["designs"]}
    reported = {id for id in result["named"].values() if id is not None}
    if "verdict" in result:
        reported |= {result["verdict"]["id"], result["verdict"]["fastest"]}
    for stage in stages[:3]:
        assert {design["id"] for design in stage["designs"]} == reported <= shown
        for shares in (stage["recorded"], *stage["designs"]):
            assert sum(shares["limits"].values()) == pytest.approx(1)
    assert stages[2]["samples"] == pytest.approx(0.05 / 0.2, rel=0.2)
    assert (stages[3]["samples"], stages[3]["recorded"], stages[3]["designs"]) == (0, None, [])
    json.dumps(result, allow_nan=False)


@pytest.mark.parametrize("space", [GRID, "modern"])
def test_stages_change_nothing_else(tmp_path: Path, trace: str, plain: Path, space: str) -> None:
    before: Any = gordon.survey.run(plain, space=space).report
    assert "timeline" not in before
    html = page(before)
    assert "plot-stages" not in html
    file = plain / "run.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {"stages": STAGES}))
    after: Any = gordon.survey.run(plain, space=space).report
    assert after.pop("timeline")
    assert after == before
    assert page(after) == html


def test_a_file_of_stages_is_drawn_too(run: Run, trace: str) -> None:
    Path("stages.json").write_text(json.dumps({"stages": STAGES[:2]}))
    ran = run(
        *("survey", trace, "--space", GRID, "--stages", "stages.json"),
        *("--json", "s.json", "-o", "s.html"),
    )
    assert ran.status == 0, ran.err
    result = json.loads(Path("s.json").read_text())
    [node] = result["timeline"]["nodes"]
    assert node["name"] == "job.trace"
    html = Path("s.html").read_text()
    assert 'id="plot-stages"' in html
    assert html == page(result)


@pytest.mark.parametrize("space", [GRID, "modern"])
def test_the_report_has_a_row_for_each_stage(staged: Path, space: str) -> None:
    result: Any = gordon.survey.run(staged, space=space).report
    html = page(result)
    assert "<img src=x" not in html
    document = Document(html)
    assert loads(document) == []
    assert any(attrs.get("href") == "#stages" for _, attrs in document.tags)
    names = [attrs["title"] for tag, attrs in document.tags if tag == "th" and "title" in attrs]
    assert [name for name in names if name in [stage["name"] for stage in STAGES]] == [
        stage["name"] for stage in STAGES[:4]
    ]
    assert html.count("outside of the traces</td>") == 1
    result["timeline"]["stages"] = result["timeline"]["stages"][3:]
    assert "outside of the traces</td>" in page(result), "no stage has designs"


def test_what_a_trace_does_not_show_is_a_dash(staged: Path) -> None:
    result: Any = gordon.survey.run(staged, space=GRID).report
    for stage in result["timeline"]["stages"][:3]:
        stage["recorded"] |= {"limits": None, "cpu_share": None, "disk_bytes_per_s": None}
    for node in result["timeline"]["nodes"]:
        node |= {"disk_bytes_per_s": None}
    assert "None" not in page(result).partition('id="stages"')[2].partition("</section>")[0]


@needs_browser
@pytest.mark.parametrize(("space", "nodes"), [(GRID, 2), ("modern", 2), (GRID, 20)])
def test_the_browser_draws_bands_behind_the_nodes(
    staged: Path, tmp_path: Path, space: str, nodes: int
) -> None:
    result: Any = gordon.survey.run(staged, space=space).report
    timeline = result["timeline"]
    timeline["nodes"] = [
        timeline["nodes"][at % 2] | {"name": f"node-{at + 1}"} for at in range(nodes)
    ]
    path = tmp_path / "report.html"
    path.write_text(page(result), encoding="utf-8")
    text = drawn(path, tmp_path).partition('id="plot-stages"')[2].partition("<h3>")[0]
    tags = Document(text).tags
    # The late stage has neither band nor bar.
    assert sum("data-index" in attrs and tag == "path" for tag, attrs in tags) == 3
    assert sum(attrs.get("class") == "point" for _, attrs in tags) == 3
    assert 'data-unformatted="0: map"' in text
    for name in ("cores busy", "disks", "network"):
        assert f'data-unformatted="{name}"' in text
    if nodes > 8:
        assert 'data-unformatted="median"' in text
        assert f'data-unformatted="least to most of {nodes} nodes"' in text
    else:
        assert 'data-unformatted="node-2"' in text
