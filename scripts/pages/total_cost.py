#!/usr/bin/env python3
"""Prints docs/design/total-cost.md: published examples, values by hand, and what moves a total.

python scripts/pages/total_cost.py >docs/design/total-cost.md
"""

from __future__ import annotations

import csv
import io
import sys
from math import isclose
from typing import Any

from gordon import survey
from gordon.cost import tco
from gordon.human import figures
from gordon.survey.columns import rows_to_csv
from gordon.survey.doubts import Ranking, Sensitivity, described
from markdown_pages import render, table
from published_costs import MOST, examples

Json = dict[str, Any]

#: The job of the page: the log of a sort on Spark that comes with gordon.
LOG = "spark-sort"
NODE, NODES = "framework-desktop", 2
USE: Json = {"runs_per_day": 40.0, "grid": "DE"}
#: Designs that are ranked.
RANKED: Json = {"space": "modern", "nodes": "1,2,4", "objective": "time,tco", "deadline": 120.0}
YEAR_S = 365.25 * 86400


def _published(found: list[Json]) -> str:
    rows = [
        [
            one["title"],
            one["source"],
            f"{one['published']:,.0f}",
            f"{one['ours']:,.0f}",
            f"{one['ratio'] - 1:+.1%}",
            one["reason"],
        ]
        for one in found
    ]
    head = ["example", "source and inputs", "published, USD", "ours", "off", "why"]
    return table(head, rows, text_columns=2)


def _parts(result: Json) -> str:
    bill = result["run"]
    runs = bill["runs_per_year"]
    rows = [
        [name, figures(bill[key]), figures(bill[key] * runs), f"{bill[key] / bill['total']:.0%}"]
        for name, key in (
            ("purchase", "purchase"),
            ("drives", "drives"),
            ("electricity", "electricity"),
            ("total", "total"),
        )
    ]
    return table(["part", "USD a run", "USD a year", "share"], rows, text_columns=1)


def _doubts(found: Sensitivity) -> str:
    indices: Json = {one["input"]: one for one in found["indices"]}
    rows = [
        [
            one["title"],
            one["why"],
            f"{figures(one['low'])} to {figures(one['high'])}",
            " to ".join("-" if end is None else figures(end) for end in _ends(one)),
            f"{max(0.0, indices[one['input']]['first']):.3f}",
            f"{max(0.0, indices[one['input']]['total']):.3f}",
        ]
        for one in found["by"]
    ]
    head = ["input", "its range", "from - to", "total, USD", "first order", "total index"]
    return table(head, rows, text_columns=2)


def _ends(one: Any) -> list[float | None]:
    return [one["at_low"], one["at_high"]]


def _by_hand(result: Json) -> str:
    """Three values of the CSV, from other values of its row. Fails if one does not follow."""
    (row,) = csv.DictReader(io.StringIO(rows_to_csv([result])))
    of = {key: float(text) for key, text in row.items() if _is_number(text)}
    runs = of["run_runs_per_year"]
    nodes, price = of["run_inputs_nodes"], of["run_inputs_purchase_price"]
    purchase = nodes * price / (of["operation_years"] * runs)
    between = YEAR_S / runs - of["run_inputs_time_s"]
    joules = of["run_inputs_energy_j"] + nodes * of["run_inputs_idle_w"] * between
    electricity = joules * of["operation_pue"] / 3.6e6 * of["operation_price_per_kwh"]
    life = 1 / (of["run_inputs_wear"] * runs)
    for value, key in (
        (purchase, "run_purchase"),
        (electricity, "run_electricity"),
        (life, "run_flash_life_years"),
    ):
        assert isclose(value, of[key], rel_tol=1e-9), key
    return (
        f"- **run_purchase.** {nodes:g} nodes of {price:,g} USD, kept for "
        f"{of['operation_years']:g} years of {runs:,g} runs: {nodes:g} x {price:,g} / "
        f"({of['operation_years']:g} x {runs:,g}) = {figures(purchase)} USD.\n"
        f"- **run_electricity.** The run takes {figures(of['run_inputs_energy_j'])} J, and "
        f"{nodes:g} x {figures(of['run_inputs_idle_w'])} W for the {figures(between)} s until the "
        f"next one. {figures(joules)} J x {of['operation_pue']:g} / 3.6e6 x "
        f"{of['operation_price_per_kwh']:g} USD a kWh = {figures(electricity)} USD.\n"
        f"- **run_flash_life_years.** A run uses {of['run_inputs_wear']:.3g} of the endurance: 1 / "
        f"({of['run_inputs_wear']:.3g} x {runs:,g}) = {figures(life)} years."
    )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _ranking(found: Ranking) -> str:
    winners = [[one["id"], f"{one['share']:.1%}"] for one in found["winners"]]
    changes = [[one["title"], f"{one['share']:.1%}"] for one in found["by"]]
    return "\n\n".join(
        (
            table(["design", "the least in"], winners, text_columns=1),
            table(["input that varies alone", "another design in"], changes, text_columns=1),
        )
    )


def values() -> Json:
    """The values of the template."""
    found = examples()
    result: Json = {**tco(LOG, NODE, nodes=NODES, **USE).report}
    cost = result["cost"]
    assert cost is not None, "the total of the example is known"
    surveyed: Any = survey.run(LOG, **RANKED, **USE)
    ranking: Ranking = surveyed["ranking"]
    inputs = result["run"]["inputs"]
    return {
        "published": _published(found),
        "agreeing": sum(one["agrees"] for one in found),
        "examples": found,
        "most": f"{MOST:.0%}",
        "job": LOG,
        "node": NODE,
        "nodes": NODES,
        "parts": _parts(result),
        "by_hand": _by_hand(result),
        "low": figures(cost["low"]),
        "high": figures(cost["high"] or 0.0),
        "total": figures(cost["value"]),
        "bills": f"{cost['bills']:,}",
        "doubts": _doubts(cost),
        "life": " to ".join(
            figures(1 / (inputs[key] * result["run"]["runs_per_year"]))
            for key in ("wear_high", "wear_low")
        ),
        "sentence": described(ranking),
        "ranking": _ranking(ranking),
    }


def main() -> None:
    sys.stdout.write(render("total-cost", **values()))


if __name__ == "__main__":
    main()
