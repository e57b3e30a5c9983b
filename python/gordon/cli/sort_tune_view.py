"""The screens of a search of settings."""

from collections.abc import Callable
from typing import Literal

from gordon.cli import warn_each
from gordon.cli.terminal import Column, Output
from gordon.human import binary, duration, figures, or_dash, short
from gordon.sort.tune.live import Step
from gordon.sort.tune.report import SteerReport, TuneReport, gain_sentence, holds, known
from gordon.sort.tune.search import Search, Trial
from gordon.sort.tune.tried import settings

#: Maximum number of rows of the table of trials; JSON has all.
MOST = 12


def live(console: Output) -> Callable[[Trial, Search], None]:
    """A line for each trial."""

    def print_trial(trial: Trial, search: Search) -> None:
        cost = trial.error or figures(trial.cost or 0.0)
        best = " (best so far)" if trial.point == search.best and trial.role != "warm-up" else ""
        left = duration(max(search.left(), 0.0))
        console.text(
            f"{trial.number:4d}  {cost:>8}  {trial.role}: {trial.point.label()}{best}; {left} left"
        )

    return print_trial


def show(console: Output, report: TuneReport) -> None:
    """The best points, and what they gain."""
    unit = "s" if report["objective"] == "time" else "J"
    tried = settings(report)
    rows = tried[:MOST]

    def mean(title: str, key: Literal["time_s", "cpu_s", "energy_j"]) -> Column:
        return Column(title, [or_dash(row[key]) for row in rows], right=True)

    columns = [
        Column("settings", [row["what"] for row in rows], wraps=True),
        Column("trials", [str(row["trials"]) for row in rows], right=True),
        mean("s", "time_s"),
        mean("CPU s", "cpu_s"),
    ]
    if any(row["energy_j"] is not None for row in rows):
        columns.append(mean("J", "energy_j"))
    count = len(report["trials"])
    console.text(
        f"{short(report['bytes'], 'B')} sorted {count} times in {duration(report['spent_s'])}, "
        f"memory {report['memory']}; standard deviation of one trial {report['noise']:.1%}; "
        f"{known(report)}"
    )
    console.table(columns)
    if len(tried) > len(rows):
        console.text(f"the best {len(rows)} of {len(tried)} settings by {unit}; --json has all")
    for line in stepped(report.get("steps", [])):
        console.text(line)
    left = report["budget_s"] - report["spent_s"]
    early = f" {duration(left)} before the end of the budget" if left >= 1 else ""
    console.text(f"ended{early}: {report['stopped']}")
    console.text(gain_sentence(report))
    console.text(holds(report))
    warn_each(report["warnings"])
    console.text(f"settings: {report['chosen']['what']}")


def stepped(steps: list[Step]) -> list[str]:
    """The advice of the device, the settings tried, and whether they were kept."""
    lines = []
    for step in steps:
        tried = ", ".join(
            f"{one['what']} {figures(one['cost']) if one['cost'] is not None else 'failed'}"
            for one in step["tried"]
        )
        end = f" -> {tried}" if tried else ""
        kept = "; kept" if step["kept"] else ""
        lines.append(f"[{step['at']}] {step['phase']}: {step['rule']}: {step['why']}{end}{kept}")
    return lines


def steered(console: Output, report: SteerReport) -> None:
    """Loads on a simulated device, the sizes that it asks for, and why."""
    console.text(
        f"{report['device']} of {short(report['capacity_bytes'], 'B')}, "
        f"{report['precondition']:.0%} in use, queue depth {report['queue_depth']}; "
        "all values are modelled"
    )
    rows = report["loads"]
    at = [next(one for one in row["tried"] if one["transfer"] == row["found"]) for row in rows]
    console.table(
        [
            Column("load alone", [row["load"] for row in rows]),
            Column("transfer", [binary(row["found"]) for row in rows], right=True),
            Column("MB/s", [figures(one["bandwidth_mb_s"]) for one in at], right=True),
            Column("why no larger", [row["why"] for row in rows], wraps=True),
        ]
    )
    passes = report["passes"]
    for name, both in (
        ("default sizes", passes["usual"]),
        ("best sizes of each load alone", passes["alone"]),
        ("chosen sizes", passes["chosen"]),
    ):
        console.text(
            f"both passes, {name}: {both['what']}: {figures(both['seconds'])} s "
            f"({figures(both['distribute']['seconds'])} + {figures(both['gather']['seconds'])})"
        )
    console.text("these settings are a starting point for `gordon sort tune`, which measures")
