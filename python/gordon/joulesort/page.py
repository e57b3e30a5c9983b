"""The report of a JouleSort result: the score, power over time with the runs, checks."""

from gordon.energy.session import Row
from gordon.human import duration
from gordon.joulesort.report import Report
from gordon.report.page import render
from gordon.report.run_figures import TONES, axis, stripe
from gordon.untyped import Spec

#: More points than this are thinned: a plot has fewer columns.
POINTS = 4000


def page(report: Report, rows: list[Row]) -> str:
    """The report as one self-contained HTML file."""
    spans = [(run["begin_s"], run["end_s"]) for run in report["runs"]]
    figures = {"power": power(rows, spans)}
    data = {"result": report, "figures": figures}
    filters = {"duration": duration}
    return render("joulesort", data, filters=filters, script="runs", report=report)


def power(rows: list[Row], runs: list[tuple[float, float]]) -> Spec:
    """Watts over time, a line for each meter; runs, by their beginning and end, are shaded."""
    lines = []
    for number, name in enumerate(dict.fromkeys(row["meter"] for row in rows)):
        of_meter = [row for row in rows if row["meter"] == name]
        known = [(row["time_s"], watts) for row in of_meter if (watts := row["watts"]) is not None]
        mine = known[:: max(1, len(known) // POINTS)]
        how = of_meter[0]["how"]
        lines.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{name}, {how}",
                "x": [round(time_s, 3) for time_s, _ in mine],
                "y": [round(watts, 4) for _, watts in mine],
                "line": {"color": TONES[number % len(TONES)]},
                "hovertemplate": "%{x:.1f} s: %{y:.1f} W",
            }
        )
    shapes = [stripe(begin, end, "--accent", opacity=0.12, layer="below") for begin, end in runs]
    return {
        "data": lines,
        "layout": {"xaxis": axis("seconds"), "yaxis": axis("watts"), "shapes": shapes},
    }
