"""The statements of the FlashCache paper next to results of its model on its load.

The load is that of SURGE, at the rate and with the design of the paper (`cases-2006`); each figure
is of a replay or of the model of a web server, as `docs/design/web-server.md` has them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeVar

from gordon import cache
from gordon.cache import web
from gordon.cache.results import ByLatency, TwoLevelPoint, has_two_levels
from gordon.cache.server import Found, Server, loss
from gordon.errors import GordonError
from gordon.options import Progress
from gordon.reports.cache import FlashCacheReport
from gordon.reports.workload import WebReport
from gordon.reproduce.papers import paper
from gordon.reproduce.row import Row, known

#: Requests of the load, and of one that takes a minute.
REQUESTS = 10_000_000
QUICK = 1_000_000
#: Requests a second, at which the paper's flash is accessed less than 2,000 times a second.
RATE = 1000.0
CORES = (4, 8, 12)
MIB = 1 << 20
#: The configurations that the paper compares, in MiB of DRAM and of flash.
BOTH, DRAM_ALONE = (128, 1024), (1024, 0)
#: Steps of `measure`.
STEPS = 8

Size = tuple[int, int]
Mode = Literal["power_down", "power_active"]
#: States of idle DRAM, and their names.
MODES: dict[Mode, str] = {
    "power_down": "powered down by an oracle",
    "power_active": "always ready",
}
T = TypeVar("T")


@dataclass(frozen=True)
class Measured:
    """The replays: two configurations with files by pages and as a whole, and flash of 2 GiB
    in the worst case."""

    requests: int
    load: WebReport
    pages: dict[Size, TwoLevelPoint]
    whole: dict[Size, TwoLevelPoint]
    latency: ByLatency
    large: TwoLevelPoint
    large_by_block: FlashCacheReport
    coded: FlashCacheReport


def measure(requests: int = REQUESTS, progress: Progress | None = None) -> Measured:
    """Generates the load and replays it. `progress` is called with the steps (done, total). Raises
    GordonError for a load that is too short to fill the flash."""
    if requests < QUICK:
        raise GordonError(
            f"{requests:,} requests do not fill 1 GiB of flash",
            f"{QUICK:,} requests or more",
            kind="short-load",
        )
    with TemporaryDirectory(prefix="gordon-flashcache-") as folder:
        trace, short = Path(folder, "surge.parquet"), Path(folder, "short.parquet")
        step = _steps(progress)
        load = step(lambda: web.generate("surge", trace, requests=requests))
        step(lambda: web.generate("surge", short, requests=10_000))
        pages = step(lambda: {size: _point(trace, size, False) for size in (BOTH, DRAM_ALONE)})
        whole = step(lambda: {size: _point(trace, size, True) for size in (BOTH, DRAM_ALONE)})
        latency = step(lambda: cache.latency(trace, cores=CORES))
        large = step(lambda: _point(trace, (128, 2048), False))
        # Neither of these two depends on the load.
        replay = partial(cache.replay, short, policy="flashcache", dram="128MiB", rate=RATE)
        by_block = step(lambda: replay(flash="2GiB", set=["cache.fill=block"]))
        coded = step(lambda: replay(flash="1GiB", ecc=4))
    return Measured(
        requests=requests,
        load=load.report,
        pages=pages,
        whole=whole,
        latency=latency.report,
        large=large,
        large_by_block=by_block.report,
        coded=coded.report,
    )


def _steps(progress: Progress | None) -> Callable[[Callable[[], T]], T]:
    """A function that does a step, and says before it how many are done."""
    done = count()

    def step(work: Callable[[], T]) -> T:
        if progress is not None:
            progress(next(done), STEPS)
        return work()

    return step


def _point(trace: Path, size: Size, objects: bool) -> TwoLevelPoint:
    """A replay, with the web servers before it."""
    dram, flash = (f"{mib}MiB" for mib in size)
    swept = cache.sweep(trace, dram=dram, flash=flash, cores=CORES, rate=RATE, objects=objects)
    assert has_two_levels(swept.report)
    return swept.report["points"][0]


def rows(measured: Measured) -> list[Row]:
    """All comparisons, in the order of the paper."""
    return [
        *_load(measured),
        *_bandwidth(measured),
        *_memory(measured),
        *_wear(measured),
    ]


def row(
    where: str,
    what: str,
    ours: float,
    number: str,
    *,
    unit: str = "",
    reason: str = "",
    job: str = "surge",
) -> Row:
    """A comparison with a printed number of the paper."""
    found = paper("flashcache")
    bounds = found.numbers[number]
    text = reason and f"{reason}."
    return Row(where, job, what, ours, unit=unit, reason=text, paper=found.title, **bounds)


def _load(measured: Measured) -> list[Row]:
    table, pages = measured.pages[BOTH]["table"], measured.pages[BOTH]
    return [
        row(
            "figure 2",
            "requests for the fifth of the files that is requested most",
            measured.load["top_fifth"],
            "top_fifth",
            reason="the paper changed the files of SURGE in a way that it does not print",
        ),
        row(
            "section 3.1",
            "searches of the hash table that hit",
            known(table["hit_ratio"]),
            "table_hits",
            reason="the tail of the load: files that are requested once; "
            f"{1 - known(pages['miss_ratio']):.1%} of pages are found in DRAM or flash",
        ),
    ]


def _bandwidth(measured: Measured) -> list[Row]:
    point = measured.pages[BOTH]
    requests = point["whole"]["requests"]
    files = Found(
        bytes=point["bytes"] / requests,
        dram_misses=measured.latency["dram_misses"],
        dram_byte_misses=measured.latency["dram_byte_misses"],
    )
    dram = measured.pages[DRAM_ALONE]
    misses = known(dram["miss_ratio"])
    paged = replace(files, accesses=dram["requests"] / requests, dram_misses=misses)
    cycles = measured.latency["cycles_per_request"]
    made = []
    for how, found in (("once a file", files), ("for each page", paged)):
        made += [
            row(
                "figure 3",
                f"bandwidth lost at 500 us, {cores} cores, waiting {how}",
                loss(Server(cores=cores, cycles_per_request=cycles), found, 500e-6),
                "loss_at_500us",
                reason="without read-ahead a request waits for each of its pages"
                if how == "for each page"
                else "",
            )
            for cores in CORES
        ]
    for how, points in (("by pages", measured.pages), ("whole", measured.whole)):
        pairs = zip(points[BOTH]["servers"], points[DRAM_ALONE]["servers"], strict=True)
        made += [
            row(
                "section 6.1, figure 5",
                f"bandwidth of 128 MiB and 1 GiB of flash, of 1 GiB of DRAM: {one['cores']} cores, "
                f"files {how}",
                both["bandwidth_bit_s"] / one["bandwidth_bit_s"],
                "bandwidth",
                reason="the paper's file set misses less than this one, by its hits of over 99 %: "
                f"the disk is busy {both['utilization']['disk']:.0%} of the time, the flash "
                f"{both['utilization']['flash']:.0%}",
            )
            for both, one in pairs
        ]
    return made


def _memory(measured: Measured) -> list[Row]:
    both, alone = (measured.pages[size] for size in (BOTH, DRAM_ALONE))
    made = [
        row(
            "section 6.1, figure 5",
            "die area less than that of 1 GiB of DRAM",
            1 - both["area"]["total_cm2"] / alone["area"]["total_cm2"],
            "area_saved",
            reason="rounding",
        )
    ]
    made += [
        row(
            "section 6.2, figure 6",
            f"memory power of 1 GiB of DRAM over that of both, DRAM {name}",
            alone[mode]["total_w"] / both[mode]["total_w"],
            "power_ratio",
            reason="the processor's own accesses of DRAM, which both have, are not modelled",
        )
        for mode, name in MODES.items()
    ]
    return made


def _wear(measured: Measured) -> list[Row]:
    both, wear = measured.pages[BOTH], known(measured.pages[BOTH]["wear"])
    lives = {life["rated"]: life for life in wear["lifetimes"]}
    steady = "in steady state; flash is written at each of its misses, and the paper has under 1 %"
    made = [
        row(
            "section 6.3",
            "flash accesses a second",
            known(both["flash"])["accesses_per_s"],
            "accesses",
            unit="1/s",
            reason=f"at {RATE:,.0f} requests a second",
        )
    ]
    for rated, number in ((10**6, "life_million"), (10**5, "life_hundred_thousand")):
        found = lives[rated]["years"]
        if found is not None:
            what = f"life of 1 GiB at {rated:,} erases"
            made.append(row("section 6.3", what, found, number, unit="years", reason=steady))
    worst: dict[str, FlashCacheReport] = {
        "a logical block at a miss": measured.large_by_block,
        "a page at a miss": measured.large,
    }
    made += [
        row(
            "section 6.3",
            f"life of 2 GiB if the disk is accessed all the time, {how}",
            known(point["wear"])["lifetimes"][-1]["worst_case_years"],
            "life_worst",
            unit="years",
            reason="the paper does not say what a miss fetches",
        )
        for how, point in worst.items()
    ]
    made += [
        row(
            "section 2.1",
            "erases with a code that corrects 4 bits",
            known(measured.coded["wear"])["lifetimes"][0]["endurance"],
            "erases_with_code",
            reason="the growth of bit errors with erases is assumed so that this holds",
        ),
        row(
            "section 6.3",
            "uses of the rules of wear",
            wear["block_rule_fired"] + wear["set_rule_fired"],
            "rules",
            reason="the paper prints no thresholds",
        ),
    ]
    return made
