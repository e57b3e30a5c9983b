"""Figures of the paper next to ours, as tables of the screen."""

from gordon.cli.terminal import Column, Output
from gordon.cost.paper import Item
from gordon.human import figures

AGREES = {True: "yes", False: "no", None: "-"}


def show_items(console: Output, items: list[Item]) -> None:
    """A row for each figure of the paper, and the reasons of those that do not follow."""
    if not items:
        return
    console.table(
        [
            Column("where", [one["where"] for one in items]),
            Column("figure", [one["what"] for one in items], wraps=True),
            Column("paper", [printed(one) for one in items], right=True),
            Column("ours", [computed(one) for one in items], right=True),
            Column("agrees", [AGREES[one["agrees"]] for one in items]),
        ]
    )
    for one in items:
        if one["reason"]:
            console.text(f"{one['where']}, {one['what']}, {printed(one)}: {one['reason']}")


def printed(item: Item) -> str:
    """The figure as the paper prints it, with its unit."""
    text, unit = item["paper"]["printed"], item["unit"]
    return text if text.endswith(unit) else f"{text} {unit}"


def computed(item: Item) -> str:
    """Our figure, in the unit of the paper's."""
    ours, text = item["ours"], item["paper"]["printed"]
    if ours is None:
        return "-"
    for suffix, scale in (("%", 0.01), ("K", 1e3), ("M", 1e6)):
        if text.endswith(suffix):
            return f"{figures(ours / scale)}{suffix}"
    return f"{ours:,.0f}" if float(ours).is_integer() else figures(ours)
