"""The page of a characterisation: bandwidth and latency by transfer size."""

from itertools import groupby
from typing import Any, TypedDict

from gordon.human import binary, figures, short
from gordon.options.devices import STORAGE_PATTERNS
from gordon.report import measured
from gordon.report.entries import COUNT, NUMBER, SIZE, TEXT, Entry, of
from gordon.report.numbers import plain
from gordon.report.run_figures import TONES, axis, layout, over_sizes, size_axis
from gordon.storage.point import FLAT, Point, facts, series
from gordon.storage.result import Characterisation
from gordon.untyped import Spec

#: Lines of one pattern at several depths.
DASHES = ("solid", "dash", "dot", "dashdot")
OPS = {"read": "reads", "write": "writes"}

_TERMS = {
    "outstanding": "Number of requests that wait at the storage at any time (queue depth).",
    "sequential, random": "Each request starts where the last one ended, or anywhere in the span.",
    "MB/s": "10^6 bytes per second, from the first request to the last completion, with the flush "
    "after writes.",
    "p50, p99, p99.9": "50 %, 99 % and 99.9 % of the requests took no longer. The flush is not in "
    "these times.",
    "90 % from": f"The least transfer size that reaches {FLAT:.0%} of the best bandwidth of its "
    "line.",
}


def render(report: Characterisation) -> str:
    """The page's HTML."""
    points: list[Point] = [*report["points"]]
    drawn = {}
    for op, name in OPS.items():
        if own := [point for point in points if point["op"] == op]:
            drawn[f"{op}-bandwidth"] = _bandwidth(own, name)
            drawn[f"{op}-latency"] = _latency(own, name)
    word = report["kind"].partition(":")[0]
    return measured.render(
        measured.Page(
            what="storage characterise",
            subject=report["storage"],
            sentence=sentence(report),
            lead=f"{len(points)} points over a span of {short(report['span_bytes'], 'B')}"
            f"{_device(report)}; every value is {word}.",
            figures=drawn,
            notes={
                f"{op}-latency": "Lines are medians; a band reaches up to the time in which 99 % "
                "of the requests completed."
                for op in OPS
            },
            tables=[
                measured.Table("best", "Where each line is flat", _lines(points), _BEST),
                measured.Table("points", "All points", points, _POINTS, is_folded=True),
            ],
            terms=_TERMS,
            warnings=[("", text) for text in report["warnings"]],
            settings=_settings(report),
            result=report,
        )
    )


def sentence(report: Characterisation) -> str:
    """The best bandwidth of each operation, and the requests per second of the smallest size."""
    points: list[Point] = [*report["points"]]
    said = []
    for op, verb in OPS.items():
        of_op = [point for point in points if point["op"] == op]
        if not of_op:
            continue
        best = max(of_op, key=lambda point: point["bandwidth_mb_s"])
        text = (
            f"{verb} up to {short(best['bandwidth_mb_s'] * 1e6, 'B/s')} "
            f"({best['pattern']}, {binary(best['size_bytes'])}, {best['queue_depth']} outstanding)"
        )
        shuffled = [point for point in of_op if point["pattern"] == "random"]
        if shuffled:
            least = min(point["size_bytes"] for point in shuffled)
            quick = max(
                (point for point in shuffled if point["size_bytes"] == least),
                key=lambda point: point["iops"],
            )
            text += f" and {quick['iops']:,.0f} random {op}s of {binary(least)} per second"
        said.append(text)
    return f"{_name(report)} {'; '.join(said)}."


def _name(report: Characterisation) -> str:
    """The storage without a path."""
    if "target" not in report:
        return report["storage"]
    return report["target"]["model"] or "This storage"


def _device(report: Characterisation) -> str:
    if "target" not in report:
        return ""
    target = report["target"]
    about = facts(target, ", ")
    kind = "a scratch file" if report["scratch"] else f"a {target['kind'].replace('-', ' ')}"
    return f" of {kind}{f' on {about}' if about else ''}, with direct I/O"


def _settings(report: Characterisation) -> dict[str, object]:
    """The inputs, without the points, which the tables have."""
    config = report["provenance"]["config"]
    found: dict[str, object] = {}
    for key, value in config.items():
        if key == "device":
            ((kind, made),) = value.items()
            found[kind] = made["device"]["name"] if "name" in made["device"] else report["storage"]
        elif key != "points" and value is not None:
            found[key] = (
                ", ".join(f"{k} {plain(v)}" for k, v in value.items() if v)
                if isinstance(value, dict)
                else value
            )
    if "time" in report["provenance"]:
        found["measured at"] = report["provenance"]["time"]
    return found


def _ordered(points: list[Point]) -> list[tuple[tuple[str, int], list[Point]]]:
    """The lines, each in the order of sizes."""
    order = {name: number for number, name in enumerate(STORAGE_PATTERNS)}
    listed = sorted(
        points,
        key=lambda p: (order[series(p)[0]], p["queue_depth"], p["size_bytes"]),
    )
    return [(key, list(line)) for key, line in groupby(listed, key=series)]


