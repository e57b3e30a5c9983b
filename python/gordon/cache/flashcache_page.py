"""The report of a sweep of two levels, DRAM and flash: one HTML file that works offline, with the
figures of the FlashCache paper (Kgil and Mudge, CASES 2006) for these caches.

The tables are plain HTML. The same result gives the same bytes.
"""

from collections.abc import Callable, Sequence
from typing import Any, Literal

from gordon.cache import sentences
from gordon.cache.entries import megabits, served, spent, years
from gordon.cache.flashcache import POWER, PowerPart
from gordon.cache.page import DASHES, rendered
from gordon.cache.results import TwoLevelPoint as Point
from gordon.cache.results import TwoLevelSweep
from gordon.human import binary
from gordon.report.run_figures import TONES, axis, layout
from gordon.reports.cache import WearReport
from gordon.untyped import Spec

Size = Literal["dram_bytes", "flash_bytes"]
Mode = Literal["power_active", "power_down"]

#: Colours of parts.
PARTS = (*TONES, "--overhead", "--soft")


def render(swept: TwoLevelSweep) -> str:
    """The report's HTML."""
    points = swept["points"]
    return rendered(
        "flashcache",
        swept,
        figures(points),
        points[0],
        [(_name(point, points), text) for point in points for text in point["warnings"]],
        sentences.of_two_levels(points),
        points=points,
        names=[_name(point, points) for point in points],
        power=POWER,
        tables=[served(points), spent(points)],
    )


def figures(points: Sequence[Point]) -> dict[str, Spec]:
    """Figures by name, each with a title in its layout."""
    drawn = {}
    for at, server in enumerate(points[0].get("servers", [])):
        title = f"Network bandwidth, {server['cores']} cores"
        drawn[f"bandwidth-{server['cores']}"] = _lines(
            points, title, "Mbit/s", "dram_bytes", "flash_bytes", megabits(at)
        )
    drawn["misses"] = _lines(
        points,
        "Miss ratio of requests",
        "miss ratio",
        "dram_bytes",
        "flash_bytes",
        lambda point: point["miss_ratio"],
    )
    drawn["area"] = _bars(
        points,
        "Die area",
        "cm2",
        {
            "DRAM": lambda point: point["area"]["dram_cm2"],
            "flash": lambda point: point["area"]["flash_cm2"],
        },
    )
    modes: list[tuple[Mode, str]] = [
        ("power_active", "DRAM ready"),
        ("power_down", "DRAM powered down when idle"),
    ]
    for key, how in modes:
        parts = {title: _milliwatts(key, part) for part, title in POWER.items()}
        drawn[key] = _bars(points, f"Memory power, {how}", "mW", parts)
    worn = [point for point in points if point["wear"] and point["wear"]["evictions"]]
    if worn:
        endurance = _wear(worn[0])["lifetimes"][-1]["endurance"]
        drawn["lifetime"] = _lines(
            worn,
            f"Lifetime at {endurance:,} erases",
            "years",
            "flash_bytes",
            "dram_bytes",
            years(-1),
        )
        drawn["deviation"] = _lines(
            worn,
            "Standard deviation of evictions over blocks",
            "evictions",
            "flash_bytes",
            "dram_bytes",
            lambda point: _wear(point)["standard_deviation"],
        )
    return drawn


def _wear(point: Point) -> WearReport:
    """The wear of the flash, which is there."""
    assert point["wear"] is not None
    return point["wear"]


def _milliwatts(key: Mode, part: PowerPart) -> Callable[[Point], float]:
    return lambda point: float(point[key][part] * 1e3)


def _name(point: Point, points: Sequence[Point]) -> str:
    sizes = f"{binary(point['dram_bytes'])} + {binary(point['flash_bytes'])}"
    several = len({one["dram_policy"] for one in points}) > 1
    return f"{point['dram_policy']}, {sizes}" if several else sizes


def _lines(
    points: Sequence[Point],
    title: str,
    unit: str,
    along: Size,
    by: Size,
    value: Callable[[Point], Any],
) -> Spec:
    """A line for each policy of DRAM and each size `by`, over the sizes `along`."""
    data = []
    kinds = list(dict.fromkeys((point["dram_policy"], point[by]) for point in points))
    several = len({policy for policy, _ in kinds}) > 1
    what = "flash" if by == "flash_bytes" else "DRAM"
    for number, (policy, size) in enumerate(kinds):
        line = [point for point in points if (point["dram_policy"], point[by]) == (policy, size)]
        tone, dash = TONES[number % len(TONES)], DASHES[number // len(TONES) % len(DASHES)]
        name = f"{binary(size)} of {what}" if size else f"no {what}"
        data.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": f"{policy}, {name}" if several else name,
                "x": [binary(point[along]) for point in line],
                "y": [value(point) for point in line],
                "line": {"color": tone, "dash": dash},
                "marker": {"color": tone},
            }
        )
    sizes = sorted({point[along] for point in points})
    x = axis(
        "DRAM" if along == "dram_bytes" else "flash",
        type="category",
        categoryorder="array",
        categoryarray=[binary(size) for size in sizes],
    )
    return {"data": data, "layout": layout(title, x, axis(unit)) | {"showlegend": True}}


def _bars(
    points: Sequence[Point], title: str, unit: str, parts: dict[str, Callable[[Point], float]]
) -> Spec:
    """A bar for each point, of its parts: those of the same DRAM side by side."""
    names = [_name(point, points).split(" + ") for point in points]
    data = [
        {
            "type": "bar",
            "name": part,
            "x": [[f"{dram} of DRAM" for dram, _ in names], [flash for _, flash in names]],
            "y": [value(point) for point in points],
            "marker": {"color": PARTS[number % len(PARTS)]},
        }
        for number, (part, value) in enumerate(parts.items())
    ]
    made = layout(title, axis("flash", type="multicategory"), axis(unit))
    return {"data": data, "layout": made | {"barmode": "stack", "showlegend": True}}
