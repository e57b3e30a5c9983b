#!/usr/bin/env python3
"""Prints docs/design/cost.md: the cost of a petabyte, replicas on sleeping disks, racks and plans,
next to the paper's figures.

python scripts/pages/cost.py >docs/design/cost.md
"""

from __future__ import annotations

import sys
from typing import Any

from gordon.cli.paper_view import AGREES, computed, printed
from gordon.cli.replicas_view import (
    arrangements_table,
    devices_table,
    paid,
    pays,
    rates_table,
    sentences,
)
from gordon.cli.terminal import Column
from gordon.cost import petabyte, plan, rack, replicas
from gordon.cost.paper import Item
from gordon.cost.plan import Planned
from gordon.cost.rack import Rack
from gordon.cost.replicas import Replicas
from gordon.cost.report import Petabyte
from gordon.human import duration, figures, short
from gordon.parameters import Sourced
from markdown_pages import render, table

Json = dict[str, Any]

#: The load of the replicas: 1 MB/s of writes at random places.
REPLICAS: Json = {"pattern": "random-write", "size": "1MiB", "every": "1s", "requests": 20_000}
#: A buffer that these writes fill in about the break-even time of the disk.
SMALL_BUFFER = "16MiB"
NODES = ("MaxE", "MinT", "framework-desktop", "epyc-7763")


def items_table(items: list[Item]) -> str:
    return table(
        ["where", "figure", "agrees", "paper", "ours"],
        [
            [one["where"], one["what"], AGREES[one["agrees"]], printed(one), computed(one)]
            for one in items
        ],
        text_columns=3,
    )


def reasons(items: list[Item]) -> str:
    return "\n".join(
        f"- {one['where']}, {one['what']}, {printed(one)}: {one['reason']}."
        for one in items
        if one["reason"]
    )


def _inputs(result: Petabyte) -> str:
    rows = [
        [f"{row['part']} {row['key']}".strip(), row["why"], row["origin"], _number(row)]
        for row in result["parameters"]
    ]
    return table(["input", "where", "", "value"], rows, text_columns=3)


def _number(row: Sourced) -> str:
    value = row["value"]
    if row["key"] in ("capacity", "each", "flash_capacity"):
        return f"{value / 1e9:,.0f} GB" if row["key"] != "each" else f"{value / 1e6:,.0f} MB/s"
    return f"{value:,.0f} W" if row["key"] == "active" else f"{value:,g}"


def _by_processors(result: Petabyte) -> str:
    rows = [
        [
            row["summary"] + (" (assumed)" if row["is_chosen"] else ""),
            f"{row['processors']:g}",
            f"{row['nonmedia_cost']:,.0f}",
            f"{row['nonmedia_cost_share']:.1%}",
            f"{row['nonmedia_power_w']:,.0f}",
            f"{row['nonmedia_power_share']:.1%}",
        ]
        for row in result["by_processors"]
        if row["processors"] <= 4
    ]
    head = ["medium", "processors", "cost of the rest", "share", "power of the rest, W", "share"]
    return table(head, rows, text_columns=1)


def _bandwidth(result: Petabyte) -> str:
    rows = [
        [
            f"{figures(row['parts'])} x {row['part']}",
            f"{row['cost']:,.0f}",
            figures(row["cost_per_mb_s"]),
            figures(row["active_w"]),
        ]
        for row in result["bandwidth"]
    ]
    head = ["array of 900 MB/s", "USD", "USD a MB/s", "W"]
    return table(head, rows, text_columns=1)


def _rack(results: list[Rack]) -> str:
    def cell(value: float | None, unit: str) -> str:
        return "unknown" if value is None else short(value, unit)

    rows = [
        [
            result["node"]["id"],
            level,
            cell(of["capacity_bytes"], "B"),
            cell(of["read_bytes_per_s"], "B/s"),
            cell(of["write_bytes_per_s"], "B/s"),
            cell(of["idle_w"], "W"),
            cell(of["active_w"], "W"),
        ]
        for result in results
        for level, of in ((name, result[name]) for name in ("node", "enclosure", "rack"))
    ]
    head = ["node", "", "capacity", "read", "write", "idle", "active"]
    return table(head, rows, text_columns=2)