def _bandwidth(points: list[Point], name: str) -> Spec:
    depths = sorted({point["queue_depth"] for point in points})
    names = list(dict.fromkeys(series(point)[0] for point in points))
    data = []
    for (load, depth), line in _ordered(points):
        tone = TONES[names.index(load) % len(TONES)]
        data.append(
            over_sizes(
                f"{line[0]['pattern']}, {depth} outstanding",
                [point["size_bytes"] for point in line],
                [point["bandwidth_mb_s"] for point in line],
                tone,
                "%{y:.4~g} MB/s",
                line={"color": tone, "dash": DASHES[depths.index(depth) % len(DASHES)]},
                marker={"color": tone, "size": 5},
            )
        )
    y = axis("MB/s", type="log", tickformat="~g", dtick="D2", rangemode="normal")
    made = layout(f"Bandwidth of {name} by transfer size", _sizes(points), y)
    return {"data": data, "layout": made | {"showlegend": True, "height": 400}}


def _latency(points: list[Point], name: str) -> Spec:
    """Medians of each pattern at its largest depth, with a band up to the 99 % quantile."""
    names = list(dict.fromkeys(series(point)[0] for point in points))
    deepest = max(point["queue_depth"] for point in points)
    data: list[Spec] = []
    for (load, depth), line in _ordered(points):
        timed = [p for p in line if p["latency_us"]["p50"] and p["latency_us"]["p99"]]
        if depth != deepest or not timed:
            continue
        tone = TONES[names.index(load) % len(TONES)]
        pattern = timed[0]["pattern"]
        x = [point["size_bytes"] for point in timed]
        at: Spec = {"type": "scatter", "x": x, "text": [binary(size) for size in x]}
        hidden = {"mode": "lines", "hoverinfo": "skip", "showlegend": False, "line": {"width": 0}}
        middle = [point["latency_us"]["p50"] for point in timed]
        data += [
            at | hidden | {"name": f"{pattern}, median", "y": middle},
            at
            | hidden
            | {
                "name": f"{pattern}, 99 %",
                "y": [point["latency_us"]["p99"] for point in timed],
                "fill": "tonexty",
                "fillcolor": "--band",
            },
            at
            | {
                "mode": "lines+markers",
                "name": pattern,
                "y": middle,
                "customdata": [figures(point["latency_us"]["p99"] or 0.0) for point in timed],
                "hovertemplate": "%{text}: %{y:.4~g} us, 99 % within %{customdata} us",
                "line": {"color": tone},
                "marker": {"color": tone, "size": 5},
            },
        ]
    y = axis("latency, us", type="log", tickformat="~g", dtick="D2", rangemode="normal")
    made = layout(f"Latency of {name}, {deepest} outstanding", _sizes(points), y)
    return {"data": data, "layout": made | {"showlegend": True, "height": 400}}


def _sizes(points: list[Point]) -> Spec:
    return size_axis("transfer size", [point["size_bytes"] for point in points])


class LineRow(TypedDict):
    """A line: its best point, and the least size that is nearly as good."""

    line: str
    depth: int
    best: Point
    least: Point


def _lines(points: list[Point]) -> list[LineRow]:
    rows: list[LineRow] = []
    for (name, depth), line in _ordered(points):
        best = max(line, key=lambda point: point["bandwidth_mb_s"])
        least = next(p for p in line if p["bandwidth_mb_s"] >= FLAT * best["bandwidth_mb_s"])
        rows.append({"line": name, "depth": depth, "best": best, "least": least})
    return rows


_BEST: tuple[Entry[Any], ...] = (
    Entry("line", "requests", of("line"), TEXT),
    Entry("depth", "outstanding", of("depth"), COUNT),
    Entry("best", "best MB/s", of("best", "bandwidth_mb_s"), NUMBER),
    Entry("at", "at size", of("best", "size_bytes"), SIZE),
    Entry("from", f"{FLAT:.0%} from", of("least", "size_bytes"), SIZE),
)
_POINTS: tuple[Entry[Any], ...] = (
    Entry("requests", "requests", lambda point: series(point)[0], TEXT),
    Entry("depth", "outstanding", of("queue_depth"), COUNT),
    Entry("size", "size", of("size_bytes"), SIZE),
    Entry("bandwidth_mb_s", "MB/s", of("bandwidth_mb_s"), NUMBER),
    Entry("iops", "requests/s", of("iops"), NUMBER),
    Entry("mean", "mean us", of("latency_us", "mean"), NUMBER),
    Entry("p50", "p50", of("latency_us", "p50"), NUMBER),
    Entry("p99", "p99", of("latency_us", "p99"), NUMBER),
    Entry("p999", "p99.9", of("latency_us", "p999"), NUMBER),
    Entry("max", "max", of("latency_us", "max"), NUMBER),
)
