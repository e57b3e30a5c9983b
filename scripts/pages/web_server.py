#!/usr/bin/env python3
"""Prints docs/design/web-server.md: generated loads, replayed, on the model of a web server.

    python scripts/pages/web_server.py >docs/design/web-server.md

Takes about ten minutes, and 0.1 GB of the system's temporary files. Every table is of one command:
`gordon cache sweep LOAD --flash 0,1GiB --cores 4,8,12 --rate 1000`, with --objects or without,
`gordon cache latency LOAD`, and `gordon cache replay LOAD --policy flashcache`. The pages
flashcache.md and web-workloads.md have no values of these loads: they refer to this one.
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gordon import _core, cache
from gordon.cache import web
from gordon.cache.server import Found, Server, loss
from markdown_pages import render, table

REQUESTS = 10_000_000
RATE = 1000.0
DRAM = [32, 64, 128, 256, 512, 1024]
FLASH = 1024
CORES = (4, 8, 12)
POWERS = {"power_down": "powered down", "power_active": "always ready"}
LATENCIES_US = [0, 12, 25, 50, 100, 200, 400, 800, 1600, 3300]

Json = dict[str, Any]
# Points of a sweep, by MiB of DRAM and of flash.
Points = dict[tuple[int, int], Json]


def swept(trace: Path, dram: str, flash: str, objects: bool) -> Points:
    """Two-level caches and the web servers before them."""
    points = cache.sweep(trace, dram=dram, flash=flash, cores=CORES, rate=RATE, objects=objects)[
        "points"
    ]
    return {(point["dram_bytes"] >> 20, point["flash_bytes"] >> 20): {**point} for point in points}


def main() -> None:
    with TemporaryDirectory() as folder:
        loads = [load(name, Path(folder)) for name in web.WORKLOADS]
    sys.stdout.write(render("web-server", requests=REQUESTS, rate=RATE, loads=loads))


def load(name: Any, folder: Path) -> Json:
    """The section of a load."""
    path = folder / f"{name}.parquet"
    made = web.generate(name, path, requests=REQUESTS)
    pages = swept(path, "32MiB..1GiB", "0,1GiB", objects=False)
    whole = swept(path, "32MiB..1GiB", "0,1GiB", objects=True)
    wear = swept(path, "128MiB", "128MiB..2GiB", objects=False)
    found = {
        "name": name,
        "mean_bytes": made["mean_bytes"],
        "misses": misses(pages, whole),
        "figure_3": None,
        "figure_5": {"by pages": figure_5(pages), "whole": figure_5(whole)},
        "shares": shares(pages, whole),
        "figure_7": figure_7(wear),
        "statements": None,
    }
    if name == "surge":
        found |= {
            "figure_3": figure_3(path, pages[128, 0]),
            "statements": statements(path, pages, whole, wear),
            "limits": limits(pages, whole),
            "rules": wear_rules(path),
        }
    path.unlink()
    return found


def megabits(server: Json) -> str:
    return f"{server['bandwidth_bit_s'] / 1e6:,.0f}"


def misses(pages: Points, whole: Points) -> str:
    head = ["DRAM + flash", "pages", "bytes, by pages", "files", "bytes, whole"]
    rows = []
    for size in sorted(pages):
        page, file = pages[size], whole[size]
        ratios = (
            page["miss_ratio"],
            page["byte_miss_ratio"],
            file["miss_ratio"],
            file["byte_miss_ratio"],
        )
        rows.append([f"{size[0]} + {size[1]} MiB", *(f"{ratio:.4f}" for ratio in ratios)])
    return table(head, rows)


def figure_3(trace: Path, point: Json) -> Json:
    """Bandwidth against the latency of the second level, and what a longer latency loses."""
    report = cache.latency(trace, cores=CORES, latencies=[f"{us}us" for us in LATENCIES_US])
    found: dict[tuple[float, int], Json] = {
        (one["latency_us"], one["cores"]): {**one} for one in report["points"]
    }
    bandwidths = [
        [f"{us} us", *(megabits(found[float(us), cores]) for cores in CORES)] for us in LATENCIES_US
    ]
    requests = point["whole"]["requests"]
    files = Found(
        bytes=point["bytes"] / requests,
        dram_misses=report["dram_misses"],
        dram_byte_misses=report["dram_byte_misses"],
    )
    # Each page waits by itself.
    paged = replace(files, accesses=point["requests"] / requests, dram_misses=point["miss_ratio"])
    rows = []
    for cores in CORES:
        server = Server(cores=cores, cycles_per_request=report["cycles_per_request"])
        row = [f"{cores}"]
        for one in (files, paged):
            knee = next(us for us in range(10, 10**6, 10) if loss(server, one, us * 1e-6) > 0.05)
            row += [f"{loss(server, one, 500e-6):.2%}", f"{knee / 1e3:.2f} ms"]
        rows.append(row)
    head = ["cores", "at 500 us", "5 % at", "without: at 500 us", "5 % at"]
    return {
        "cycles": report["cycles_per_request"],
        "bandwidths": table(["latency", *(f"{cores} cores" for cores in CORES)], bandwidths),
        "losses": table(head, rows),
    }


def figure_5(points: Points) -> str:
    """Bandwidth against DRAM."""
    rows = []
    for dram, flash in sorted(points, key=lambda size: (size[1] == 0, size)):
        row = [f"{dram} MiB" if flash else f"{dram} MiB, no flash"]
        for server in points[dram, flash]["servers"]:
            used = server["utilization"]
            accesses = server["second_accesses_per_s"]
            also = f"{accesses:,.0f}, {used['flash']:.0%}, " if flash else ""
            row.append(f"{megabits(server)} ({also}{used['disk']:.0%})")
        rows.append(row)
    return table(["DRAM", *(f"{cores} cores" for cores in CORES)], rows)


def of_dram(points: Points) -> list[float]:
    """The bandwidth with 128 MiB and 1 GiB of flash as a share of that with 1 GiB of DRAM."""
    pairs = zip(points[128, FLASH]["servers"], points[1024, 0]["servers"], strict=True)
    return [two["bandwidth_bit_s"] / one["bandwidth_bit_s"] for two, one in pairs]


def shares(pages: Points, whole: Points) -> str:
    """128 MiB of DRAM and 1 GiB of flash, of 1 GiB of DRAM."""
    rows = []
    for how, points in (("by pages", pages), ("whole", whole)):
        two, one = points[128, FLASH], points[1024, 0]
        shares = [f"{share:.1%}" for share in of_dram(points)]
        power = [
            f"{two[mode]['total_w'] * 1e3:.1f} of {one[mode]['total_w'] * 1e3:.0f} mW"
            for mode in ("power_down", "power_active")
        ]
        area = f"{two['area']['total_cm2']:.2f} of {one['area']['total_cm2']:.2f} cm2"
        rows.append([how, *shares, *power, area])
    head = ["files", *(f"bandwidth, {cores} cores" for cores in CORES)]
    return table([*head, "power, DRAM powered down", "DRAM ready", "dies"], rows)


def statements(trace: Path, pages: Points, whole: Points, wear: Points) -> Json:
    """The values of this load that the paper makes statements about."""
    two, one = pages[128, FLASH], pages[1024, 0]
    ratio = {mode: one[mode]["total_w"] / two[mode]["total_w"] for mode in POWERS}
    power = "; ".join(
        f"{name}: {one[mode]['total_w'] * 1e3:.0f} and {two[mode]['total_w'] * 1e3:.1f} mW, "
        f"{ratio[mode]:.1f} times"
        for mode, name in POWERS.items()
    )
    area = 1 - two["area"]["total_cm2"] / one["area"]["total_cm2"]
    lives = {life["rated"]: life for life in two["wear"]["lifetimes"]}
    years = ", ".join(f"{life['years']:.3g} at {rated:,}" for rated, life in lives.items())
    first = lives[10**6]["first_block_years"]
    # Neither of these two depends on the load.
    short = trace.with_name("short.parquet")
    web.generate("surge", short, requests=10_000)
    design: Json = {"policy": "flashcache", "dram": "128MiB", "rate": RATE}
    by_block: Json = {
        **cache.replay(short, flash="2GiB", set=["cache.fill=block"], **design).report
    }
    coded: Json = {**cache.replay(short, flash="1GiB", ecc=4, **design).report}
    worst, worst_by_page = (
        point["wear"]["lifetimes"][-1]["worst_case_years"] for point in (by_block, wear[128, 2048])
    )
    cycles = coded["wear"]["lifetimes"][0]["endurance"]
    searched = two["table"]["hit_ratio"]
    found, files = (1 - point["miss_ratio"] for point in (two, whole[128, FLASH]))
    rules = two["wear"]
    bandwidth = {
        how: ", ".join(f"{share:.0%}" for share in of_dram(points))
        for how, points in (("by pages", pages), ("whole", whole))
    }
    flash = "; ".join(
        f"{server['second_accesses_per_s']:,.0f} with {server['cores']} cores"
        for server in two["servers"]
    )
    return {
        "cores": " / ".join(map(str, CORES)),
        "of_dram_by_pages": bandwidth["by pages"],
        "of_dram_whole": bandwidth["whole"],
        "power": power,
        "area": area,
        "flash": flash,
        "accesses_per_s": two["flash"]["accesses_per_s"],
        "years": years,
        "first_block_years": first,
        "worst_years": worst,
        "worst_years_by_page": worst_by_page,
        "coded_cycles": cycles,
        "searches": searched,
        "pages": found,
        "files": files,
        "blocks_spared": rules["block_rule_fired"],
        "sets_swapped": rules["set_rule_fired"],
    }


def limits(pages: Points, whole: Points) -> Json:
    """Figure 5: which of both is the paper's model, and where they part."""
    page = pages[128, FLASH]
    design = page["provenance"]["config"]["design"]
    read, moved, size = (design["flash"][key]["value"] for key in ("read", "rate_per_s", "page"))
    read_s, rate, flash_page = (
        _core.parse_ns(read) / 1e9,
        _core.parse_bytes(moved),
        _core.parse_bytes(size),
    )
    chip = flash_page / (read_s + flash_page / rate)
    page_size = _core.parse_bytes(design["cache"]["page"]["value"])
    return {
        "by_pages": limit(page),
        "whole": limit(whole[128, FLASH]),
        "dram": limit(pages[1024, 0]),
        "most_cores": CORES[-1],
        "least_cores": CORES[0],
        "flash_page": flash_page,
        "read_us": read_s * 1e6,
        "rate_mb_s": rate / 1e6,
        "chip_mb_s": chip / 1e6,
        "whole_of_dram": of_dram(whole)[0],
        "stated_mb_s": 2000 * page_size / 1e6,
    }


