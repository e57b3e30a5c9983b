"""A miss-ratio curve as one HTML file that works offline.

The table is in the HTML as it is written. Same result, same bytes.
"""

from typing import Any

from gordon.human import binary, figures, short
from gordon.report.cache import CURVES, rendered
from gordon.report.run_figures import TONES, Spec, axis, layout


def render(told: dict[str, Any]) -> str:
    """The report's HTML."""
    return rendered(
        "curve",
        told,
        {"curve": _curve(told["points"])},
        told,
        [("", text) for text in told["warnings"]],
        facts=_facts(told),
    )


def _facts(told: dict[str, Any]) -> dict[str, str]:
    """How it was made."""
    if told["sampled_requests"] < told["requests"]:
        how = f"a sample: {figures(told['sample'])} of all objects at the end"
    else:
        how = "all of them"
    return {
        "Policy": told["policy"],
        "Objects that count": how,
        "Requests that count": f"{told['sampled_requests']:,} of {told['requests']:,}",
        "Misses are": "those of a cache, to the last request" if told["exact"] else "estimates",
        "All there is to cache": short(told["footprint_bytes"], "B"),
        "Memory that it took": short(told["index_bytes"], "B"),
        "Follows": told["provenance"]["follows"],
    }


def _curve(points: list[dict[str, Any]]) -> Spec:
    """Both ratios over the sizes; those that are powers of two are named below."""
    sizes = [point["dram_bytes"] for point in points]
    data = [
        {
            "type": "scatter",
            "mode": "lines+markers",
            "name": name,
            "x": sizes,
            "y": [point[key] for point in points],
            "text": [binary(size) for size in sizes],
            "hovertemplate": "%{text}: %{y:.4f}",
            "line": {"color": tone},
            "marker": {"color": tone},
        }
        for (key, name), tone in zip(CURVES.items(), TONES, strict=False)
    ]
    named = [size for size in sizes if size & (size - 1) == 0] or sizes
    x = axis("cache", type="log", tickvals=named, ticktext=[binary(size) for size in named])
    made = layout("Misses by size of the cache", x, axis("miss ratio"))
    return {"data": data, "layout": made | {"showlegend": True}}