def _limits(result: Rack) -> str:
    met = {True: "yes", False: "no", None: "unknown"}
    rows = [
        [
            one["what"],
            one["source"] or one["reason"],
            met[one["met"]],
            f"{one['value']:,.0f} {one['unit']}".strip(),
            "" if one["most"] is None else f"{one['most']:,.0f} {one['unit']}".strip(),
        ]
        for one in result["limits"]
    ]
    return table(["limit of MaxE", "source", "met", "value", "at most"], rows, text_columns=3)


def _plan(result: Planned) -> str:
    one, (job,) = result["slice"], result["jobs"]
    rows = [
        ["nodes of a slice", f"{one['nodes']}"],
        ["storage of a slice", short(one["capacity_bytes"], "B")],
        ["reads of a slice", short(one["read_bytes_per_s"], "B/s")],
        ["writes of a slice", short(one["write_bytes_per_s"], "B/s")],
        ["loading", duration(job["load_s"])],
        ["share of the write bandwidth", f"{one['load_share']:.2%}"],
        ["computing that hides loading", f"{figures(one['hidden_s_per_gb'])} s/GB"],
    ]
    return table(["simulated nodes", ""], rows, text_columns=1)


def _columns(columns: list[Column]) -> str:
    """A table of the screen as one of the page."""
    rows = [list(row) for row in zip(*(column.cells for column in columns), strict=True)]
    text_columns = sum(not column.right for column in columns[:2])
    return table([column.title for column in columns], rows, text_columns=text_columns)


def _rated(result: Replicas) -> str:
    """The time after which a sleeping disk reaches its rated stops and starts."""
    years = result["arrangements"][-1]["devices"][-1]["rated_years"]
    assert years is not None, "the disk wakes up, and has a rating"
    return f"{figures(years)} years" if years >= 1 else f"{figures(years * 365.25)} days"


def _replicas(result: Replicas, small: Replicas) -> Json:
    disks = next(one for one in result["payback"] if one["against"] == "disks")
    assert (disks["per_year_difference"] or 0) > 0, "the page says that sleeping disks do not pay"
    lines = [*sentences(result), *(paid(one, result["currency"]) for one in result["payback"])]
    size, every = REPLICAS["size"].replace("MiB", " MiB"), REPLICAS["every"].replace("s", " s")
    return {
        "replicas_load": f"{REPLICAS['requests']:,} random writes of {size}, one every {every}, on "
        f"{result['flash']} and {result['disk']}, with {result['replicas']} replicas.",
        "replicas": "\n\n".join(
            _columns(columns) for columns in (arrangements_table(result), devices_table(result))
        ),
        "replicas_lines": "\n".join(f"- {line[0].upper()}{line[1:]}." for line in lines),
        "replicas_rates": _columns(rates_table(result)),
        "replicas_pays": f"With 1 GiB, {pays(result)}.",
        "replicas_rated": _rated(result),
        "replicas_small_rated": _rated(small),
        "replicas_small": _columns(rates_table(small)),
        "replicas_small_pays": f"With {SMALL_BUFFER.replace('MiB', ' MiB')}, {pays(small)}.",
    }


def values() -> Json:
    """The values that fill the template."""
    costs, racks = petabyte(), [rack(node) for node in NODES]
    virtual = plan("MaxE", link="2Gb", data="10TB")
    copies = replicas(**REPLICAS)
    small = replicas(**REPLICAS, buffer=SMALL_BUFFER, rates=(0.1, 0.3, 1, 3, 10))
    section61 = copies["items"]
    table8 = [one for one in costs["items"] if one["id"].startswith("table8.")]
    section6 = [one for one in costs["items"] if one not in table8]
    section3, section63 = racks[0]["items"], virtual["items"]
    items = [*table8, *section61, *section6, *section3, *section63]
    groups = {"table8": table8, "section61": section61, "section6": section6}
    groups |= {"section3": section3, "section63": section63}
    found: Json = {name: items_table(group) for name, group in groups.items()}
    found |= {f"{name}_reasons": reasons(group) for name, group in groups.items()}
    return (
        found
        | {
            "items": items,
            "agreeing": sum(one["agrees"] is True for one in items),
            "missed": sum(one["agrees"] is False for one in items),
            "inputs": _inputs(costs.report),
            "by_processors": _by_processors(costs.report),
            "bandwidth": _bandwidth(costs.report),
            "rack": _rack([rack.report for rack in racks]),
            "limits": _limits(racks[0].report),
            "plan": _plan(virtual.report),
        }
        | _replicas(copies.report, small.report)
    )


def main() -> None:
    sys.stdout.write(render("cost", **values()))


if __name__ == "__main__":
    main()
