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
#: Hours of a month, for which a node can be rented without a pause.
_HOURS_OF_MONTH = _YEAR_S / _HOUR_S / _MONTHS


class BreakEven(TypedDict):
    """Where owned and rented nodes cost the same. What is of a month is None if owned nodes never
    cost less: a run saves nothing on them, or a month is too short."""

    runs_per_month: float | None
    #: Hours of a month in which the owned nodes work.
    hours_per_month: float | None
    #: Hours of a month for which the rented nodes are billed.
    rented_hours_per_month: float | None
    cost_per_month: float | None
    #: Cost of the owned nodes that the runs of a year do not change.
    fixed_per_year: float
    #: Cost that each run adds on the owned nodes.
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
    always = nodes * price / years + idle * _YEAR_S * per_joule
    of_run = (joules - idle * owned["time_s"]) * per_joule
    old = nodes * drives / min(years, owned["drives_life_years"] or years)
    worn = nodes * drives * (owned["wear"] or 0.0)

    def where_equal(rent: float) -> tuple[float | None, float, float]:
        """Runs of a year, the cost of the year, and that of a run."""
        runs = _runs(always + old, rent - of_run)
        if runs is None or worn * runs <= old:
            return runs, always + old, of_run
        # At this number of runs the drives are worn before they are old.
        return _runs(always, rent - of_run - worn), always, of_run + worn

    hours = max(rented["time_s"], rented["billed_s"]) / _HOUR_S
    runs, fixed, more = where_equal(hourly * hours)
    if runs is not None and runs * hours > _MONTHS * _HOURS_OF_MONTH:
        # Nodes that are kept for the month are not billed for the minimum at each run.
        hours = rented["time_s"] / _HOUR_S
        runs, fixed, more = where_equal(hourly * hours)
    if runs is not None and runs * owned["time_s"] > _YEAR_S:
        runs = None
    rent = hourly * hours
    found: BreakEven = {
        "runs_per_month": None,
        "hours_per_month": None,
        "rented_hours_per_month": None,
        "cost_per_month": None,
        "fixed_per_year": fixed,
        "per_run_owned": more,
        "per_run_rented": rent,
    }
    if runs is not None:
        of_month = runs / _MONTHS
        found["runs_per_month"] = of_month
        found["hours_per_month"] = of_month * owned["time_s"] / _HOUR_S
        found["rented_hours_per_month"] = of_month * hours
        found["cost_per_month"] = of_month * rent
    return found


def _runs(fixed: float, saved: float) -> float | None:
    """Runs that save a fixed cost; None if a run saves nothing."""
    return fixed / saved if saved > 0 else None
