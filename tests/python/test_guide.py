"""The commands of README.md, the tutorials and the guide, run as a reader would."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/guide").glob("*.md")),
    *sorted((ROOT / "docs/tutorials").glob("*.md")),
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_print_what_it_shows(page: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        [sys.executable, ROOT / "scripts/build/guide.py", page],
        capture_output=True,
        text=True,
        env=os.environ | {"PATH": path},
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_readme_is_short_and_its_accuracy_is_that_of_the_pages() -> None:
    readme = (ROOT / "README.md").read_text()
    assert len(readme.splitlines()) < 120
    ec2 = (ROOT / "docs/validation/ec2.md").read_text()
    clusters = (ROOT / "docs/validation/cluster.md").read_text()
    by_logs = clusters.partition("## By event logs alone")[2]
    by_traces = clusters.partition("## By the traces")[2]
    for page, what, model, others in (
        (ec2, "EC2 machines", "job", ("Amdahl", "linear")),
        (
            ec2.partition("Without scaling")[2],
            "from its sysstat record alone",
            "job",
            ("Amdahl",),
        ),
        (by_logs, "from its event log", "tasks", ("linear", "Amdahl", "Sparklens", "Ernest")),
        (by_traces, "from traces of its nodes alone", "job", ("linear",)),
    ):
        (row,) = [line for line in readme.splitlines() if line.startswith("| ") and what in line]
        pairs, median, most, best = [cell.strip(" %") for cell in row.split("|")[2:6]]
        assert [pairs, median, most] == _figures(page, model)[:3]
        assert best == min((_figures(page, name)[1] for name in others), key=float)


def test_the_shares_of_clusters_in_the_range_are_those_of_the_page() -> None:
    page = (ROOT / "docs/validation/cluster.md").read_text()
    shares = re.findall(r"^\| (?:tasks|job) \|.*\| (\d+)% \|$", page, re.MULTILINE)
    across = re.findall(r"^Across series: .* (\d+)% in the range", page, re.MULTILINE)
    assert len(shares) == len(across) == 3
    local, others = (f"{min(found)} to {max(found)} %" for found in (shares, across))
    faq, limits = ((ROOT / f"docs/{name}.md").read_text() for name in ("faq", "limits"))
    assert f"{local} on local nodes ({others} across series of runs)" in faq
    assert f"the 80 % range holds {others}" in limits


def _figures(page: str, model: str) -> list[str]:
    """The pairs, the median error and the 90 % quantile of a model: its first row in a page."""
    row = next(line for line in page.splitlines() if line.startswith(f"| {model} |"))
    return [cell.strip(" %") for cell in row.split("|")[2:5]]
