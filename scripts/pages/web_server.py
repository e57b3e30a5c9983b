#!/usr/bin/env python3
"""Prints docs/design/web-server.md: generated loads, replayed, on the model of a web server.

    python scripts/pages/web_server.py >docs/design/web-server.md

Takes about ten minutes, and 0.1 GB of the system's temporary files. Every table is of one command:
`gordon cache sweep LOAD --flash 0,1GiB --cores 4,8,12 --rate 1000`, with --objects or without,
`gordon cache latency LOAD`, and `gordon cache replay LOAD --policy flashcache`. The pages
flashcache.md and web-workloads.md have no values of these loads: they refer to this one.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gordon import _core, cache
from gordon.cache import web
from gordon.cache.server import Found, Server, loss

REQUESTS = 10_000_000
RATE = 1000.0
DRAM = [32, 64, 128, 256, 512, 1024]
FLASH = 1024
CORES = (4, 8, 12)
POWERS = {"power_down": "powered down", "power_active": "always ready"}
LATENCIES_US = [0, 12, 25, 50, 100, 200, 400, 800, 1600, 3300]

# Points of a sweep, by MiB of DRAM and of flash.
Points = dict[tuple[int, int], dict[str, Any]]


def swept(trace: Path, dram: str, flash: str, objects: bool) -> Points:
    """Two-level caches and the web servers before them."""
    points = cache.sweep(trace, dram=dram, flash=flash, cores=CORES, rate=RATE, objects=objects)[
        "points"
    ]
    return {(point["dram_bytes"] >> 20, point["flash_bytes"] >> 20): point for point in points}


def table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def megabits(server: dict[str, Any]) -> str:
    return f"{server['bandwidth_bit_s'] / 1e6:,.0f}"


def main() -> None:
    print("# A web server's bandwidth\n")
    print("Printed by `scripts/pages/web_server.py`; do not edit.", end=" ")
    print("The model, and what it leaves out: [web-workloads.md](web-workloads.md).\n")
    print(
        f"{REQUESTS:,} requests, seed 1, {RATE:,.0f} a second, LRU in DRAM. Files are cached by",
        end=" ",
    )
    print("pages, or whole (`--objects`).\n")
    with TemporaryDirectory() as folder:
        for name in web.WORKLOADS:
            path = Path(folder) / f"{name}.parquet"
            made = web.generate(name, path, requests=REQUESTS)
            print(f"## {name}\n\n{made['mean_bytes'] / 1e3:.1f} kB a request.\n")
            pages = swept(path, "32MiB..1GiB", "0,1GiB", objects=False)
            whole = swept(path, "32MiB..1GiB", "0,1GiB", objects=True)
            misses(pages, whole)
            if name == "surge":
                figure3(path, pages[128, 0])
            wear = swept(path, "128MiB", "128MiB..2GiB", objects=False)
            figure5(pages, "by pages")
            figure5(whole, "whole")
            shares(pages, whole)
            figure7(wear)
            if name == "surge":
                statements(path, pages, whole, wear)
                wear_rules(path)
            path.unlink()


def misses(pages: Points, whole: Points) -> None:
    print("### Misses\n")
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
    table(head, rows)


def figure3(trace: Path, point: dict[str, Any]) -> None:
    print("### Figure 3: bandwidth against the latency of the second level\n")
    report = cache.latency(trace, cores=CORES, latencies=[f"{us}us" for us in LATENCIES_US])
    print(
        "Mbit/s, sent and received; 128 MiB of DRAM, all else in the second level. The server "
        f"takes {report['cycles_per_request']:,.0f} cycles a request and 8 a byte: the fastest "
        "with 8 cores whose DRAM misses 2,000 requests a second. The cycles of a request are the "
        "only number that is fitted.\n"
    )
    found = {(one["latency_us"], one["cores"]): one for one in report["points"]}
    rows = [
        [f"{us} us", *(megabits(found[float(us), cores]) for cores in CORES)] for us in LATENCIES_US
    ]
    table(["latency", *(f"{cores} cores" for cores in CORES)], rows)
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
    print(
        "Bandwidth lost at 500 us, and the latency that loses 5 %: with read-ahead, where a",
        end=" ",
    )
    print("request waits once, and without, where it waits for each page.\n")
    table(["cores", "at 500 us", "5 % at", "without: at 500 us", "5 % at"], rows)


def figure5(points: Points, how: str) -> None:
    print(f"### Figure 5: bandwidth against DRAM, files {how}\n")
    print("Mbit/s; in brackets flash accesses a second, and how busy flash and the disk are.\n")
    rows = []
    for dram, flash in sorted(points, key=lambda size: (size[1] == 0, size)):
        row = [f"{dram} MiB" if flash else f"{dram} MiB, no flash"]
        for server in points[dram, flash]["servers"]:
            used = server["utilization"]
            accesses = server["second_accesses_per_s"]
            also = f"{accesses:,.0f}, {used['flash']:.0%}, " if flash else ""
            row.append(f"{megabits(server)} ({also}{used['disk']:.0%})")
        rows.append(row)
    table(["DRAM", *(f"{cores} cores" for cores in CORES)], rows)


def of_dram(points: Points) -> list[float]:
    """The bandwidth with 128 MiB and 1 GiB of flash as a share of that with 1 GiB of DRAM."""
    pairs = zip(points[128, FLASH]["servers"], points[1024, 0]["servers"], strict=True)
    return [two["bandwidth_bit_s"] / one["bandwidth_bit_s"] for two, one in pairs]


def shares(pages: Points, whole: Points) -> None:
    print("### 128 MiB and 1 GiB of flash, of 1 GiB of DRAM\n")
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
    table([*head, "power, DRAM powered down", "DRAM ready", "dies"], rows)


def statements(trace: Path, pages: Points, whole: Points, wear: Points) -> None:
    """What the paper says, the values of this load, and why they differ."""
    print("### The paper's statements\n")
    print(
        f"128 MiB of DRAM and 1 GiB of flash, files by pages unless said otherwise, {RATE:,.0f}",
        end=" ",
    )
    print("requests a second.\n")
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
    design: dict[str, Any] = {"policy": "flashcache", "dram": "128MiB", "rate": RATE}
    by_block = cache.replay(short, flash="2GiB", set_values=["cache.fill=block"], **design)
    coded = cache.replay(short, flash="1GiB", ecc=4, **design)
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
    rows = [
        [
            "128 MB of DRAM and 1 GB of flash serve as much as 1 GB of DRAM (6.1, Figure 5)",
            f"{' / '.join(map(str, CORES))} cores: by pages {bandwidth['by pages']}; whole "
            f"{bandwidth['whole']}",
            "by pages is the paper's model; its file set is changed from SURGE's in a way that it "
            "does not print. See below",
        ],
        [
            "over 2.5 times less memory power than 1 GB of DRAM, even under an oracle's powerdown "
            "(6.2)",
            power,
            "its DRAM also serves the processor's own accesses, which both configurations have",
        ],
        ["40 % less die area (6.1)", f"{area:.0%}", "rounding"],
        [
            "flash is accessed less than 2,000 times a second (6.3)",
            f"{flash}; the replay: {two['flash']['accesses_per_s']:,.0f}",
            "the server is fitted to this statement; by pages its disk holds it up",
        ],
        [
            "1 GB lasts close to 100 years at 1,000,000 cycles, 10 at 100,000 (6.3, Figure 7)",
            f"{years}; the first block {first:.3g} at 1,000,000",
            "in steady state; flash is written at each of its misses, and the paper has under 1 %",
        ],
        [
            "worst case, the disk accessed all the time: 2 years for 2 GB at 1,000,000 (6.3)",
            f"{worst:.3g} with `cache.fill=block`; {worst_by_page:.3g} with a page at a miss",
            "one eviction at each disk access is a logical block at a miss",
        ],
        [
            "BCH codes: more than 5,000,000 cycles (2.1)",
            f"{cycles:,} with `--ecc 4`, rated at 100,000",
            "a model, [flashcache.md](flashcache.md); the paper prints no strength",
        ],
        [
            "over 99 % of searches of the table hit (3.1)",
            f"{searched:.1%}; {found:.1%} of pages, or {files:.1%} of whole files, are found in "
            "DRAM or flash",
            "the tail of the load: files that are requested once",
        ],
        [
            "wear-level rules are invoked twice (6.3)",
            f"hot blocks spared {rules['block_rule_fired']:,} times, sets swapped "
            f"{rules['set_rule_fired']:,} times",
            "the paper prints no thresholds",
        ],
    ]
    table(["the paper", "here", "why"], rows)
    why(pages, whole)


def why(pages: Points, whole: Points) -> None:
    """Figure 5: which of both is the paper's model, and where they part."""
    page, file = pages[128, FLASH], whole[128, FLASH]
    dram = pages[1024, 0]

    def missing(point: dict[str, Any]) -> str:
        return f"{point['whole']['misses'] / point['whole']['requests']:.2%}"

    def busy(point: dict[str, Any]) -> str:
        used = point["servers"][-1]["utilization"]
        return f"the disk {used['disk']:.0%} and the flash {used['flash']:.0%} of the time"

    design = page["provenance"]["config"]["design"]
    read, moved, size = (design["flash"][key]["value"] for key in ("read", "rate_per_s", "page"))
    read_s, rate, flash_page = (
        _core.parse_ns(read) / 1e9,
        _core.parse_bytes(moved),
        _core.parse_bytes(size),
    )
    chip = flash_page / (read_s + flash_page / rate)
    page_size = _core.parse_bytes(design["cache"]["page"]["value"])
    print(
        "**Figure 5 by pages and whole.** The paper's cache is one of pages: its Linux evicts "
        "pages, and a tag has a page's address. Flash evicts a logical block of pages of many "
        f"files, so that {missing(page)} of requests lack a page or more and wait for the disk; "
        f"they lack {page['byte_miss_ratio']:.2%} of the bytes. Whole, the block that is evicted "
        f"has whole files, or a piece of one: {missing(file)} of requests wait, for "
        f"{file['byte_miss_ratio']:.2%} of the bytes. With 1 GiB of DRAM alone "
        f"{missing(dram)} wait, for {dram['byte_miss_ratio']:.2%}.\n"
    )
    print(
        f"What limits the server with {CORES[-1]} cores differs: by pages {busy(page)} are busy, "
        f"whole {busy(file)}. One chip reads a page of {flash_page:,} bytes in "
        f"{read_s * 1e6:.0f} us and moves it at {rate / 1e6:.0f} MB/s, {chip / 1e6:.0f} MB/s in "
        "all, and the large files that are cached whole pass through it. With "
        f"{CORES[0]} cores the claim holds whole: {of_dram(whole)[0]:.0%}. The paper does not "
        "print what its flash and its disk moved; its hit ratio of over 99 % suggests that its "
        'file set missed less than this one, and "less than 2,000 accesses a second" of a page '
        f"each are {2000 * page_size / 1e6:.0f} MB/s, within what one chip reads.\n"
    )


def wear_rules(trace: Path) -> None:
    """What swaps of sets cost, on a flash so small that its blocks wear."""
    dram, flash = "8MiB", "8MiB"
    print("### Rules of wear\n")
    print(
        f"`gordon cache replay --policy flashcache --objects --dram {dram}",
        end=" ",
    )
    print(f"--flash {flash} --rate {RATE:.0f}`; `--set` as in the first column.\n")
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
            set_values=settings,
        )
        wear = replayed["wear"]
        rows.append(
            [
                " ".join(f"`{setting}`" for setting in settings) or "as the design has it",
                *(f"{wear[key]:,}" for key in ("set_rule_fired", "swap_erases", "evictions")),
                f"{wear['mean']:,.0f}",
                f"{wear['max']:,}",
            ]
        )
    table(["rules", "swaps", "erases by swaps", "evictions", "mean", "most"], rows)


def figure7(points: Points) -> None:
    print("### Figure 7: wear against flash, 128 MiB of DRAM, files by pages\n")
    print(
        "Years in steady state, of the time since the flash had been written once over; evictions",
        end=" ",
    )
    print("and deviation are of the whole run.\n")
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
    table([*head, "hot blocks spared", "sets swapped", "page misses"], rows)


if __name__ == "__main__":
    main()
