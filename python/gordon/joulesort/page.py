"""The report of a JouleSort result: the score, power over time with the runs, checks."""

from typing import Any

from gordon.human import duration
from gordon.report.page import render
from gordon.report.run_figures import TONES, axis

#: More points than this are thinned: a plot has fewer columns.
POINTS = 4000


def page(report: dict[str, Any], rows: list[dict[str, Any]]) -> str:
    """The report as one self-contained HTML file."""
    spans = [(run["begin_s"], run["end_s"]) for run in report["runs"]]
    figures = {"power": power(rows, spans)}
    data = {"result": report, "figures": figures}
    filters = {"duration": duration}
    return render("joulesort", data, filters=filters, script="runs", report=report)


def power(rows: list[dict[str, Any]], runs: list[tuple[float, float]]) -> dict[str, Any]:
    """Watts over time, a line for each meter; runs, by their beginning and end, are shaded."""
    lines = []
    for number, name in enumerate(dict.fromkeys(row["meter"] for row in rows)):
        mine = [row for row in rows if row["meter"] == name and row["watts"] is not None]
        mine = mine[:: max(1, len(mine) // POINTS)]
        how = mine[0]["how"] if mine else ""
        lines.append(
            {
                "type": "scatter",
                "mode": "lines",
                "name": f"{name}, {how}",
                "x": [round(row["time_s"], 3) for row in mine],
                "y": [round(row["watts"], 4) for row in mine],
                "line": {"color": TONES[number % len(TONES)]},
                "hovertemplate": "%{x:.1f} s: %{y:.1f} W",
            }
        )
    shapes = [
        {
            "type": "rect",
            "xref": "x",
            "yref": "paper",
            "x0": begin,
            "x1": end,
            "y0": 0,
            "y1": 1,
            "fillcolor": "--accent",
            "opacity": 0.12,
            "line": {"width": 0},
            "layer": "below",
        }
        for begin, end in runs
    ]
    return {
        "data": lines,
        "layout": {"xaxis": axis("seconds"), "yaxis": axis("watts"), "shapes": shapes},
    }
