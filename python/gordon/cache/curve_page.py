"""The report of a miss-ratio curve: one HTML file that works offline.

The table is plain HTML. The same result gives the same bytes.
"""

from gordon.cache import sentences
from gordon.cache.entries import CURVE
from gordon.cache.page import CURVES, rendered
from gordon.human import binary, figures, short
from gordon.report.run_figures import TONES, axis, layout, over_sizes
from gordon.reports.cache import CurvePoint, CurveReport
from gordon.untyped import Spec


def render(report: CurveReport) -> str:
    """The report's HTML."""
    return rendered(
        "curve",
        report,
        drawn(report),
        report,
        [("", text) for text in report["warnings"]],
        sentences.of_curve(report),
        facts=_facts(report),
        columns=CURVE,
    )


def drawn(report: CurveReport) -> dict[str, Spec]:
    """The figures, by name."""
    return {"curve": _curve(report["points"])}


def _facts(report: CurveReport) -> dict[str, str]:
    """How the curve was computed."""
    if report["sampled_requests"] < report["requests"]:
        how = f"a sample, at the end {figures(report['sample'])} of all objects"
    else:
        how = "all"
    return {
        "Policy": report["policy"],
        "Objects counted": how,
        "Requests counted": f"{report['sampled_requests']:,} of {report['requests']:,}",
        "Misses": "exactly those of a cache" if report["exact"] else "estimated",
        "Footprint of the trace": short(report["footprint_bytes"], "B"),
        "Memory of the index": short(report["index_bytes"], "B"),
        "Follows": report["provenance"]["follows"],
    }


def _curve(points: list[CurvePoint]) -> Spec:
    """Both ratios over the sizes; those that are powers of two are named below."""
    sizes = [point["dram_bytes"] for point in points]
    data = [
        over_sizes(name, sizes, [point[key] for point in points], tone, "%{y:.4f}")
        for (key, name), tone in zip(CURVES.items(), TONES, strict=False)
    ]
    named = [size for size in sizes if size & (size - 1) == 0] or sizes
    x = axis("cache size", type="log", tickvals=named, ticktext=[binary(size) for size in named])
    made = layout("Miss ratio by cache size", x, axis("miss ratio"))
    return {"data": data, "layout": made | {"showlegend": True}}
