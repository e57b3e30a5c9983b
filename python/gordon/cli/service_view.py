"""The screen of a survey of a service: use, price and power of each design, and the verdict."""

from collections.abc import Callable
from typing import Any

from gordon.cli import warn
from gordon.cli.terminal import Column, Output
from gordon.human import counted, duration, figures, short
from gordon.survey.prices import dated
from gordon.survey.service import RESOURCES, cheapest_first, is_notable, keeps_up, remarks

Row = dict[str, Any]

#: Designs of the front that are shown, the cheapest ones.
_OF_FRONT = 8


def show_service(console: Output, result: Row, show_all: bool) -> None:
    """The table, the verdict, and the warnings."""
    rows = result["designs"]
    ordered = sorted(rows, key=cheapest_first)
    front = [row["id"] for row in ordered if row["pareto"]][:_OF_FRONT]
    shown = [r for r in ordered if show_all or r["id"] in front or is_notable(r, result)]
    load = result["load"]
    console.text(
        f"{counted(result['designs_total'], 'design')} of {result['space']['name']} for "
        f"{duration(load['span_s'])} of {counted(load['nodes'], 'node')}: "
        f"{figures(load['cpu_cores']['p99'])} cores busy at the 99th percentile, "
        f"{figures(load['cpu_cores']['peak'])} at the peak{dated(result)}"
    )
    console.table(_table(result, shown))
    text = "use: not exceeded in 99% of the time. * on the Pareto front of cost and use"
    left_out = len(rows) - len(shown)
    console.text(text + (f"; --all also prints {left_out} more" if left_out else ""))
    console.text(result["sentence"])
    warn(result["warnings"], [trace["path"] for trace in result["traces"]])


def _table(result: Row, shown: list[Row]) -> list[Column]:
    def column(title: str, cell: Callable[[Row], str], **how: Any) -> Column:
        return Column(title, [cell(row) for row in shown], **how)

    def used(resource: str) -> Callable[[Row], str]:
        return lambda row: _known(row["use"][resource], "{:.0%}".format)

    number: dict[str, Any] = {"right": True}
    currency = result["space"]["currency"]
    columns = [
        column("  design", lambda r: ("* " if r["pareto"] else "  ") + r["id"]),
        column("cores", lambda r: str(r["cores"] * r["nodes"]), spare=3, **number),
        column("keeps up", keeps_up),
    ]
    for resource, name in RESOURCES.items():
        if any(row["use"][resource] is not None for row in shown):
            columns.append(column(name, used(resource), **number))
    if any(row["price_per_month"] is not None for row in shown):
        text = f"{currency}/month"
        columns.append(column(text, lambda r: _known(r["price_per_month"], figures), **number))
    if any(row["power_w"] is not None for row in shown):
        power = {"spare": 2, **number}
        columns.append(column("power", lambda r: _known(r["power_w"], _watts), **power))
    columns.append(column("", lambda r: ", ".join(remarks(r)), wraps=True, enough=18))
    return columns


def _known(value: float | None, text: Callable[[float], str]) -> str:
    return "" if value is None else text(value)


def _watts(value: float) -> str:
    return short(value, "W")
