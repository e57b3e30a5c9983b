"""Figures of runs on any device in plotly's format, `{data, layout}`, with one trace per device.

Colours are names of the page's palette (`--cpu`), so that a page follows light and dark mode;
`light` replaces them with the colours of light mode.
"""

import math
import re
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import accumulate
from typing import Any

from gordon.human import binary
from gordon.report.kinds import DeviceRun, Run
from gordon.untyped import Spec

# Of operations in one run, of devices in a comparison.
TONES = ("--cpu", "--storage", "--network", "--flash-controller", "--mixed", "--flash-memory")
#: Points of a line over time; a run of more intervals has a band around its line.
POINTS = 60
DASHES = {"read": "solid", "write": "dot", "trim": "dash", "flush": "dashdot"}


def figures(runs: Sequence[Run[DeviceRun]]) -> dict[str, Spec]:
    """All figures by name, each with a title in its layout; those of any device first."""
    kind = runs[0].kind()
    both = {"read": "read_mb_s", "write": "write_mb_s"}
    shared = {
        "bandwidth": over_time(runs, "Bandwidth over time", "MB/s", both),
        "iops": over_time(
            runs,
            "IOPS over time",
            "IOPS",
            {"read": "read_iops", "write": "write_iops"},
        ),
        "queue_depth": over_time(
            runs, "Outstanding requests over time", "requests", {"outstanding": "outstanding"}
        ),
        "latency": latency(runs, kind.unit, kind.in_us),
    }
    return shared | kind.figures(runs)


def light(spec: Spec) -> Spec:
    """The figure with the light palette's colours."""
    css = (files("gordon.report") / "report.css").read_text(encoding="utf-8")
    palette = dict(re.findall(r"(--[a-z-]+): (#[0-9a-f]+)", css.partition("@media")[0]))

    def painted(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: painted(inner) for key, inner in value.items()}
        if isinstance(value, list):
            return [painted(inner) for inner in value]
        return palette.get(value, value) if isinstance(value, str) else value

    made: Spec = painted(spec)
    return made


def layout(title: str, x: Spec, y: Spec) -> Spec:
    return {"title": {"text": title}, "xaxis": x, "yaxis": {"rangemode": "tozero"} | y}


def axis(title: str, **more: Any) -> Spec:
    return {"title": {"text": title}} | more


def over_sizes(
    name: str,
    sizes: Sequence[int],
    values: Sequence[float | None],
    tone: str,
    unit: str,
    **more: Any,
) -> Spec:
    """A line of values over sizes in bytes, which have their names where they are pointed at."""
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": name,
        "x": [*sizes],
        "y": [*values],
        "text": [binary(size) for size in sizes],
        "hovertemplate": f"%{{text}}: {unit}",
        "line": {"color": tone},
        "marker": {"color": tone},
    } | more


def size_axis(title: str, sizes: Iterable[int], most: int = 8) -> Spec:
    """A logarithmic axis of sizes in bytes; so few are named that they do not overlap."""
    listed = sorted(set(sizes))
    named = listed[:: 1 + (len(listed) - 1) // most]
    return axis(title, type="log", tickvals=named, ticktext=[binary(size) for size in named])


def stripe(begin: float, end: float, fill: str, **more: Any) -> Spec:
    """A filled part of the horizontal axis, over the height of the chart."""
    return {
        "type": "rect",
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "x0": begin,
        "x1": end,
        "fillcolor": fill,
        "line": {"width": 0},
    } | more


def level(mean: float, sd: float) -> list[Spec]:
    """A mean over the width of the chart: a band of one standard deviation, and a dashed line."""
    whole: Spec = {"xref": "paper", "x0": 0, "x1": 1}
    line = {"color": "--storage", "width": 1.2, "dash": "dash"}
    ends = {"y0": mean - sd, "y1": mean + sd}
    return [
        whole | {"type": "rect", **ends, "fillcolor": "--band", "line": {"width": 0}},
        whole | {"type": "line", "y0": mean, "y1": mean, "line": line},
    ]


def line_name(runs: Sequence[Run[DeviceRun]], run: Run[DeviceRun], what: str) -> str:
    return what if len(runs) == 1 else f"{run.name}, {what}"


def steps(name: str, x: Sequence[float], y: Sequence[float | None], tone: str, dash: str) -> Spec:
    """A line that keeps each value until the next one."""
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": x,
        "y": y,
        "line": {"color": tone, "width": 1.6, "shape": "hv", "dash": dash},
    }


