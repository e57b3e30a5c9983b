"""The screen of a survey of machines: time, price and energy of each, and the verdict."""

from collections.abc import Callable
from typing import Any

from gordon.cli import warn
from gordon.cli.terminal import Column, Output
from gordon.human import counted, figures, short
from gordon.survey.machines import (
    answer,
    front_figures,
    in_nodes,
    is_notable,
    noun,
    outcome,
    recommended,
    remarks,
)
from gordon.survey.prices import dated

Row = dict[str, Any]

#: Cells of two remarks.
_TWO_REMARKS = len("cheapest, little memory,")


def show_machines(console: Output, result: dict[str, Any], show_all: bool) -> None:
    """The table, the verdict, and the warnings."""
    rows = result["designs"]
    chosen = recommended(result)
    shown = [r for r in rows if show_all or r["pareto"] or is_notable(r, chosen)]
    shown.sort(key=lambda r: outcome(r)["time_s"])
    console.text(
        f"{counted(result['designs_total'], noun(rows))} of {result['space']['name']}, "
        f"{in_nodes(result)}; times by the {result['model']} model{dated(result)}"
    )
    console.table(_table(result, shown))
    console.text(_legend(result, len(rows) - len(shown)))
    console.text(answer(result))
    warn(result["warnings"], [trace["path"] for trace in result["traces"]])


def _table(result: dict[str, Any], shown: list[Row]) -> list[Column]:
    def column(title: str, cell: Callable[[Row], str], **how: Any) -> Column:
        return Column(title, [cell(row) for row in shown], **how)

    currency = result["space"]["currency"]
    number: dict[str, Any] = {"right": True}
    columns = [
        column("  machine", lambda r: ("* " if r["pareto"] else "  ") + r["id"]),
        column("cores", lambda r: str(r["cores"] * r["nodes"]), spare=5, **number),
        column("speed", lambda r: figures(r["core_speed"]), spare=6, **number),
        column("time", lambda r: f"{figures(outcome(r)['time_s'])} s", **number),
        column("low - high", _interval, spare=1, **number),
    ]
    if any(outcome(row)["price"] is not None for row in shown):
        columns.append(column(currency, lambda r: _known(outcome(r)["price"], figures), **number))
        month = {"spare": 2, **number}
        columns.append(
            column(f"{currency}/month", lambda r: _known(r["price_per_month"], figures), **month)
        )
    if any(outcome(row)["energy_j"] is not None for row in shown):
        energy = {"spare": 3, **number}
        columns.append(
            column("energy", lambda r: _known(outcome(r)["energy_j"], _joules), **energy)
        )
    columns.append(column("limited by", _limit, spare=4))
    columns.append(column("", lambda r: ", ".join(remarks(r)), wraps=True, enough=_TWO_REMARKS))
    return columns


def _interval(row: Row) -> str:
    job = outcome(row)
    return f"{figures(job['time_s_low'])} - {figures(job['time_s_high'])} s"


def _known(value: float | None, text: Callable[[float], str]) -> str:
    return "" if value is None else text(value)


def _joules(value: float) -> str:
    return short(value, "J")


def _limit(row: Row) -> str:
    """The limit that takes most of the time: `cpu 80%`."""
    limits = row["limits"]
    most = max(limits, key=lambda name: limits[name], default=None)
    return "" if most is None else f"{most} {limits[most]:.0%}"


def _legend(result: dict[str, Any], left_out: int) -> str:
    words = {"time_s": "time", "price": "price", "energy_j": "energy"}
    front = [row for row in result["designs"] if row["pareto"]]
    compared = ", ".join(words[key] for key in front_figures(front))
    text = f"* on the Pareto front of {compared}"
    if left_out:
        text += f"; --all also prints {left_out} more"
    return text + "; low - high: the 80% range. Names, front and verdict go by its upper end"
