"""Results of replays through caches in the terminal."""

from gordon.cache.entries import CURVE, served, spent, years
from gordon.cache.results import (
    OneLevelSweep,
    Sweep,
    TwoLevelPoint,
    TwoLevelSweep,
    has_one_level,
    has_two_levels,
)
from gordon.cli import say, warn_each
from gordon.cli.terminal import Column, Output, of_entries
from gordon.human import binary, duration, figures, short
from gordon.report.entries import NUMBER, Entry
from gordon.reports.cache import (
    CacheReport,
    CurveReport,
    FlashCacheReport,
    TieredReport,
    WarmUpReport,
)

UNITS = {
    "object": "requests for objects",
    "page": "requests for pages",
    "request": "requests (each one object)",
}


def begin(
    console: Output, report: CacheReport | FlashCacheReport | TieredReport, name: str, more: str
) -> None:
    """Prints warnings, the cache and its load, and the miss ratio if there were requests."""
    warn_each(report["warnings"])
    console.text(
        f"{name}: {report['requests']:,} {UNITS[report['unit']]}, "
        f"{short(report['bytes'], 'B')}; modelled"
    )
    if "warmup" in report and report["warmup"] is not None:
        warm_up(console, report["warmup"])
    trace = report["provenance"]["trace"]
    if trace["virtual_hosts"]:
        console.text(
            f"virtual hosts: {trace['virtual_hosts']:,} of {trace['requests']:,} requests name "
            "theirs; the same target of two hosts is two objects"
        )
    if report["requests"]:
        console.text(
            f"miss ratio {report['miss_ratio']:.4f} of requests, {report['byte_miss_ratio']:.4f} "
            f"of bytes{more}"
        )


def warm_up(console: Output, left_out: WarmUpReport) -> None:
    """Requests that are not counted."""
    time = left_out["time_s"]
    span = "" if time is None else f", {duration(time)}"
    console.text(
        f"warm-up, not counted: {left_out['requests']:,} requests of the trace, "
        f"{short(left_out['bytes'], 'B')}{span}"
    )


def show(console: Output, report: CacheReport) -> None:
    """Miss ratios first, then counts of objects."""
    name = f"{report['policy']}, {binary(report['dram_bytes'])}"
    begin(console, report, name, f": {report['hits']:,} hits, {report['misses']:,} misses")
    console.text(
        f"inserted {report['insertions']:,}, evicted {report['evictions']:,}; resident "
        f"{report['resident_objects']:,}, {short(report['resident_bytes'], 'B')}"
    )
    known = report["resident_objects"] + report["ghosts"]
    if known:
        ghosts = f", with {report['ghosts']:,} ghosts" if report["ghosts"] else ""
        each = figures(report["index_bytes"] / known)
        console.text(f"metadata {short(report['index_bytes'], 'B')}{ghosts}: {each} B per object")


def show_swept(console: Output, report: Sweep) -> None:
    """The points of a sweep."""
    if has_two_levels(report):
        show_two_levels(console, report)
    if has_one_level(report):
        show_sweep(console, report)


def show_sweep(console: Output, report: OneLevelSweep) -> None:
    """Miss ratios, a row for each size and a column for each policy."""
    points = report["points"]
    first = points[0]
    ratios = {(point["policy"], point["dram_bytes"]): point["miss_ratio"] for point in points}
    sizes = sorted({point["dram_bytes"] for point in points})
    for point in points:
        for warning in point["warnings"]:
            # A warning that all points share is printed once.
            if warning not in first["warnings"] or point is first:
                say(f"{point['policy']}, {binary(point['dram_bytes'])}: {warning}", kind="warning")
    console.text(
        f"{first['requests']:,} {UNITS[first['unit']]}, "
        f"{short(first['bytes'], 'B')}; miss ratio by size and policy, modelled"
    )
    if first["warmup"] is not None:
        warm_up(console, first["warmup"])
    columns = [Column("dram", [binary(size) for size in sizes], right=True)]
    for policy in dict.fromkeys(point["policy"] for point in points):
        cells = [ratio(ratios[policy, size]) for size in sizes]
        columns.append(Column(policy, cells, right=True))
    console.table(columns)


def show_two_levels(console: Output, report: TwoLevelSweep) -> None:
    """The points of a sweep of two levels: misses, power, area, lifetime, bandwidths."""
    points = report["points"]
    first = points[0]
    for point in points:
        for warning in point["warnings"]:
            if warning not in first["warnings"] or point is first:
                name = f"{binary(point['dram_bytes'])} + {binary(point['flash_bytes'])}"
                say(f"{name}: {warning}", kind="warning")
    console.text(
        f"{first['requests']:,} {UNITS[first['unit']]}, {short(first['bytes'], 'B')}; modelled"
    )
    if first["warmup"] is not None:
        warm_up(console, first["warmup"])
    several = len({point["dram_policy"] for point in points}) > 1
    columns = [Column("policy", [point["dram_policy"] for point in points])] if several else []
    columns += [
        Column("dram", [binary(point["dram_bytes"]) for point in points], right=True),
        Column("flash", [binary(point["flash_bytes"]) for point in points], right=True),
    ]
    listed = {entry.key: entry for entry in [*served(points), *spent(points), _POWER, _YEARS]}
    shown = ["miss_ratio", "mean_us", "power", "area", "years"]
    shown += [key for key in listed if key.startswith("mbits_")]
    columns += of_entries([listed[key] for key in shown], points, unknown="–")
    console.table(columns)


#: Entries that only the screen lists: power without DRAM at rest, and years at the greatest
#: endurance.
_POWER: Entry[TwoLevelPoint] = Entry(
    "power", "mW", lambda point: point["power_down"]["total_w"] * 1e3, NUMBER
)
_YEARS: Entry[TwoLevelPoint] = Entry("years", "years", years(-1), NUMBER)


def show_curve(console: Output, report: CurveReport) -> None:
    """Miss ratios by size."""
    warn_each(report["warnings"])
    how = "every object counts"
    if report["sampled_requests"] < report["requests"]:
        sample = figures(report["sample"])
        how = f"{report['sampled_requests']:,} of them count, {sample} of all objects"
    console.text(
        f"lru: {report['requests']:,} {UNITS[report['unit']]}, "
        f"{short(report['bytes'], 'B')}; {how}; modelled"
    )
    points = report["points"]
    console.table(
        [
            Column("dram", [binary(point["dram_bytes"]) for point in points], right=True),
            *of_entries(CURVE, points, unknown="–"),
        ]
    )
    console.text(
        f"footprint {short(report['footprint_bytes'], 'B')}; metadata of the curve "
        f"{short(report['index_bytes'], 'B')}"
    )


def ratio(part: float | None) -> str:
    return "–" if part is None else f"{part:.4f}"
