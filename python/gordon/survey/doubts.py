"""The doubts about the total cost of a run: each input alone at the ends of its range, all of them
together, the shares of the variance, and how often another design is the best one."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isinf, log, sqrt
from typing import Any, Literal, NamedTuple, TypedDict

from gordon import _core
from gordon.reports.survey import (
    BillInputs,
    BillReport,
    DoubtsReport,
    Operation,
    RankingReport,
    SobolIndex,
)
from gordon.untyped import Config

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
TIME, WEAR = "time_s", "wear"
TITLES = {doubt.key: doubt.title for doubt in DOUBTS} | {
    TIME: "time of the run",
    WEAR: "writes of flash",
}
_WHY_WEAR = (
    "from new drives, and of tasks without the files that a run deletes, to full drives and random "
    "writes, by the theory of garbage collection"
)
#: Inputs that a service does not have: it has no runs.
_OF_RUNS = ("hours_per_year", "runs_per_day")
#: The least and the greatest value of an input.
LIMITS = {
    "pue": (1.0, 10.0),
    "years": (0.001, 100.0),
    "hours_per_year": (0.001, 8766.0),
    "runs_per_day": (1e-6, 86_400_000.0),
    "price_per_kwh": (0.0, 1e4),
    "grams_per_kwh": (0.0, 2000.0),
}
#: Draws of the inputs of one design, and of several. The standard errors of indices are about 0.02.
DRAWS = 4096
RANKING_DRAWS = 1000
_SEED = 1
#: Designs that are compared: those of the least figures.
MOST_COMPARED = 16


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
    #: Sobol indices: shares of the variance, the largest total one first. Empty if the nodes may
    #: not keep up.
    indices: list[SobolIndex]
    #: Bills from which the indices are estimated.
    bills: int
    #: Share of them in which the nodes keep up.
    kept_up: float
    #: Inputs without a known range.
    without_range: list[str]


class Winner(TypedDict):
    """A design and the share of the draws in which it is the best one."""

    id: str
    share: float


class Change(TypedDict):
    """An input and the share of the draws in which it alone makes another design the best one."""

    input: str
    title: str
    share: float


class Ranking(TypedDict):
    """How sure the best design is."""

    figure: Figure
    #: The best design by the inputs as they are.
    best: str
    draws: int
    #: Designs that are compared.
    compared: int
    #: Designs that are the best one in a draw, the most frequent first.
    winners: list[Winner]
    #: Inputs that change the best design alone, the most frequent first.
    by: list[Change]
    #: Bills from which the shares are counted.
    bills: int


class Ranked(NamedTuple):
    """A design that is ranked."""

    id: str
    machine: str
    #: The part of its storage; None without one of the catalogue.
    drives: str | None
    bill: BillReport
    #: The ends of the range of its time; None of a service.
    times: tuple[float, float] | None


@dataclass(frozen=True)
class Range:
    """An input with the ends of its range."""

    key: str
    why: str
    value: float
    low: float
    high: float

    @property
    def config(self) -> Config:
        """The range, as the core takes it: factors of the value."""
        factors = {"low": min(1.0, self.low / self.value), "high": max(1.0, self.high / self.value)}
        return {"key": self.key, **factors}


def bills(cases: Sequence[tuple[BillInputs, Operation]]) -> list[BillReport]:
    """The bills of runs. Raises GordonError for an invalid operation."""
    given = [{"inputs": inputs, "operation": operation} for inputs, operation in cases]
    found: list[BillReport] = json.loads(_core.bills(json.dumps(given)))
    return found


def ranges(
    inputs: BillInputs, operation: Operation, times: tuple[float, float] | None
) -> list[Range]:
    """The inputs that are uncertain. `times` are the ends of the range of the time; None for a
    service, which has neither a time nor runs."""
    found = []
    if times is not None:
        found.append(Range(TIME, "the 80 % range of the model", inputs["time_s"], *times))
    wear, low, high = inputs["wear"], inputs["wear_low"], inputs["wear_high"]
    if wear and low is not None and high is not None:
        found.append(Range(WEAR, _WHY_WEAR, wear, low, high))
    values: Config = {**operation, **inputs}
    for doubt in DOUBTS:
        value = values.get(doubt.key)
        is_unused = (times is None and doubt.key in _OF_RUNS) or (
            doubt.key == "hours_per_year" and operation.get("runs_per_day")
        )
        if not value or is_unused:
            continue
        least, most = LIMITS.get(doubt.key, (0.0, inf))
        ends = (max(least, value * doubt.low), min(most, value * doubt.high))
        found.append(Range(doubt.key, doubt.why, value, *ends))
    return found


def sensitivity(
    bill: BillReport, times: tuple[float, float] | None, operation: Operation, figure: Figure
) -> Sensitivity | None:
    """How far a figure of a bill is known; None if it is unknown. `times` are the ends of the range
    of the time, None for a service. The range joins those of the inputs, which are independent: the
    sum of the squares of their logarithms."""
    value = bill[figure]
    if value is None or value <= 0:
        return None
    inputs = bill["inputs"]
    listed = ranges(inputs, operation, times)
    found = drawn(inputs, operation, figure, listed)
    by: list[End] = [
        {
            "input": one.key,
            "title": TITLES[one.key],
            "why": one.why,
            "low": one.low,
            "high": one.high,
            "at_low": ends["at_low"],
            "at_high": ends["at_high"],
        }
        for one, ends in zip(listed, found["ends"], strict=True)
    ]
    moving = [end for end in by if _moves(end, value)]
    moving.sort(key=lambda end: -_moves(end, value))
    down, up = (
        sqrt(sum(log(_end(end, value, side) / value) ** 2 for end in moving)) for side in (min, max)
    )
    shown = {end["input"] for end in moving}
    return {
        "figure": figure,
        "value": value,
        "low": value * exp(-down),
        "high": None if isinf(up) else value * exp(up),
        "by": moving,
        "indices": sorted(
            (one for one in found["indices"] if one["input"] in shown),
            key=lambda one: -one["total"],
        ),
        "bills": found["bills"],
        "kept_up": found["kept_up"],
        "without_range": _without_range(inputs),
    }


def drawn(
    inputs: BillInputs, operation: Operation, figure: Figure, listed: Sequence[Range]
) -> DoubtsReport:
    """The inputs that move a figure, by draws of the inputs in their ranges. Raises GordonError
    for an invalid operation."""
    case = {"inputs": inputs, "ranges": [one.config for one in listed]}
    found: DoubtsReport = json.loads(_core.bill_doubts(_draws([case], operation, figure, DRAWS)))
    return found


def _without_range(inputs: BillInputs) -> list[str]:
    if inputs["wear"] and inputs["wear_high"] is None:
        return [f"{TITLES[WEAR]}: there is no theory of how these drives collect garbage"]
    return []


def _draws(designs: list[Config], operation: Operation, figure: Figure, draws: int) -> str:
    return json.dumps(
        {
            "designs": designs,
            "operation": operation,
            "figure": figure,
            "draws": draws,
            "seed": _SEED,
        }
    )


def ranking(
    rows: Sequence[Ranked],
    operation: Operation,
    figure: Figure,
) -> Ranking | None:
    """How sure the design of the least figure is; None if the figure of fewer than two is known.
    Tariff, PUE, carbon of a kWh, years and runs are those of all designs. Designs of a machine have
    the same error of its price, power, carbon and time, those with a storage part the same error of
    its price, life, carbon and writes; other errors are independent."""
    known = [row for row in rows if row.bill[figure] is not None]
    known.sort(key=lambda row: (row.bill[figure] or 0.0, row.id))
    known = known[:MOST_COMPARED]
    if len(known) < 2:
        return None
    machines = list(dict.fromkeys(row.machine for row in known))
    drives = list(dict.fromkeys(row.drives for row in known))
    cases = [
        {
            "inputs": row.bill["inputs"],
            "ranges": [one.config for one in ranges(row.bill["inputs"], operation, row.times)],
            "machine": machines.index(row.machine),
            "drives": drives.index(row.drives),
        }
        for row in known
    ]
    found: RankingReport = json.loads(
        _core.bill_ranking(_draws(cases, operation, figure, RANKING_DRAWS))
    )
    best = found["best"]
    assert best is not None
    winners: list[Winner] = [
        {"id": row.id, "share": share}
        for row, share in zip(known, found["shares"], strict=True)
        if share > 0
    ]
    changes: list[Change] = [
        {"input": one["input"], "title": TITLES[one["input"]], "share": one["share"]}
        for one in found["changes"]
        if one["share"] > 0
    ]
    return {
        "figure": figure,
        "best": known[best].id,
        "draws": RANKING_DRAWS,
        "compared": len(known),
        "winners": sorted(winners, key=lambda one: -one["share"]),
        "by": sorted(changes, key=lambda one: -one["share"]),
        "bills": found["bills"],
    }


def described(found: Ranking) -> str:
    """How sure the best design is, in a sentence."""
    what = {"total": "total cost", "carbon_kg": "carbon"}[found["figure"]]
    share = next((one["share"] for one in found["winners"] if one["id"] == found["best"]), 0.0)
    text = (
        f"{found['best']} has the least {what} of the {found['compared']:,} designs that the "
        f"verdict chooses from, in {share:.0%} of {found['draws']:,} draws of all inputs"
    )
    others = [one for one in found["winners"] if one["id"] != found["best"]]
    if others:
        text += f", {others[0]['id']} in {others[0]['share']:.0%}"
    if found["by"]:
        first = found["by"][0]
        return f"{text}; {first['title']} alone changes the order in {first['share']:.0%}."
    return f"{text}; no input changes the order alone."


def _end(end: End, value: float, side: Any) -> float:
    """The least or the greatest of a figure over the range of an input: without end if the nodes do
    not keep up at one of its ends."""
    ends = [inf if one is None else one for one in (end["at_low"], end["at_high"])]
    found: float = side([value, *ends])
    return found


def _moves(end: End, value: float) -> float:
    """The effect of an input on a figure: the logarithm of its greatest over its least value."""
    return log(_end(end, value, max) / _end(end, value, min))
