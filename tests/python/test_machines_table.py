"""The table of a survey of machines as a terminal shows it: remarks are never dropped."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gordon.cli import terminal
from gordon.cli.machines_view import show_machines

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def row(id: str, names: list[str], **more: Any) -> Any:
    found: Any = {
        "id": id,
        "machine": id,
        "nodes": 4,
        "names": names,
        "pareto": bool(names),
        "is_reference": False,
        "memory_fits": True,
        "reads_again": False,
        "cores": 16,
        "core_speed": 1.21,
        "price_per_month": 913.2,
        "limits": {"cpu": 0.8, "idle": 0.2},
        "bill": None,
    }
    times = {"time_s": 35271.0, "time_s_low": 29800.0, "time_s_high": 41100.0}
    job = times | {"range_by_s": {"runs": [34400.0, 36160.0]}, "price": 3.13, "energy_j": 1.25e6}
    return found | {"job": job} | more


RESULT: Any = {
    "designs": [
        row("c8g.24xlarge", ["fastest"]),
        row("c8g.2xlarge", ["cheapest", "least-energy"], reads_again=True),
        row("m5.2xlarge", [], is_reference=True, memory_fits=False),
    ],
    "designs_total": 3,
    "front": ["c8g.24xlarge", "c8g.2xlarge"],
    "ranking": None,
    "model": "job",
    "objectives": ["time", "price", "energy"],
    "nodes": 4,
    "space": {"name": "ec2", "currency": "USD", "unit": None},
    "traces": [{"path": f"run/node-{number}"} for number in range(1, 5)],
    "verdict": {"id": "c8g.2xlarge", "machine": "c8g.2xlarge", "nodes": 4, "deadline_s": None},
    "sentence": "Cheapest: c8g.2xlarge.",
    "warnings": [f"run/node-{number}: no block log" for number in range(1, 5)],
}

GOLDEN = {
    120: """\
3 machines of ec2, 4 nodes; times by the job model
  machine       cores  speed    time     low - high   USD  USD/month   energy  limited by
* c8g.24xlarge     64   1.21  9.80 h  8.28 - 11.4 h  3.13        913  1.25 MJ  cpu 80%     fastest
* c8g.2xlarge      64   1.21  9.80 h  8.28 - 11.4 h  3.13        913  1.25 MJ  cpu 80%     \
cheapest, least-energy,
                                                                                           \
little memory
  m5.2xlarge       64   1.21  9.80 h  8.28 - 11.4 h  3.13        913  1.25 MJ  cpu 80%     \
traced here, too little
                                                                                           memory
* on the Pareto front of time, price and energy; low - high: the 80% range. Names, front and \
verdict go by its upper end
Cheapest: c8g.2xlarge.
""",
    80: """\
3 machines of ec2, 4 nodes; times by the job model
  machine         time     low - high   USD  USD/month
* c8g.24xlarge  9.80 h  8.28 - 11.4 h  3.13        913  fastest
* c8g.2xlarge   9.80 h  8.28 - 11.4 h  3.13        913  cheapest, least-energy,
                                                        little memory
  m5.2xlarge    9.80 h  8.28 - 11.4 h  3.13        913  traced here, too little
                                                        memory
left out, as the terminal is narrow: cores, speed, energy, limited by
* on the Pareto front of time, price and energy; low - high: the 80% range.
Names, front and verdict go by its upper end
Cheapest: c8g.2xlarge.
""",
    45: """\
3 machines of ec2, 4 nodes; times by the job
model
  machine         time   USD
* c8g.24xlarge  9.80 h  3.13  fastest
* c8g.2xlarge   9.80 h  3.13  cheapest,
                              least-energy,
                              little memory
  m5.2xlarge    9.80 h  3.13  traced here,
                              too little
                              memory
left out, as the terminal is narrow: cores,
speed, low - high, USD/month, energy, limited
by
* on the Pareto front of time, price and
energy; low - high: the 80% range. Names,
front and verdict go by its upper end
Cheapest: c8g.2xlarge.
""",
}


def shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> tuple[list[str], str]:
    """The lines of a terminal of this width, and what goes to stderr."""
    for name, text in {"FORCE_COLOR": "1", "COLUMNS": str(columns), "LINES": "50"}.items():
        monkeypatch.setenv(name, text)
    show_machines(terminal.data(), RESULT, show_all=False)
    out, err = capsys.readouterr()
    return [line.rstrip() for line in _STYLE.sub("", out).splitlines()], err


@pytest.mark.parametrize("columns", GOLDEN)
def test_the_table_of_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    lines, err = shown(capsys, monkeypatch, columns)
    assert lines == GOLDEN[columns].splitlines()
    nodes = "run/node-1, run/node-2, run/node-3 and run/node-4"
    assert " ".join(err.split()) == f"warning: {nodes}: no block log"


@pytest.mark.parametrize("columns", range(20, 140, 7))
def test_no_remark_is_lost_in_any_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    lines, _ = shown(capsys, monkeypatch, columns)
    text = " ".join(" ".join(lines).split())
    for word, count in {"fastest": 1, "cheapest": 1, "least-energy": 1, "traced": 1}.items():
        assert text.count(word) == count, text
    assert len(re.findall(r"(?<!too )little.*?memory", text)) == 1
    assert len(re.findall(r"too.*?little.*?memory", text)) == 1


@pytest.mark.parametrize("width", range(30, 120))
def test_no_character_of_columns_that_wrap_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    texts = ["a longest-of-all-words, and others: more", "bbb cc dddddddddddddddddd ee"]
    for name, text in {"FORCE_COLOR": "1", "COLUMNS": str(width), "LINES": "50"}.items():
        monkeypatch.setenv(name, text)
    columns = [terminal.Column("x", ["id"]), *(terminal.Column("", [t], wraps=True) for t in texts)]
    terminal.data().table(columns)
    words = _STYLE.sub("", capsys.readouterr().out).split()
    # Columns that do not fit are in a table below, which has the first column again.
    tables = words.count("id")
    assert sorted(words) == sorted([*["x", "id"] * tables, *" ".join(texts).split()])
    assert tables <= 2
