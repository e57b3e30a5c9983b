"""The report of `gordon reproduce rewrite`: times, pages programmed by cause, causes."""

from gordon.human import binary
from gordon.report.page import render
from gordon.report.run_figures import TONES, axis
from gordon.reproduce.rewriting_report import MeanTrial, Rewritten
from gordon.untyped import Spec

#: Of pages programmed, by what the layer calls their cause.
CAUSES = {
    "host": "written by the host",
    "gc": "copied by garbage collection",
    "wear": "copied by wear levelling",
    "summary": "summaries",
    "trims": "trim journal",
    "padding": "padding",
}


def page(report: Rewritten) -> str:
    """The report as one self-contained HTML file."""
    rows = report["rows"]
    data = {"result": report, "figures": {"times": times(rows), "pages": pages(report)}}
    return render(
        "rewriting",
        data,
        filters={"binary": binary},
        script="runs",
        package="gordon.reproduce",
        report=report,
        causes=CAUSES,
    )


def times(rows: list[MeanTrial]) -> Spec:
    """Seconds of the output phase by transfer size, a colour for each way."""
    bars = []
    for number, way in enumerate(dict.fromkeys(row["way"] for row in rows)):
        mine = [row for row in rows if row["way"] == way]
        bars.append(
            {
                "type": "bar",
                "name": way,
                "x": [binary(row["transfer"]) for row in mine],
                "y": [round(row["output_s"], 4) for row in mine],
                "error_y": {
                    "type": "data",
                    "array": [row["output_s_deviation"] or 0.0 for row in mine],
                },
                "marker": {"color": TONES[number]},
            }
        )
    layout = {"barmode": "group", "xaxis": axis("transfer"), "yaxis": axis("output phase, s")}
    return {"data": bars, "layout": layout}


def pages(report: Rewritten) -> Spec:
    """Bytes programmed in the output phase by cause, a bar for each way and size."""
    rows, unit = report["rows"], report["export"]["unit_bytes"]
    names = [f"{binary(row['transfer'])}, {row['way']}" for row in rows]
    bars = [
        {
            "type": "bar",
            "orientation": "h",
            "name": title,
            "y": names,
            "x": [round(row["pages"][cause] * unit / 1e6, 2) for row in rows],
            "marker": {"color": TONES[number]},
        }
        for number, (cause, title) in enumerate(CAUSES.items())
    ]
    layout = {
        "barmode": "stack",
        "xaxis": axis("MB programmed"),
        "yaxis": {"autorange": "reversed"},
    }
    return {"data": bars, "layout": layout}
