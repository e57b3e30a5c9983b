"""The table of a survey of machines as a terminal shows it: remarks are never dropped."""

from __future__ import annotations

import re
from typing import Any

import pytest

from gordon.cli import terminal
from gordon.cli.machines_view import show_machines

_STYLE = re.compile(r"\x1b\[[0-9;]*m")


def row(id: str, names: list[str], **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "id": id,
        "machine": id,
        "names": names,
        "pareto": bool(names),
        "is_reference": False,
        "memory_below_peak": False,
        "cores": 16,
        "core_speed": 1.21,
        "limits": {"cpu": 0.8, "idle": 0.2},
    }
    times = {"time_s": 35271.0, "time_s_low": 29800.0, "time_s_high": 41100.0}
    return found | {"job": times | {"price": 3.13, "energy_j": 1.25e6}} | more


RESULT: dict[str, Any] = {
    "designs": [
        row("c8g.24xlarge", ["fastest"], memory_below_peak=True),
        row("c8g.2xlarge", ["cheapest", "least-energy"], memory_below_peak=True),
        row("m5.2xlarge", [], is_reference=True),
    ],
    "designs_total": 99,
    "model": "job",
    "nodes": 4,
    "space": {"name": "ec2", "currency": "USD"},
    "traces": [{"path": f"run/node-{number}"} for number in range(1, 5)],
    "verdict": {"machine": "c8g.2xlarge", "text": "Cheapest: c8g.2xlarge."},
    "warnings": [f"run/node-{number}: no block log" for number in range(1, 5)],
}

GOLDEN = {
    120: """\
99 machines of ec2, 4 nodes; times by the job model
  machine       cores  speed     time       low - high   USD   energy  limited by
* c8g.24xlarge     16   1.21  35271 s  29800 - 41100 s  3.13  1.25 MJ  cpu 80%     fastest, \
little memory
* c8g.2xlarge      16   1.21  35271 s  29800 - 41100 s  3.13  1.25 MJ  cpu 80%     cheapest, \
least-energy, little memory
  m5.2xlarge       16   1.21  35271 s  29800 - 41100 s  3.13  1.25 MJ  cpu 80%     traced here
* on the Pareto front of time, price, energy; low - high: what the trace leaves open, \
without errors of speed and memory
Cheapest: c8g.2xlarge.
""",
    80: """\
99 machines of ec2, 4 nodes; times by the job model
  machine          time       low - high   USD
* c8g.24xlarge  35271 s  29800 - 41100 s  3.13  fastest, little memory
* c8g.2xlarge   35271 s  29800 - 41100 s  3.13  cheapest, least-energy, little
                                                memory
  m5.2xlarge    35271 s  29800 - 41100 s  3.13  traced here
* on the Pareto front of time, price, energy; low - high: what the trace leaves
open, without errors of speed and memory
Cheapest: c8g.2xlarge.
""",
    45: """\
99 machines of ec2, 4 nodes; times by the job
model
  machine          time   USD
* c8g.24xlarge  35271 s  3.13  fastest,
                               little memory
* c8g.2xlarge   35271 s  3.13  cheapest,
                               least-energy,
                               little memory
  m5.2xlarge    35271 s  3.13  traced here
* on the Pareto front of time, price, energy;
low - high: what the trace leaves open,
without errors of speed and memory
Cheapest: c8g.2xlarge.
""",
}


def shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> tuple[list[str], str]:
    """The lines of a terminal with so many columns, and what goes to stderr."""
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
    assert err == "warning: all 4 traces: no block log\n"


@pytest.mark.parametrize("columns", range(20, 140, 7))
def test_no_remark_is_lost_in_any_width(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    lines, _ = shown(capsys, monkeypatch, columns)
    text = " ".join(" ".join(lines).split())
    for word, count in {"fastest": 1, "cheapest": 1, "least-energy": 1, "traced": 1}.items():
        assert text.count(word) == count, text
    assert len(re.findall(r"little.*?memory", text)) == 2


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
    assert sorted(words) == sorted(["x", "id", *" ".join(texts).split()])
