"""From how many hours of work a month on nodes that are bought cost less than rented ones.

Nodes that are bought cost their purchase and their power when idle, whatever they do, and each run
costs electricity. With a cost `F` of a year that runs do not change, a cost `m` of a run on these
nodes, and its rent `r` on others, both cost the same at `F / (r - m)` runs a year. The costs are
those of the bills (docs/design/cluster.md, "Total cost", "Buying and renting").
"""

from typing import TypedDict

from gordon.reports.survey import BillInputs, Operation

_HOUR_S = 3600.0
#: As in the bills of the core.
_YEAR_S = 365.25 * 24 * _HOUR_S
_KWH_J = 3.6e6
_MONTHS = 12


class BreakEven(TypedDict):
    """Where owned and rented nodes cost the same. What is of a month is None if owned nodes never
    cost less: a run saves nothing on them, or a month is too short."""

    runs_per_month: float | None
    #: Hours of a month in which the owned nodes work.
    hours_per_month: float | None
    #: Hours of a month for which the rented nodes are billed.
    rented_hours_per_month: float | None
    cost_per_month: float | None
    #: What runs of a year do not change, of the owned nodes.
    fixed_per_year: float
    #: What each run adds on the owned nodes.
    per_run_owned: float
    #: The rent of a run.
    per_run_rented: float


def break_even(owned: BillInputs, rented: BillInputs, operation: Operation) -> BreakEven | None:
    """Where owned nodes cost as much as rented ones for the same runs; None if that is unknown."""
    price, drives = owned["purchase_price"], owned["drives_price"]
    joules, idle_w, hourly = owned["energy_j"], owned["idle_w"], rented["rent_per_hour"]
    if price is None or drives is None or joules is None or idle_w is None or hourly is None:
        return None
    nodes, years = owned["nodes"], operation["years"]
    per_joule = operation["pue"] * operation["price_per_kwh"] / _KWH_J
    idle = nodes * idle_w
    rented_hours = max(rented["time_s"], rented["billed_s"]) / _HOUR_S
    rent = hourly * rented_hours
    always = nodes * price / years + idle * _YEAR_S * per_joule
    of_run = (joules - idle * owned["time_s"]) * per_joule
    old = nodes * drives / min(years, owned["drives_life_years"] or years)
    worn = nodes * drives * (owned["wear"] or 0.0)
    fixed, runs = always + old, _runs(always + old, rent - of_run)
    if runs is not None and worn * runs > old:
        # At so many runs the drives are worn before they are old.
        fixed, of_run = always, of_run + worn
        runs = _runs(fixed, rent - of_run)
    if runs is not None and runs * owned["time_s"] > _YEAR_S:
        runs = None
    found: BreakEven = {
        "runs_per_month": None,
        "hours_per_month": None,
        "rented_hours_per_month": None,
        "cost_per_month": None,
        "fixed_per_year": fixed,
        "per_run_owned": of_run,
        "per_run_rented": rent,
    }
    if runs is not None:
        of_month = runs / _MONTHS
        found["runs_per_month"] = of_month
        found["hours_per_month"] = of_month * owned["time_s"] / _HOUR_S
        found["rented_hours_per_month"] = of_month * rented_hours
        found["cost_per_month"] = of_month * rent
    return found


def _runs(fixed: float, saved: float) -> float | None:
    """Runs that save a fixed cost; None if a run saves nothing."""
    return fixed / saved if saved > 0 else None
