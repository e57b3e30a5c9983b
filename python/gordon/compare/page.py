"""The page of a comparison: one HTML file that works offline. The same result gives the same
bytes."""

from collections.abc import Sequence
from pathlib import PurePath

from gordon.compare.compared import Compared, ComparedDevice
from gordon.compare.entries import COLUMNS
from gordon.report import page
from gordon.report.entries import known
from gordon.report.run_figures import TONES, axis, latency, layout
from gordon.results import DeviceRun, Run
from gordon.untyped import Spec


def render(report: Compared, runs: Sequence[Run[DeviceRun]]) -> str:
    """The report's HTML."""
    drawn = {"time": _times(report["devices"])}
    if any(run.columns("latency")["op"] for run in runs):
        drawn["latency"] = latency(runs, "us", 1.0)
    devices = report["devices"]
    return page.render(
        "compare",
        {"figures": drawn, **report},
        script="runs",
        package="gordon.compare",
        first=report,
        trace=PurePath(report["provenance"]["trace"]).name,
        titles={name: spec["layout"]["title"]["text"] for name, spec in drawn.items()},
        settings={"trace": report["provenance"]["trace"], "seed": report["provenance"]["seed"]},
        warnings=[("", text) for text in report["warnings"]],
        sentence=report["sentence"],
        columns=known(COLUMNS, devices),
        devices=devices,
    )


def _times(devices: Sequence[ComparedDevice]) -> Spec:
    """A bar for each device; that of measured storage spans its bounds."""
    data = []
    for title, are_measured, tone in (
        ("simulated", False, TONES[0]),
        ("between the bounds of measured requests", True, TONES[1]),
    ):
        own = [one for one in devices if (one["kind"] == "measured") == are_measured]
        starts = [one["time_s_low"] or 0.0 for one in own]
        ends = [one["time_s_high"] if are_measured else one["time_s"] for one in own]
        if own:
            data.append(
                {
                    "type": "bar",
                    "orientation": "h",
                    "name": title,
                    "y": [one["id"] for one in own],
                    "base": starts,
                    "x": [(end or 0.0) - start for start, end in zip(starts, ends, strict=True)],
                    "marker": {"color": tone},
                }
            )
    ids = [one["id"] for one in devices]
    y = axis("", type="category", autorange="reversed", showgrid=False)
    y |= {"categoryorder": "array", "categoryarray": ids}
    made = layout("Time of the trace", axis("s", rangemode="tozero"), y)
    return {"data": data, "layout": made | {"showlegend": True, "height": 150 + 44 * len(ids)}}