def limit(point: Json) -> Json:
    """The requests that wait for the disk, the bytes that they lack, and how busy the server's
    disk and flash are."""
    return {
        "wait": f"{point['whole']['misses'] / point['whole']['requests']:.2%}",
        "bytes": f"{point['byte_miss_ratio']:.2%}",
        **{part: f"{used:.0%}" for part, used in point["servers"][-1]["utilization"].items()},
    }


def wear_rules(trace: Path) -> Json:
    """The cost of swaps of sets, on a flash so small that its blocks wear."""
    dram, flash = "8MiB", "8MiB"
    rows = []
    for settings in (
        ["wear.rules=block"],
        [],
        ["wear.set_threshold=16"],
        ["wear.set_threshold=16", "wear.set_rule=literal"],
    ):
        replayed = cache.replay(
            trace,
            policy="flashcache",
            dram=dram,
            flash=flash,
            objects=True,
            rate=RATE,
            set=settings,
        )
        assert "wear" in replayed
        wear: Json = {**(replayed["wear"] or {})}
        rows.append(
            [
                " ".join(f"`{setting}`" for setting in settings) or "as the design has it",
                *(f"{wear[key]:,}" for key in ("set_rule_fired", "swap_erases", "evictions")),
                f"{wear['mean']:,.0f}",
                f"{wear['max']:,}",
            ]
        )
    head = ["rules", "swaps", "erases by swaps", "evictions", "mean", "most"]
    return {"dram": dram, "flash": flash, "wear": table(head, rows)}


def figure_7(points: Points) -> str:
    """Wear against the size of the flash."""
    rows = []
    for (_, flash), point in sorted(points.items()):
        wear = point["wear"]
        years = wear["lifetimes"][-1]["years"]
        rows.append(
            [
                f"{flash} MiB",
                "never full" if years is None else f"{years:.3g}",
                f"{wear['mean']:.3g}",
                f"{wear['standard_deviation']:.3g}",
                f"{wear['block_rule_fired']:,}",
                f"{wear['set_rule_fired']:,}",
                f"{point['miss_ratio']:.4f}",
            ]
        )
    head = ["flash", "years at 10^6 erases", "evictions a block", "standard deviation"]
    return table([*head, "hot blocks spared", "sets swapped", "page misses"], rows)


if __name__ == "__main__":
    main()
