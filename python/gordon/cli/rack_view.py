"""The screen of `gordon rack`."""

from typing import Literal

from gordon.cli.paper_view import show_items
from gordon.cli.terminal import Column, ColumnsOf, Output
from gordon.cost.rack import Limit, Rack
from gordon.human import counted, figures, short

#: Values of a node that add up.
_Sum = Literal[
    "capacity_bytes",
    "read_bytes_per_s",
    "write_bytes_per_s",
    "network_bytes_per_s",
    "idle_w",
    "active_w",
    "price",
]
MET = {True: "yes", False: "no", None: "unknown"}


def show_rack(console: Output, result: Rack) -> None:
    """The node, the enclosure and the rack, their limits, and the figures of the paper."""
    node, enclosure, rack = result["node"], result["enclosure"], result["rack"]
    about = f": {node['summary']}" if node["summary"] else ""
    console.text(
        f"{node['id']} of {node['space']}{about}; storage {node['storage']}; "
        "all values are modelled"
    )

    def column(title: str, key: _Sum, unit: str) -> Column:
        values = [node[key], enclosure[key], rack[key]]
        cells = ["-" if value is None else short(value, unit) for value in values]
        return Column(title, cells, right=True)

    columns = [
        Column(
            "",
            [
                "node",
                f"enclosure of {counted(enclosure['nodes'], 'node')}",
                f"rack of {counted(rack['enclosures'], 'enclosure')}",
            ],
        ),
        Column("nodes", ["1", f"{enclosure['nodes']:,}", f"{rack['nodes']:,}"], right=True),
        column("capacity", "capacity_bytes", "B"),
        column("read", "read_bytes_per_s", "B/s"),
        column("write", "write_bytes_per_s", "B/s"),
        column("network", "network_bytes_per_s", "B/s"),
        column("idle", "idle_w", "W"),
        column("active", "active_w", "W"),
    ]
    if node["price"] is not None:
        columns.append(column(f"{node['currency']}", "price", ""))
    console.table(columns)
    for one in node["unknown"]:
        console.text(f"{one['what']} unknown: {one['reason']}")
    _limits(console, result["limits"])
    show_items(console, result["items"])


def _limits(console: Output, limits: list[Limit]) -> None:
    column = ColumnsOf(limits)
    console.table(
        [
            column.text("limit", lambda r: r["what"]),
            column.number("value", lambda r: _quantity(r["value"], r["unit"])),
            column.number("at most", lambda r: _quantity(r["most"], r["unit"])),
            column.text("met", lambda r: MET[r["met"]]),
            column.text("", lambda r: r["reason"], wraps=True),
        ]
    )


def _quantity(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit in ("W", "B"):
        return short(value, unit)
    return f"{value:,.0f}" if float(value).is_integer() else figures(value)
