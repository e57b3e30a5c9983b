"""The sentences at the top of the pages of caches."""

from collections.abc import Sequence

from gordon.cache.results import TwoLevelPoint
from gordon.human import binary, figures, percent
from gordon.reports.cache import CacheReport, CurveReport, TieredReport

#: Miss ratios whose sizes a curve is asked for.
ASKED = (0.1, 0.05, 0.01)


def of_sweep(points: Sequence[CacheReport]) -> str:
    """The policy that misses least at the smallest and at the largest size."""
    sizes = sorted({point["dram_bytes"] for point in points})
    found: list[tuple[str, str, str]] = []
    for size in dict.fromkeys((sizes[0], sizes[-1])):
        known = [
            (ratio, point["policy"])
            for point in points
            if point["dram_bytes"] == size and (ratio := point["miss_ratio"]) is not None
        ]
        if known:
            least, policy = min(known)
            found.append((policy, percent(least), binary(size)))
    if not found:
        return "No request is counted."
    policy, misses, dram = found[0]
    start = f"{policy} misses least: {misses} of requests with {dram}"
    if len(found) == 1:
        return f"{start}."
    other, misses, dram = found[1]
    subject = "" if other == policy else f"{other} misses least "
    return f"{start}, {subject}{misses} with {dram}."


def of_curve(report: CurveReport) -> str:
    """The sizes with which a few miss ratios are reached."""
    known = [
        (point["miss_ratio"], point["dram_bytes"])
        for point in report["points"]
        if point["miss_ratio"] is not None
    ]
    if not known:
        return "No request is counted."
    reached: list[str] = []
    for asked in ASKED:
        sizes = [size for ratio, size in known if ratio <= asked]
        if sizes:
            of = "" if reached else " of requests"
            reached.append(f"{asked:.0%}{of} with {binary(min(sizes))}")
    least, size = min(known)
    if not reached:
        return f"{report['policy']} misses {percent(least)} of requests with {binary(size)}."
    return f"{report['policy']} misses at most {', '.join(reached)}."


def of_tiered(report: TieredReport) -> str:
    """The shares that are found in each level, and the life of the flash."""
    if not report["requests"]:
        return "No request is counted."
    found = {level["level"]: level["hits"] / report["requests"] for level in report["levels"]}
    years = report["lifetime_years"]
    life = "" if years is None else f"; the flash lasts {figures(years)} years"
    return (
        f"{binary(report['dram_bytes'])} of DRAM find {percent(found['dram'])} of requests, "
        f"{binary(report['flash_bytes'])} of flash another {percent(found['flash'])}{life}."
    )


def of_two_levels(points: Sequence[TwoLevelPoint]) -> str:
    """The gain of flash at the smallest DRAM: the misses without and with the largest flash."""
    dram = min(point["dram_bytes"] for point in points)
    known = [
        (point["flash_bytes"], ratio, point["dram_policy"])
        for point in points
        if point["dram_bytes"] == dram and (ratio := point["miss_ratio"]) is not None
    ]
    if not known:
        return "No request is counted."
    # One policy with itself: the one that misses least with the smallest flash.
    *_, policy = min(known)
    same = sorted((flash, ratio) for flash, ratio, of in known if of == policy)
    (least, without), (most, with_flash) = same[0], same[-1]
    has_several = len({of for _, _, of in known}) > 1
    start = f"{binary(dram)} of DRAM{f' with {policy}' if has_several else ''}"
    if least == most:
        flash = f" and {binary(most)} of flash" if most else ""
        return f"{start}{flash} miss {percent(without)} of requests."
    before = f"{start} alone" if least == 0 else f"{start} and {binary(least)} of flash"
    return (
        f"{before} miss {percent(without)} of requests, with {binary(most)} of flash "
        f"{percent(with_flash)}."
    )
