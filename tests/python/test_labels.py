"""Labels of charts of surveys: none covers another one, at any width."""

import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

import sadf
from browser import drawn, needs_browser
from spaces import MACHINES

from conftest import Run

#: Counts pairs of labels that overlap, and labels, in a frame as wide as a window or a telephone.
PROBE = """
<script>setTimeout(() => {
  const page = document.querySelector("iframe").contentDocument;
  const plot = page.getElementById("plot-front");
  const labels = [...plot.querySelectorAll(".annotation-text-g")];
  const boxes = labels.map((g) => g.getBoundingClientRect());
  const overlap = (low, high) => (a, b) => a[low] < b[high] && b[low] < a[high];
  const [across, down] = [overlap("left", "right"), overlap("top", "bottom")];
  let overlaps = 0;
  for (const [i, a] of boxes.entries())
    for (const b of boxes.slice(i + 1)) overlaps += across(a, b) && down(a, b);
  const whole = plot.getBoundingClientRect();
  const outside = boxes.filter((box) => box.left < whole.left || box.right > whole.right).length;
  const note = plot.parentElement.querySelector(".unlabelled");
  document.body.dataset.found = JSON.stringify({
    labels: boxes.length, overlaps, outside, note: note ? note.textContent : null,
  });
}, 9000);</script>
"""


def near(count: int) -> str:
    """A space with a number of machines whose times and prices differ by a percent."""
    head, machine, *_ = MACHINES.split("[[machines]]")
    made = [head]
    for n in range(count):
        text = machine.replace('"small"', f'"small-{n:02}-with-a-long-name"')
        text = text.replace("core_speed = 1.0", f"core_speed = {1 + n / 1000}")
        made.append(text.replace("0.096", str(0.096 + n / 10000)))
    return "[[machines]]".join(made)


def labels(run: Run, tmp_path: Path, width: int, count: int) -> Any:
    (tmp_path / "day.json").write_text(sadf.day([sadf.second(n) for n in range(10)], "db1"))
    (tmp_path / "near.toml").write_text(near(count))
    words = "survey day.json --space near.toml --reference small-00-with-a-long-name"
    ran = run(*words.split(), "-o", "out.html")
    assert ran.status == 0, ran.err
    page = html.escape((tmp_path / "out.html").read_text())
    frame = f'<iframe width="{width}" height="3000" srcdoc="{page}"></iframe>'
    (tmp_path / "frame.html").write_text(f"<!doctype html><body>{frame}{PROBE}</body>")
    found = re.search(r'data-found="([^"]*)"', drawn(tmp_path / "frame.html", tmp_path))
    assert found is not None
    return json.loads(html.unescape(found[1]))


@needs_browser
@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("count", [2, 4])
def test_labels_of_near_machines_do_not_overlap(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, width: int, count: int
) -> None:
    monkeypatch.chdir(tmp_path)
    found = labels(run, tmp_path, width, count)
    assert found["labels"] >= 2
    assert (found["overlaps"], found["outside"]) == (0, 0), found
    assert found["note"] is not None
