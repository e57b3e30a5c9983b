"""The screen of `gordon cost tco`."""

from typing import Literal

from gordon.cli import warn
from gordon.cli.terminal import Column, Output
from gordon.cost.tco import Rented, Tco
from gordon.human import counted, duration, figures, short
from gordon.reports.survey import BillReport
from gordon.survey.doubts import End, Sensitivity

#: Rows of what moves a figure most.
_MOST = 5


def show_tco(console: Output, result: Tco) -> None:
    """The parts of the cost, by run and year, what is unknown, and what moves the total."""
    bill, currency, noun = result["run"], result["currency"], _noun(result)
    console.text(
        f"{result['design']} of {result['space']}, {counted(result['nodes'], 'node')}: "
        + _outcome(result)
    )
    console.text(_use(result))
    runs = bill["runs_per_year"]
    rows = [
        ("rent", bill["rent"]),
        ("purchase", bill["purchase"]),
        ("drives", bill["drives"]),
        ("electricity", bill["electricity"]),
        ("total", bill["total"]),
    ]
    shown = [(name, value) for name, value in rows if value is not None]
    total = bill["total"]
    if shown:
        columns = [
            Column("", [name for name, _ in shown]),
            Column(f"{currency} / {noun}", [figures(value) for _, value in shown], right=True),
        ]
        if runs is not None:
            cells = [figures(value * runs) for _, value in shown]
            columns.append(Column(f"{currency} / year", cells, right=True))
        if total:
            cells = [f"{value / total:.0%}" for _, value in shown]
            columns.append(Column("share", cells, right=True))
        console.table(columns)
    if result["per_gb"] is not None:
        console.text(f"{figures(result['per_gb'])} {currency} a GB that is read or written")
    if result["per_million_requests"] is not None:
        console.text(f"{figures(result['per_million_requests'])} {currency} a million requests")
    if bill["flash_life_years"] is not None:
        console.text(f"flash lasts {figures(bill['flash_life_years'])} years{_of_wear(bill)}")
    if bill["carbon_kg"] is not None:
        parts = (bill["carbon_kg"], bill["carbon_use_kg"] or 0, bill["carbon_made_kg"] or 0)
        whole, use, made = (short(1000 * part, "g") for part in parts)
        console.text(
            f"carbon: {whole} a {noun}{_ends(result['carbon'])}, {use} of electricity and {made} "
            "of making the machines"
        )
    if result["rented"] is not None:
        _show_rented(console, result, result["rented"])
    for reason in result["unknown"]:
        console.text(f"unknown: {reason}")
    if result["cost"] is not None:
        _show_doubts(console, result["cost"], currency, noun)
    warn(result["warnings"], [])


def _show_rented(console: Output, result: Tco, rented: Rented) -> None:
    """Both ways to run the job, and from how many hours a month on which costs less."""
    found, currency = rented["break_even"], result["currency"]
    hours = (found["hours_per_month"], found["rented_hours_per_month"])
    rows = (
        ("bought", result["design"], result["time_s"]),
        ("rented", rented["design"], rented["time_s"]),
    )
    shown = [
        Column("", [how for how, _, _ in rows]),
        Column("design", [design for _, design, _ in rows]),
        Column("a run", [duration(time) for _, _, time in rows], right=True),
        Column(f"{currency} / year", [figures(found["fixed_per_year"]), "0"], right=True),
        Column(
            f"+ {currency} / run",
            [figures(found["per_run_owned"]), figures(found["per_run_rented"])],
            right=True,
        ),
    ]
    if found["hours_per_month"] is None:
        console.table(shown)
        console.text(f"renting {rented['design']} costs less, however much the nodes work")
        return
    known = [0.0 if one is None else one for one in hours]
    shown.append(Column("hours / month", [figures(one) for one in known], right=True))
    console.table(shown)
    console.text(
        f"buying costs less than renting {rented['design']} if the nodes work more than "
        f"{figures(known[0])} hours a month, in {figures(found['runs_per_month'] or 0)} runs for "
        f"{figures(found['cost_per_month'] or 0)} {currency}"
    )


def _noun(result: Tco) -> str:
    return "month" if result["model"] == "service" else "run"