def over_time(
    runs: Sequence[Run[DeviceRun]],
    title: str,
    unit: str,
    lines: dict[str, str],
    share: bool = False,
    whole: bool = True,
) -> Spec:
    """Columns of the series, as lines. Those that are means over time, `whole` ones, are drawn over
    longer intervals than they have, with a band of nine tenths of what the short ones had."""
    data: list[Spec] = []
    for i, run in enumerate(runs):
        series = run.columns("series")
        step = _step(run) if whole else 1
        wide = step * max(1, math.ceil(len(series["start_s"]) / step / POINTS)) if whole else 1
        # A step lasts to the end of its interval, the last one too.
        ends = [a + b for a, b in zip(series["start_s"], series["length_s"], strict=True)]
        x = [*series["start_s"][::wide], *ends[-1:]]
        for j, (what, column) in enumerate(lines.items()):
            if not any(series[column]):
                continue
            y = _means(series[column], series["length_s"], wide)
            tone = TONES[(j if len(runs) == 1 else i) % len(TONES)]
            dash = list(DASHES.values())[0 if len(runs) == 1 else j]
            if len(runs) == 1 and wide > step:
                short = _means(series[column], series["length_s"], step)
                data += band(what, x, quantiles(short, wide // step), tone)
            data.append(steps(line_name(runs, run, what), x, [*y, *y[-1:]], tone, dash))
    y_axis = axis(unit, tickformat="~%") if share else axis(unit)
    made = layout(title, axis("simulated time, s", rangemode="tozero"), y_axis)
    return {"data": data, "layout": made | {"hovermode": "x unified", "showlegend": True}}


def quantiles(values: list[float | None], group: int) -> list[tuple[float, float]]:
    """The 5 % and 95 % quantiles of each group of values."""
    found = []
    for at in range(0, len(values), group):
        part = sorted(value or 0.0 for value in values[at : at + group])
        last = len(part) - 1
        found.append((part[round(0.05 * last)], part[round(0.95 * last)]))
    return found


def band(what: str, x: list[float], ends: list[tuple[float, float]], tone: str) -> list[Spec]:
    """The area between two quantiles."""
    low, high = ([*side, side[-1]] for side in map(list, zip(*ends, strict=True)))
    line: Spec = {"type": "scatter", "mode": "lines", "x": x, "hoverinfo": "skip"}
    line |= {"showlegend": False, "line": {"width": 0, "shape": "hv", "color": tone}}
    return [
        line | {"name": f"{what}, 95 %", "y": high},
        line | {"name": f"{what}, 5 %", "y": low, "fill": "tonexty", "fillcolor": "--band"},
    ]


def _step(run: Run[DeviceRun]) -> int:
    """How many intervals to take together: over a handful of requests a rate is noise."""
    many = max(run.report["requests"] // 50, 40)
    step: int = math.ceil(len(run.table("series")) / many)
    return step


def _means(values: list[float | None], lengths: list[float], step: int) -> list[float | None]:
    if step == 1:
        return values
    found: list[float | None] = []
    for at in range(0, len(values), step):
        part = list(zip(values[at : at + step], lengths[at : at + step], strict=True))
        time = sum(length for _, length in part)
        found.append(sum((v or 0) * length for v, length in part) / time if time else None)
    return found


def latency(runs: Sequence[Run[DeviceRun]], unit: str, in_us: float) -> Spec:
    """The part of the requests that took no longer, by operation."""
    data: list[Spec] = []
    for i, run in enumerate(runs):
        table = run.columns("latency")
        by_op: dict[str, dict[int, int]] = {}
        for op, to, count in zip(table["op"], table["to_ns"], table["requests"], strict=True):
            buckets = by_op.setdefault(op, {})
            buckets[to] = buckets.get(to, 0) + count
        for j, (op, buckets) in enumerate(by_op.items()):
            to_ns = sorted(buckets)
            sums = list(accumulate(buckets[to] for to in to_ns))
            x, y = _thinned([to / 1e3 / in_us for to in to_ns], [n / sums[-1] for n in sums])
            tone = TONES[(j if len(runs) == 1 else i) % len(TONES)]
            dash = "solid" if len(runs) == 1 else DASHES[op]
            line = steps(line_name(runs, run, op), x, y, tone, dash)
            data.append(line | {"hovertemplate": f"%{{y:.4%}} within %{{x:.4g}} {unit}"})
    seen = [x for line in data for x in line["x"] if x > 0]
    decades = math.log10(max(seen) / min(seen)) if seen else 0
    made = layout(
        "Latency: cumulative distribution",
        axis(f"latency, {unit}", type="log", tickformat="~s", dtick="D2" if decades < 2.5 else 1),
        axis("fraction of the requests", tickformat="~%", range=[0, 1.02]),
    )
    return {"data": data, "layout": made | {"hovermode": "closest", "showlegend": True}}


def _thinned(x: list[float], y: list[float], most: int = 1500) -> tuple[list[float], list[float]]:
    """The points, or `most` of them, evenly spaced, with the first and the last."""
    if len(x) > most:
        at = [round(i * (len(x) - 1) / (most - 1)) for i in range(most)]
        x, y = [x[i] for i in at], [y[i] for i in at]
    # From nothing: the first step shows.
    return [x[0], *x], [0.0, *y]
