"""The screen of a survey of several jobs: each job in a row, then their mean."""

from collections.abc import Callable
from typing import Literal

from gordon.cli import warn
from gordon.cli.survey_view import most, show
from gordon.cli.terminal import Column, ColumnsOf, Output
from gordon.human import counted, figures
from gordon.survey.jobs import gains, traces
from gordon.survey.machines import outcome
from gordon.survey.prices import dated
from gordon.survey.results import (
    GridDesign,
    GridMean,
    GridResult,
    JobResult,
    MachinesMean,
    MeanMachine,
)

_Figure = Literal["time_s", "price", "energy_j"]


def show_jobs(console: Output, result: GridMean | MachinesMean, show_all: bool) -> None:
    """A table of the jobs, then the mean over them, and the warnings."""
    console.text(f"{counted(len(result['jobs']), 'job')} surveyed, each alone:")
    if "by" in result:
        console.table(_designs(list(result["jobs"].items())))
        console.text(
            "perf/W: of MaxE, relative to the job's best disk design; speed: of MinT, relative to "
            "its fastest disk design"
        )
        if result["charge"] == "command":
            console.text("the CPU time of the traced commands is simulated, not of the machines")
        console.text("\nthe mean, in which each job weighs the same:")
        show(console, result, show_all)
        return
    console.table(_machines(list(result["jobs"].items())))
    front = [row for row in result["designs"] if row["pareto"]]
    console.text(
        f"\nthe mean of the jobs, {counted(result['designs_total'], 'machine')} of "
        f"{result['space']['name']}: those on the Pareto front{dated(result)}"
    )
    shown = result["designs"] if show_all else front
    console.table(_mean(result, sorted(shown, key=lambda row: outcome(row)["time_s"])))
    if not show_all:
        console.text(f"--all also prints {len(result['designs']) - len(front)} others")
    warn(result["warnings"], traces(result))


def _designs(jobs: list[tuple[str, GridResult]]) -> list[Column]:
    column = ColumnsOf([result for _, result in jobs])

    def design(name: str) -> Callable[[GridResult], str]:
        return lambda result: result["named"][name] or ""

    def gain(name: str) -> Callable[[GridResult], str]:
        return lambda result: f"{figures(gains(result)[name])}x" if name in gains(result) else ""

    def limit(name: str) -> Callable[[GridResult], str]:
        return lambda result: most(_named(result, name)["limits"])

    return [
        Column("job", [name for name, _ in jobs]),
        column.number("traces", lambda result: str(len(result["traces"])), spare=2),
        column.text("MaxE", design("MaxE")),
        column.number("perf/W", gain("MaxE")),
        column.text("limited by", limit("MaxE"), spare=3),
        column.text("MinT", design("MinT")),
        column.number("speed", gain("MinT")),
        column.text("limited by", limit("MinT"), spare=4),
    ]


def _named(result: GridResult, name: str) -> GridDesign:
    return next(row for row in result["designs"] if name in row["names"])


def _machines(jobs: list[tuple[str, JobResult]]) -> list[Column]:
    return [
        Column("job", [name for name, _ in jobs]),
        Column("verdict", [result["sentence"] for _, result in jobs], wraps=True),
    ]


def _mean(result: MachinesMean, shown: list[MeanMachine]) -> list[Column]:
    currency = result["space"]["currency"]

    def column(title: str, key: _Figure) -> Column:
        values = [outcome(row)[key] for row in shown]
        return Column(title, ["" if v is None else figures(v) for v in values], right=True)

    figured: list[tuple[str, _Figure]] = [
        ("time, s", "time_s"),
        (f"price, {currency}", "price"),
        ("energy, J", "energy_j"),
    ]
    known = [
        column(title, key)
        for title, key in figured
        if any(outcome(row)[key] is not None for row in shown)
    ]
    months = [row["price_per_month"] for row in shown]
    if any(month is not None for month in months):
        texts = ["" if month is None else figures(month) for month in months]
        known.append(Column(f"{currency}/month", texts, right=True, spare=2))
    return [
        Column("  machine", [("* " if row["pareto"] else "  ") + row["id"] for row in shown]),
        *known,
        Column("limited by", [most(row["limits"]) for row in shown], spare=1),
        Column("", [", ".join(row["names"]) for row in shown], wraps=True),
    ]
