"""The screen of a survey of clusters: time and price of each number of nodes, the stages of the
recommended cluster, and the verdict."""

from collections.abc import Callable
from typing import Any

from gordon.cli import warn
from gordon.cli.terminal import Column, Output
from gordon.human import counted, figures, short
from gordon.survey.prices import dated
from gordon.survey.tasks import is_notable, limiting, outcome, recommended, recorded_line

Row = dict[str, Any]

#: Stages on the screen: those that take longest.
_STAGES = 12


def show_tasks(console: Output, result: Row, show_all: bool) -> None:
    """The tables, the verdict, and the warnings."""
    rows = result["designs"]
    chosen = recommended(result)
    shown = [row for row in rows if show_all or row["pareto"] or is_notable(row, chosen)]
    shown.sort(key=lambda row: outcome(row)["time_s"])
    console.text(
        f"{counted(result['designs_total'], 'cluster')} of {result['space']['name']}; times by the "
        f"{result['model']} model{dated(result)}"
    )
    console.text(recorded_line(result["application"]))
    console.table(_clusters(result, shown))
    left_out = len(rows) - len(shown)
    more = f"; --all also prints {left_out} more" if left_out else ""
    console.text(
        f"* on the Pareto front{more}; low - high: the 80% range. Names, front and verdict go by "
        "its upper end"
    )
    by_id = {row["id"]: row for row in rows}
    best = by_id.get(chosen or result["named"]["fastest"])
    if best is not None and best.get("stages"):
        console.text(f"stages on {best['id']}, and as recorded:")
        console.table(_stages(result["application"], best))
    console.text(result["sentence"])
    warn(result["warnings"], [trace["path"] for trace in result["traces"]])


def _clusters(result: Row, shown: list[Row]) -> list[Column]:
    def column(title: str, cell: Callable[[Row], str], **how: Any) -> Column:
        return Column(title, [cell(row) for row in shown], **how)

    number: dict[str, Any] = {"right": True}
    columns = [
        column("  cluster", lambda row: ("* " if row["pareto"] else "  ") + row["id"]),
        column("slots", lambda row: str(row["nodes"] * row["slots_per_node"]), spare=4, **number),
        column("time", lambda row: f"{figures(outcome(row)['time_s'])} s", **number),
        column("low - high", _interval, spare=1, **number),
    ]
    currency = result["space"]["currency"]
    if any(outcome(row)["price"] is not None for row in shown):
        columns.append(column(currency, lambda row: _known(outcome(row)["price"]), **number))
        month: dict[str, Any] = {"spare": 4, **number}
        columns.append(
            column(f"{currency}/month", lambda row: _known(row["price_per_month"]), **month)
        )
    if any(outcome(row)["energy_j"] is not None for row in shown):
        columns.append(column("energy", _energy, spare=2, **number))
    columns.append(column("limited by", limiting, spare=3))
    columns.append(column("", lambda row: ", ".join(_remarks(row)), wraps=True))
    return columns


def _remarks(row: Row) -> list[str]:
    return [*row["names"], *(["recorded here"] if row["is_reference"] else [])]


def _interval(row: Row) -> str:
    of = outcome(row)
    return f"{figures(of['time_s_low'])} - {figures(of['time_s_high'])} s"


def _known(value: float | None) -> str:
    return "" if value is None else figures(value)


def _energy(row: Row) -> str:
    energy = outcome(row)["energy_j"]
    return "" if energy is None else short(energy, "J")


def _stages(application: Row, best: Row) -> list[Column]:
    """The longest stages of a cluster in their order."""
    pairs = list(zip(application["stages"], best["stages"], strict=True))
    longest = sorted(pairs, key=lambda pair: pair[1]["start_s"] - pair[1]["end_s"])[:_STAGES]
    shown = [pair for pair in pairs if pair in longest]

    def column(title: str, cell: Callable[[Row, Row], str], **how: Any) -> Column:
        return Column(title, [cell(*pair) for pair in shown], **how)

    def secs(value: float) -> str:
        return f"{figures(value)} s"

    number: dict[str, Any] = {"right": True}
    return [
        column("stage", lambda _, there: f"{there['id']}: {there['name']}", wraps=True),
        column("tasks", lambda _, there: str(there["tasks"]), **number),
        column("recorded", lambda here, _: secs(here["end_s"] - here["start_s"]), **number),
        column("here", lambda _, there: secs(there["end_s"] - there["start_s"]), **number),
        column("longest task", lambda _, there: secs(there["longest_s"]), spare=1, **number),
        column("limited by", lambda _, there: there["limit"]),
    ]
