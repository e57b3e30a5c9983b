"""Tables, warnings and errors on terminals of several widths."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from conftest import Run

#: Commands of which each prints a wide table, or many of them.
WIDE = (
    ["trace", "show", "spark-sort"],
    ["trace", "formats"],
    ["survey", "spark-sort", "--nodes", "1..4"],
    ["cost", "petabyte"],
    ["rack", "--node", "framework-desktop", "--nodes", "8"],
    ["plan", "--node", "MaxE", "--link", "2Gb", "--data", "8TB"],
    ["workload", "list"],
    ["parts"],
    ["spaces"],
    ["cache", "policies"],
    ["meter", "list"],
    ["reproduce", "joulesort", "--figure", "10"],
)


@pytest.mark.parametrize("columns", [80, 120])
def test_tables_fit_the_terminal(
    run: Run, trace: str, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    # A path is not broken, and may be longer than a line.
    monkeypatch.chdir(Path(trace).parent)
    name = Path(trace).name
    for args in (["survey", name], ["trace", "show", name], *WIDE):
        ran = run(*args)
        text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", ran.out + ran.err)
        assert text
        assert "…" not in ran.out
        # A progress bar draws over itself.
        lines = [line for line in text.splitlines() if "━" not in line]
        wide = [line for line in lines if cell_len(line) > columns]
        assert not wide, (args, wide)


def test_a_narrow_terminal_names_the_columns_that_it_does_not_show(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    words = ["survey", "spark-sort", "--nodes", "2"]
    narrow = " ".join(run(*words).out.split())
    left_out = narrow.partition("left out, as the terminal is narrow: ")[2]
    assert "low - high" in left_out.partition(" * on the")[0]
    monkeypatch.setenv("COLUMNS", "200")
    assert "left out" not in run(*words).out


def test_columns_that_do_not_fit_are_in_a_table_below(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe = run("cost", "petabyte").out
    row = next(line for line in pipe.splitlines() if line.startswith("SAS disk"))
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    found = [line for line in run("cost", "petabyte").out.splitlines() if line[:8] == "SAS disk"]
    cells = row.split()[2:]
    assert " ".join(found[0].split()[2:] + found[1].split()[2:]) == " ".join(cells)
