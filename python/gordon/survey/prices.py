"""Prices of the machines of a space: of those that are bought, an hour; and how old prices are."""

import re
from datetime import date
from math import isfinite
from typing import Any

from gordon.errors import GordonError
from gordon.quantity import value
from gordon.survey.price_files import URLS
from gordon.survey.results import Result
from gordon.survey.space import Space, machines
from gordon.untyped import Config

#: Days after which prices are reported as old.
OLD_DAYS = 180
_DATE = re.compile(r", (\d{4}-\d{2}-\d{2})$")


def per_hour(space: Space, years: float | None = None) -> None:
    """Adds `price_per_hour` to the machines that have only a `purchase_price`, in place: the
    purchase price / (years x hours of a year) by `ownership` of the space, or by other `years`.
    Electricity, room and staff are not in it. Raises GordonError for an ownership that is not above
    zero."""
    bought = [m for m in machines(space) if "purchase_price" in m and "price_per_hour" not in m]
    ownership = space.get("ownership")
    if not bought or ownership is None:
        return
    kept, hours = (
        _positive(space["name"], ownership, key, most)
        for key, most in (("years", 100), ("hours_per_year", 8784))
    )
    # The core refuses other years than a machine is kept for.
    kept = kept if years is None or not 0 < years <= 100 else years
    for machine in bought:
        price = value(machine["purchase_price"])
        if _is_number(price):  # The core refuses another type, which --set may give.
            why = f"purchase_price / ({kept:g} years x {hours:g} hours), without electricity"
            machine["price_per_hour"] = {"value": price / (kept * hours), "assumed": why}


def _positive(name: str, ownership: Config, key: str, most: float) -> float:
    """A number of the table `ownership`. Raises GordonError unless it is above zero, and at most
    `most`."""
    number = value(ownership.get(key))
    if _is_number(number) and 0 < number <= most:
        return float(number)
    raise GordonError(
        f"space `{name}`: ownership.{key}: {number} is not a number above 0 and at most {most:g}",
        "--set ownership.years=4 --set ownership.hours_per_year=4383",
        kind="bad-ownership",
    )


def _is_number(number: Any) -> bool:
    return isinstance(number, int | float) and not isinstance(number, bool) and isfinite(number)


def day(space: Space) -> str | None:
    """The day of the oldest dated price of the machines of a space, as 2026-07-20. None for a space
    without prices, or whose prices have no date."""
    days = [found for machine in machines(space) if (found := _day(machine, space))]
    return min(days, default=None)


def _day(machine: Config, space: Space) -> str | None:
    """The day of the price of a machine: its own, else that of its key, else the machine's."""
    key = next((key for key in ("price_per_hour", "purchase_price") if key in machine), None)
    if key is None:
        return None
    field = machine[key]
    if isinstance(field, dict) and ("source" in field or "assumed" in field):
        found = _DATE.search(field.get("source", ""))
        return found[1] if found else None
    dated: str | None = space.get("sources", {}).get(key, machine).get("date")
    return dated


def age_warnings(name: str, day: str | None, today: date | None = None) -> list[str]:
    """A warning if the prices of the space of this name are of more than `OLD_DAYS` days before
    today. `day` is that of `day`."""
    if day is None:
        return []
    try:
        age = ((today or date.today()) - date.fromisoformat(day)).days
    except ValueError:
        return [f"prices of the space `{name}` have a date that no calendar has: {day}"]
    if age < -1:  # A day ahead is another time zone's.
        return [f"prices of the space `{name}` are of {day}, which is after today"]
    if age <= OLD_DAYS:
        return []
    how = "give newer ones in a space file, or with --set machines.ID.KEY=PRICE"
    if name in URLS:
        how = f"`gordon spaces update {name} -o FILE` writes the space with newer ones"
    return [f"prices of the space `{name}` are of {day}, {age} days ago: {how}"]


def day_of_prices(result: Result) -> str | None:
    """The oldest day of a price in a survey of machines; None without prices."""
    space = result["space"]
    if "prices_date" in space:
        return space["prices_date"]
    return None


def dated(result: Result) -> str:
    """The day of the prices of a survey of machines, to follow a sentence about it."""
    found = day_of_prices(result)
    return "" if found is None else f"; prices of {found}"
