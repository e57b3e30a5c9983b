"""Published worked examples of what machines cost, next to our bills of the same inputs."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from gordon.survey.doubts import bills

#: A year of 365.25 days.
YEAR_S = 365.25 * 86400
#: The most that ours may differ from a published amount.
MOST = 0.1
FILE = Path(__file__).with_suffix(".toml")

Json = dict[str, Any]


def examples() -> list[Json]:
    """The examples: their inputs, what is published, and ours."""
    given = tomllib.loads(FILE.read_text(encoding="utf-8"))
    found = [
        {"id": id, "per": "year", "nodes": 1, "reason": "", **one} for id, one in given.items()
    ]
    for one, bill in zip(found, bills([_case(one) for one in found]), strict=True):
        years = one["years"] if one["per"] == "life" else 1
        total = bill["total"]
        assert total is not None, one["id"]
        one["ours"] = total * years
        one["ratio"] = one["ours"] / one["published"]
        one["agrees"] = abs(one["ratio"] - 1) <= MOST
    return found


def _case(one: Json) -> tuple[Any, Any]:
    """A run of a year on machines that do nothing else."""
    is_rented = "rent_per_hour" in one
    inputs = {
        "nodes": one["nodes"],
        "time_s": YEAR_S,
        "energy_j": one["nodes"] * one.get("power_w", 0) * YEAR_S,
        "idle_w": 0,
        "purchase_price": None if is_rented else one.get("price", 0),
        "drives_price": 0,
        "rent_per_hour": one["nodes"] * one["rent_per_hour"] if is_rented else None,
        "billed_s": 0,
        "embodied_kg": None,
        "drives_embodied_kg": None,
        "drives_life_years": None,
        "wear": None,
        "wear_low": None,
        "wear_high": None,
    }
    operation = {
        "years": one.get("years", 1),
        "hours_per_year": 8766,
        "runs_per_day": 1 / 365.25,
        "price_per_kwh": one.get("price_per_kwh", 0),
        "pue": one.get("pue", 1),
        "grams_per_kwh": 0,
    }
    return inputs, operation
