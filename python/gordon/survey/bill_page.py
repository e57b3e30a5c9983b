"""The part of a page about what a run, or a month of a service, costs in all, with sliders for how
machines are used."""

from collections.abc import Sequence
from typing import NamedTuple

from gordon.reports.survey import BillReport, Operation
from gordon.survey.doubts import described
from gordon.survey.results import DesignOfMachines, ResultOfMachines


class Slider(NamedTuple):
    """A value of the use of machines that a reader of the page changes."""

    key: str
    """The key of the operation."""
    title: str
    least: float
    most: float
    step: float
    value: float
    is_log: bool
    """Whether the slider moves over the logarithm of the value."""
    unset: str = ""
    """The value that holds until it is moved, if the value is not given."""


class BillPage(NamedTuple):
    """The data of the part of a page."""

    is_service: bool
    sliders: list[Slider]
    operation: Operation
    sources: dict[str, str]
    unknown: list[str]
    """Designs without a total."""
    busy: list[str]
    """Designs that are too slow for the runs of a day."""
    ranking: str
    """How sure the best design is; empty if that is not asked for."""


def of(result: ResultOfMachines, rows: Sequence[DesignOfMachines]) -> BillPage | None:
    """The part of a page; None if no total of a design is known."""
    operation = result["operation"]
    bills = {row["id"]: bill for row in rows if (bill := row["bill"]) is not None}
    if operation is None or all(bill["total"] is None for bill in bills.values()):
        return None
    busy = [id for id, bill in bills.items() if (bill["busy"] or 0) > 1]
    unknown = [id for id, bill in bills.items() if bill["total"] is None and id not in busy]
    is_service, ranking = "load" in result, result["ranking"]
    return BillPage(
        is_service,
        _sliders(operation, result["space"]["currency"], list(bills.values()), is_service),
        operation,
        result["operation_sources"],
        unknown,
        busy,
        "" if ranking is None else described(ranking),
    )


def _sliders(
    operation: Operation, currency: str, bills: list[BillReport], is_service: bool
) -> list[Slider]:
    """The sliders: the tariff, years, and runs a day, which a service does not have."""
    price, years = operation["price_per_kwh"], operation["years"]
    found = [
        Slider("price_per_kwh", f"{currency} a kWh", 0, max(0.6, 2 * price), 0.01, price, False),
        Slider("years", "years", min(1, years), max(10, years), 0.5, years, False),
    ]
    if is_service:
        return found
    longest = max(bill["inputs"]["time_s"] for bill in bills)
    runs = operation.get("runs_per_day") or operation["hours_per_year"] / 365.25 * 3600 / longest
    unset = f"as many as take {operation['hours_per_year']:g} hours of a year"
    return [
        *found,
        Slider("runs_per_day", "runs a day", runs / 1000, runs * 1000, 0.01, runs, True, unset),
    ]
