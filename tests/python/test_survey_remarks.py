"""Remarks on designs in a survey of machines, and further answers of `plan` and `flash wa`."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gordon.survey.machines import better_by_estimates

from conftest import Run


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_machines_with_less_than_the_page_cache_have_little_memory(run: Run) -> None:
    hour = "2026-11-26 10:00"
    Path("m.txt").write_text(
        "# hostname;interval;timestamp;CPU;%user;%nice;%system;%iowait;%steal;%idle\n"
        f"db1;10;{hour}:10 UTC;-1;70.00;0.00;5.00;0.00;0.00;25.00\n"
        f"db1;10;{hour}:20 UTC;-1;20.00;0.00;5.00;50.00;0.00;25.00\n"
        "# hostname;interval;timestamp;kbmemfree;kbavail;kbmemused;%memused;kbbuffers;kbcached\n"
        f"db1;10;{hour}:10 UTC;1000000;60000000;4000000;6.00;0;60000000\n"
        f"db1;10;{hour}:20 UTC;1000000;60000000;4000000;6.00;0;60000000\n"
    )
    assert run("trace", "convert", "m.txt", "m.trace", "--cores", "4").status == 0
    ran = run("survey", "m.trace", "--space", "modern", "--json", "-")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    little = {row["machine"].partition("/")[0] for row in found["designs"] if row["reads_again"]}
    assert {"raspberry-pi-5", "xeon-8280"} <= little
    assert not {"framework-desktop", "epyc-7763"} & little
    (warning,) = [one for one in found["warnings"] if "page cache of 57.2GiB" in one]
    assert warning.startswith(f"raspberry-pi-5 and {len(little) - 1} more: ")


def test_the_verdict_names_a_design_with_lower_estimates() -> None:
    def row(id: str, time: float, price: float | None, *, fits: bool | None = True) -> Any:
        job = {"time_s": time, "time_s_low": time / 2, "time_s_high": time * 2, "price": price}
        return {"id": id, "memory_fits": fits, "job": job, "model": "job"}

    best = row("disk", 10.0, 2.0)
    dearer, unknown, small = row("a", 5.0, 3.0), row("b", 5.0, None), row("c", 1.0, 1.0, fits=False)
    assert better_by_estimates(best, [best, dearer, unknown, small], "USD") == ""
    rows = [best, dearer, row("flash", 6.0, 1.0), row("slower", 7.0, 0.5)]
    assert better_by_estimates(best, rows, "USD") == (
        " The verdict goes by the upper ends of ranges; the estimates of flash are lower: "
        "6.00 s (3.00 s to 12.0 s), 1.00 USD."
    )


def test_a_link_that_the_plan_advises_meets_the_deadlines(run: Run) -> None:
    Path("jobs.toml").write_text(
        '[[jobs]]\nname = "index"\ndata = "8TB"\ncompute_per_gb = "4s"\n'
        '[[jobs]]\nname = "search"\ndata = "4TB"\nresults = "100GB"\narrival = "1h"\n'
        'deadline = "12h"\ncompute = "2h"\n'
    )
    words = ("plan", "--node", "MaxE", "--nodes", "64", "--slices", "1", "--jobs", "jobs.toml")
    late = run(*words, "--link", "2Gb")
    assert late.status == 1
    (number,) = re.findall(r"a link of ([0-9.]+) Gb/s", late.out)
    assert run(*words, "--link", f"{number}Gb").status == 0


def test_hot_pages_are_named_with_their_defaults(run: Run) -> None:
    ran = run("flash", "wa", "--blocks", "64", "--hot-space", "0.2")
    assert "90% of the writes go to 20% of the pages" in ran.out
