"""The screen of `gordon cost tco`."""

from gordon.cli import warn
from gordon.cli.terminal import Column, Output
from gordon.cost.tco import Rented, Tco
from gordon.human import counted, duration, figures, short
from gordon.survey.doubts import Sensitivity

#: Rows of what moves a figure most.
_MOST = 5


def show_tco(console: Output, result: Tco) -> None:
    """The parts of the cost, by run and year, what is unknown, and what moves the total."""
    bill, currency = result["run"], result["currency"]
    console.text(
        f"{result['design']} of {result['space']}, {counted(result['nodes'], 'node')}: a run takes "
        f"{duration(result['time_s'])} ({duration(result['time_s_low'])} to "
        f"{duration(result['time_s_high'])}) by the {result['model']} model"
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
            Column(f"{currency} / run", [figures(value) for _, value in shown], right=True),
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
    if bill["flash_life_years"] is not None:
        console.text(f"flash lasts {figures(bill['flash_life_years'])} years at these runs")
    if bill["carbon_kg"] is not None:
        parts = (bill["carbon_kg"], bill["carbon_use_kg"] or 0, bill["carbon_made_kg"] or 0)
        whole, use, made = (short(1000 * part, "g") for part in parts)
        console.text(
            f"carbon: {whole} a run{_ends(result['carbon'])}, {use} of electricity and {made} of "
            "making the machines"
        )
    if result["rented"] is not None:
        _show_rented(console, result, result["rented"])
    for reason in result["unknown"]:
        console.text(f"unknown: {reason}")
    if result["cost"] is not None:
        _show_doubts(console, result["cost"], currency)
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
    if runs is None:
        return f"rented for the time of a run; {tariff}"
    return (
        f"kept for {figures(operation['years'])} years, {figures(runs / 365.25)} runs a day, busy "
        f"{result['run']['busy'] or 0:.1%} of the time; {tariff}"
    )


def _show_doubts(console: Output, found: Sensitivity, currency: str) -> None:
    most = found["high"]
    high = "no end, because the nodes may not keep up" if most is None else figures(most)
    console.text(
        f"total of a run: {figures(found['value'])} {currency}, 80% range {figures(found['low'])} "
        f"to {high}; what moves it most:"
    )
    rows = found["by"][:_MOST]

    def ends(low: float | None, high: float | None) -> str:
        return " to ".join("not kept up" if end is None else figures(end) for end in (low, high))

    console.table(
        [
            Column("input", [row["title"] for row in rows]),
            Column("from - to", [ends(row["low"], row["high"]) for row in rows], right=True),
            Column("total", [ends(row["at_low"], row["at_high"]) for row in rows], right=True),
            Column("", [row["why"] for row in rows], wraps=True),
        ]
    )
