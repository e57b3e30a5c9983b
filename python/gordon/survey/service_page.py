"""The report of a survey of a service: the verdict, the load over time, the use of each design.

One HTML file that works offline, like the other reports. The same result gives the same bytes.
"""

from typing import Any

from gordon import notices
from gordon.human import duration
from gordon.report import page
from gordon.survey.jobs import traces as trace_paths
from gordon.survey.machines_page import capacity, money
from gordon.survey.page import FILTERS, LIBRARIES
from gordon.survey.service import (
    MODEL,
    RESOURCES,
    cheapest_first,
    is_notable,
    keeps_up,
    recommended,
    remarks,
)

__all__ = ["MODEL", "render"]

Row = dict[str, Any]


def render(result: Row) -> str:
    """The report's HTML."""
    rows = sorted(result["designs"], key=cheapest_first)
    chosen = recommended(result)
    notable = [row for row in rows if is_notable(row, result)]
    shown = {
        key: any(row[key] is not None for row in rows) for key in ("price_per_month", "power_w")
    }
    return page.render(
        "service",
        result,
        FILTERS
        | {"money": money, "capacity": capacity, "keeps_up": keeps_up, "duration": duration},
        libraries=LIBRARIES,
        notices=notices.grouped(result["warnings"], trace_paths(result)),
        r=result,
        rows=rows,
        remarks={
            row["id"]: (["verdict"] if row["id"] == chosen else []) + remarks(row) for row in rows
        },
        cards=notable,
        resources=RESOURCES,
        priced=shown["price_per_month"],
        metered=shown["power_w"],
        columns=_columns(result, shown),
        parts=page.grouped(_used(result["parameters"], notable)),
    )


def _columns(result: Row, shown: dict[str, bool]) -> list[tuple[str, str, str]]:
    """The columns of the table: key, heading, hint."""
    currency = result["space"]["currency"]
    columns = [
        ("id", "design", ""),
        ("names", "remark", ""),
        ("keeps", "keeps up", "with the headroom free in 99 % of the time, and at the peak"),
    ]
    columns += [(key, name, "not exceeded in 99 % of the time") for key, name in RESOURCES.items()]
    if shown["price_per_month"]:
        columns.append(("month", f"{currency} / month", "of all nodes, 730 hours"))
    if shown["power_w"]:
        columns.append(("power", "power", "mean of all nodes"))
    return [
        *columns,
        ("nodes", "nodes", ""),
        ("cores", "cores", "logical processors of a node"),
        ("size", "memory", "main memory of a node"),
        ("storage", "storage", "of a node"),
        ("link", "link", "of a node, each way"),
    ]


def _used(parameters: list[Row], notable: list[Row]) -> list[Row]:
    """The values of these machines, then those of their storage parts."""
    ids = {row["machine"] for row in notable}
    parts = {row["storage_part"] for row in notable}
    machines = [p for p in parameters if p["kind"] == "machine" and p["part"] in ids]
    return machines + [p for p in parameters if p["kind"] != "machine" and p["part"] in parts]
