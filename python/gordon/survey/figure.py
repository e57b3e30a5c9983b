"""The figure of a survey: time against price or energy of each design."""

from collections.abc import Mapping
from typing import Any

from gordon.report.run_figures import axis, layout
from gordon.survey.results import Result
from gordon.untyped import Spec

#: Where a design has its time and its energy, by model; the first that it has.
OUTCOMES = ("job", "tasks", "sync", "nosync")


def drawn(result: Result) -> dict[str, Spec]:
    """A point for each design with a time. A service has none."""
    points = [(design, found) for design in result["designs"] if (found := _outcome(design))]
    if not points:
        return {}
    has_price = all(found.get("price") is not None for _, found in points)
    key, title = ("price", "price") if has_price else ("energy_j", "energy [J]")

    def marks(name: str, chosen: bool, tone: str) -> Spec:
        shown = [
            (design["id"], found["time_s"], found[key])
            for design, found in points
            if design["pareto"] == chosen and found.get(key) is not None
        ]
        return {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "text": [id for id, _, _ in shown],
            "x": [time for _, time, _ in shown],
            "y": [value for _, _, value in shown],
            "hovertemplate": "%{text}: %{x:.4g} s, %{y:.4g}",
            "marker": {"color": tone},
        }

    x, y = axis("time [s]", type="log"), axis(title, type="log")
    made = layout(f"Time and {key.partition('_')[0]} of each design", x, y)
    data = [marks("on the front", True, "--cpu"), marks("others", False, "--soft")]
    return {"designs": {"data": data, "layout": made | {"showlegend": True}}}


def _outcome(design: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The outcome of a design that has a time."""
    for name in OUTCOMES:
        found = design.get(name)
        if isinstance(found, Mapping) and found.get("time_s") is not None:
            return found
    return None