def _outcome(result: Tco) -> str:
    """The time of a run, or whether the nodes of a service keep up."""
    low, high = result["time_s_low"], result["time_s_high"]
    if low is None or high is None:
        keeps = {True: "keeps up", False: "does not keep up", None: "may keep up"}
        return (
            f"{keeps[result['keeps_up']]} with the load; a month of "
            f"{figures(result['time_s'] / 3600)} hours"
        )
    return (
        f"a run takes {duration(result['time_s'])} ({duration(low)} to {duration(high)}) by the "
        f"{result['model']} model"
    )


def _of_wear(bill: BillReport) -> str:
    """The range of a life by that of the writes."""
    of, runs = bill["inputs"], bill["runs_per_year"]
    low, high = of["wear_low"], of["wear_high"]
    if not runs or not low or not high or low == high:
        return ""
    return f" ({figures(1 / (high * runs))} to {figures(1 / (low * runs))}, by the writes of flash)"


def _ends(found: Sensitivity | None) -> str:
    """The range of a carbon in words."""
    if found is None or found["high"] is None:
        return ""
    return f" ({short(1000 * found['low'], 'g')} to {short(1000 * found['high'], 'g')})"


def _use(result: Tco) -> str:
    operation, runs = result["operation"], result["run"]["runs_per_year"]
    tariff = (
        f"{figures(operation['price_per_kwh'])} {result['currency']} a kWh, PUE "
        f"{figures(operation['pue'])}, {figures(operation['grams_per_kwh'])} g of CO2 a kWh"
    )
    if result["run"]["inputs"]["purchase_price"] is None:
        often = "" if runs is None else f", {figures(runs / 365.25)} runs a day"
        often = "" if result["model"] == "service" else often
        return f"rented for the time of a {_noun(result)}{often}; {tariff}"
    assert runs is not None
    if result["model"] == "service":
        return f"kept for {figures(operation['years'])} years, on all the time; {tariff}"
    return (
        f"kept for {figures(operation['years'])} years, {figures(runs / 365.25)} runs a day, busy "
        f"{result['run']['busy'] or 0:.1%} of the time; {tariff}"
    )


def _show_doubts(console: Output, found: Sensitivity, currency: str, noun: str) -> None:
    most = found["high"]
    high = "no end, because the nodes may not keep up" if most is None else figures(most)
    rows = found["by"][:_MOST]
    end = "; what moves it most:" if rows else ", because no input with a range moves it"
    console.text(
        f"total of a {noun}: {figures(found['value'])} {currency}, 80% range "
        f"{figures(found['low'])} to {high}{end}"
    )
    indices = {one["input"]: one for one in found["indices"]}

    def share(key: str, order: Literal["first", "total"]) -> str:
        return f"{max(0.0, indices[key][order]):.0%}" if key in indices else "-"

    def ends(low: float | None, high: float | None, unit: str = "") -> str:
        written = (
            "not kept up" if end is None else short(end, unit) if unit else figures(end)
            for end in (low, high)
        )
        return " to ".join(written)

    def inputs(row: End) -> str:
        return ends(row["low"], row["high"], "J" if row["input"] == "energy_j" else "")

    if rows:
        console.table(
            [
                Column("input", [row["title"] for row in rows]),
                Column("from - to", [inputs(row) for row in rows], right=True),
                Column("total", [ends(row["at_low"], row["at_high"]) for row in rows], right=True),
                Column("variance", [share(row["input"], "first") for row in rows], right=True),
                Column("with others", [share(row["input"], "total") for row in rows], right=True),
                Column("", [row["why"] for row in rows], wraps=True),
            ]
        )
    if found["indices"]:
        console.text(
            "variance: the share that would vanish if the input were known; with others: the share "
            "that would remain if all others were (Sobol indices of first order and total, "
            f"{found['bills']:,} bills)"
        )
    elif rows and found["kept_up"] < 1:
        console.text(
            f"the nodes keep up in {found['kept_up']:.1%} of {found['bills']:,} draws of all "
            "inputs, so that the total has no variance"
        )
    for one in found["without_range"]:
        console.text(f"no range is known of {one}")
