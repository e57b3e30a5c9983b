"""The screen of `gordon rack`."""

from collections.abc import Callable
from typing import Any

from gordon.cli.paper_view import show_items
from gordon.cli.terminal import Column, Output
from gordon.human import counted, figures, short

Row = dict[str, Any]

MET = {True: "yes", False: "no", None: "unknown"}


def show_rack(console: Output, result: Row) -> None:
    """The node, the enclosure and the rack, their limits, and the figures of the paper."""
    node, enclosure, rack = result["node"], result["enclosure"], result["rack"]
    about = f": {node['summary']}" if node["summary"] else ""
    console.text(
        f"{node['id']} of {node['space']}{about}; storage {node['storage']}; "
        "all values are modelled"
    )
    levels = [node, enclosure, rack]

    def column(title: str, key: str, unit: str) -> Column:
        cells = ["-" if one[key] is None else short(one[key], unit) for one in levels]
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


def _limits(console: Output, limits: list[Row]) -> None:
    def column(title: str, cell: Callable[[Row], str], **how: Any) -> Column:
        return Column(title, [cell(row) for row in limits], **how)

    console.table(
        [
            column("limit", lambda r: r["what"]),
            column("value", lambda r: _quantity(r["value"], r["unit"]), right=True),
            column("at most", lambda r: _quantity(r["most"], r["unit"]), right=True),
            column("met", lambda r: MET[r["met"]]),
            column("", lambda r: r["reason"], wraps=True),
        ]
    )


def _quantity(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    if unit in ("W", "B"):
        return short(value, unit)
    return f"{value:,.0f}" if float(value).is_integer() else figures(value)
