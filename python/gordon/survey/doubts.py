"""Sensitivity of the total cost of a run: each input alone at the ends of its range, and all."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isinf, log, sqrt
from typing import Any, Literal, TypedDict

from gordon import _core
from gordon.reports.survey import BillInputs, BillReport, Operation

#: A figure of a bill that is compared.
Figure = Literal["total", "carbon_kg"]


@dataclass(frozen=True)
class Doubt:
    """An input of a bill and its range: factors of its value."""

    key: str
    """The key of `BillInputs` or `Operation`."""
    title: str
    low: float
    high: float
    why: str


#: The ranges are 80 % ranges; those without a source are assumed.
DOUBTS = (
    Doubt("energy_j", "power", 0.8, 1.2, "assumed: 20 % for the power of all parts"),
    Doubt("purchase_price", "purchase price", 0.8, 1.25, "assumed: discounts and another year"),
    Doubt(
        "drives_price", "price of drives", 0.7, 1.4, "assumed: prices of flash move by 30 % a year"
    ),
    Doubt(
        "drives_life_years", "life of drives", 0.6, 1.4, "assumed: 3 to 7 years of a warranty of 5"
    ),
    Doubt("embodied_kg", "carbon of making", 0.5, 2.0, "assumed: studies differ by a factor of 2"),
    Doubt("drives_embodied_kg", "carbon of drives", 0.1, 2.0, "sources have 0.003 to 0.16 kg a GB"),
    Doubt("price_per_kwh", "tariff", 0.7, 1.4, "assumed: regions and years differ by 30 to 40 %"),
    Doubt(
        "pue", "PUE", 0.8, 1.2, "assumed: of 1.56, 1.25 for a new building to 1.87 for an old one"
    ),
    Doubt(
        "grams_per_kwh", "carbon of a kWh", 0.7, 1.3, "assumed: from hour to hour and year to year"
    ),
    Doubt("years", "years", 0.75, 1.25, "assumed: a year less or more of four"),
    Doubt("hours_per_year", "hours in use", 0.5, 1.5, "assumed: a quarter to three quarters"),
    Doubt("runs_per_day", "runs a day", 0.5, 1.5, "assumed: half as many or half as many more"),
)
#: Inputs that grow with the power.
_OF_POWER = ("energy_j", "idle_w")
TIME = "time"
#: The least and the greatest value of an input.
LIMITS = {
    "pue": (1.0, 10.0),
    "years": (0.001, 100.0),
    "hours_per_year": (0.001, 8766.0),
    "runs_per_day": (1e-6, 86_400_000.0),
    "price_per_kwh": (0.0, 1e4),
    "grams_per_kwh": (0.0, 2000.0),
}


class End(TypedDict):
    """A figure if an input alone is at the ends of its range."""

    input: str
    title: str
    why: str
    low: float
    high: float
    at_low: float | None
    at_high: float | None


class Sensitivity(TypedDict):
    """How far a figure of a bill is known."""

    figure: Figure
    value: float
    low: float
    #: None if the nodes may not keep up with the runs.
    high: float | None
    #: The one that moves the figure most first.
    by: list[End]


def bills(cases: Sequence[tuple[BillInputs, Operation]]) -> list[BillReport]:
    """The bills of runs. Raises GordonError for an invalid operation."""
    given = [{"inputs": inputs, "operation": operation} for inputs, operation in cases]
    found: list[BillReport] = json.loads(_core.bills(json.dumps(given)))
    return found


def sensitivity(
    bill: BillReport, times: tuple[float, float], operation: Operation, figure: Figure
) -> Sensitivity | None:
    """How far a figure of a bill is known; None if it is unknown. `times` are the ends of the range
    of the time. The range joins those of the inputs, which are independent: the sum of the squares
    of their logarithms."""
    value = bill[figure]
    if value is None or value <= 0:
        return None
    inputs = bill["inputs"]
    cases = [(_longer(inputs, end / inputs["time_s"]), operation) for end in times]
    ranges = [(TIME, "time of the run", "the 80 % range of the model", times)]
    for doubt in DOUBTS:
        now = _value(doubt.key, inputs, operation)
        is_unused = doubt.key == "hours_per_year" and operation.get("runs_per_day")
        if not now or is_unused:
            continue
        least, most = LIMITS.get(doubt.key, (0.0, inf))
        ends = (max(least, now * doubt.low), min(most, now * doubt.high))
        cases += [_changed(doubt.key, end / now, inputs, operation) for end in ends]
        ranges.append((doubt.key, doubt.title, doubt.why, ends))
    found = [one[figure] for one in bills(cases)]
    by: list[End] = [
        {
            "input": key,
            "title": title,
            "why": why,
            "low": low,
            "high": high,
            "at_low": found[2 * at],
            "at_high": found[2 * at + 1],
        }
        for at, (key, title, why, (low, high)) in enumerate(ranges)
    ]
    moving = [end for end in by if _moves(end, value)]
    moving.sort(key=lambda end: -_moves(end, value))
    down, up = (
        sqrt(sum(log(_end(end, value, side) / value) ** 2 for end in moving)) for side in (min, max)
    )
    return {
        "figure": figure,
        "value": value,
        "low": value * exp(-down),
        "high": None if isinf(up) else value * exp(up),
        "by": moving,
    }


def _value(key: str, inputs: BillInputs, operation: Operation) -> float | None:
    values: dict[str, Any] = {**operation, **inputs}
    return values.get(key)


def _changed(
    key: str, factor: float, inputs: BillInputs, operation: Operation
) -> tuple[BillInputs, Operation]:
    """The case with an input times a factor."""
    own: dict[str, Any] = dict(inputs)
    use: dict[str, Any] = dict(operation)
    for name in _OF_POWER if key in _OF_POWER else (key,):
        table = own if name in own else use
        if table.get(name) is not None:
            table[name] *= factor
    return _inputs(own), _operation(use)


def _longer(inputs: BillInputs, factor: float) -> BillInputs:
    """A run that takes longer by a factor, and draws power as much longer."""
    own: dict[str, Any] = dict(inputs)
    for key in ("time_s", "energy_j"):
        if own[key] is not None:
            own[key] *= factor
    return _inputs(own)


def _inputs(table: Any) -> BillInputs:
    inputs: BillInputs = table
    return inputs


def _operation(table: Any) -> Operation:
    operation: Operation = table
    return operation


def _end(end: End, value: float, side: Any) -> float:
    """The least or the greatest of a figure over the range of an input: without end if the nodes do
    not keep up at one of its ends."""
    ends = [inf if one is None else one for one in (end["at_low"], end["at_high"])]
    found: float = side([value, *ends])
    return found


def _moves(end: End, value: float) -> float:
    """The effect of an input on a figure: the logarithm of its greatest over its least value."""
    return log(_end(end, value, max) / _end(end, value, min))
