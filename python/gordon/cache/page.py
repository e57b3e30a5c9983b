"""The report of a cache sweep, over sizes and policies: one HTML file that works offline.

The tables are plain HTML; a script draws the curves from data in the file. The same result gives
the same bytes.
"""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Literal

from gordon.cache import sentences
from gordon.cache.results import OneLevelSweep, Paged
from gordon.human import binary
from gordon.report import page
from gordon.report.run_figures import TONES, axis, layout, over_sizes
from gordon.reports.cache import CacheReport, CurveReport, FlashCacheReport, TieredReport
from gordon.untyped import Spec

Curve = Literal["miss_ratio", "byte_miss_ratio"]
Report = CacheReport | CurveReport | FlashCacheReport | TieredReport
#: Curves, in this order: key and title.
CURVES: dict[Curve, str] = {
    "miss_ratio": "Miss ratio of requests",
    "byte_miss_ratio": "Miss ratio of bytes",
}
#: Lines beyond the palette's colours.
DASHES = ("solid", "dash", "dot")


def render(swept: OneLevelSweep) -> str:
    """The report's HTML."""
    points = swept["points"]
    return rendered(
        "cache",
        swept,
        drawn(points),
        points[0],
        [
            (f"{point['policy']}, {binary(point['dram_bytes'])}", text)
            for point in points
            for text in point["warnings"]
        ],
        sentences.of_sweep(points),
        policies=_policies(points),
        sizes=sorted({point["dram_bytes"] for point in points}),
        by={(point["policy"], point["dram_bytes"]): point for point in points},
    )


def drawn(points: Sequence[CacheReport]) -> dict[str, Spec]:
    """The figures, by name."""
    return {name: _curve(points, name, title) for name, title in CURVES.items()}


def rendered(
    name: str,
    report: Paged,
    specs: dict[str, Spec],
    first: Report,
    warnings: list[tuple[str, str]],
    sentence: str,
    **values: Any,
) -> str:
    """The page NAME of `report`, with `sentence` at its top; `first` is a point with the settings
    that all caches share. A warning is a pair of the cache's name and the text."""
    return page.render(
        name,
        {"figures": specs, **report},
        script="runs",
        filters={"binary": binary},
        first=first,
        trace=PurePath(first["provenance"]["config"]["trace"]["path"]).name,
        titles={key: spec["layout"]["title"]["text"] for key, spec in specs.items()},
        settings=settings(first),
        warnings=warnings,
        sentence=sentence,
        **values,
    )


def _policies(points: Sequence[CacheReport]) -> dict[str, str]:
    """The policies in the order requested, each with what its implementation follows."""
    return {point["policy"]: point["provenance"]["follows"] for point in points}


def _curve(points: Sequence[CacheReport], key: Curve, title: str) -> Spec:
    data = []
    for number, policy in enumerate(_policies(points)):
        line = [point for point in points if point["policy"] == policy]
        tone, dash = TONES[number % len(TONES)], DASHES[number // len(TONES) % len(DASHES)]
        data.append(
            over_sizes(
                policy,
                [point["dram_bytes"] for point in line],
                [point[key] for point in line],
                tone,
                "%{y:.4f}",
                line={"color": tone, "dash": dash},
            )
        )
    sizes = sorted({point["dram_bytes"] for point in points})
    x = axis("cache size", type="log", tickvals=sizes, ticktext=[binary(size) for size in sizes])
    made = layout(title, x, axis("miss ratio"))
    return {"data": data, "layout": made | {"showlegend": True}}


def settings(point: Report) -> dict[str, object]:
    """The options of a run, and counts of rows left out of the trace."""
    options = point["provenance"]["config"]["trace"]
    found = {f"trace.{key}": value for key, value in options.items() if value not in (None, False)}
    if point["provenance"]["config"]["objects"]:
        found["objects"] = True
    counts = point["provenance"]["trace"]
    return found | {f"trace {key}": value for key, value in counts.items() if value}
