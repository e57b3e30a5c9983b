#!/usr/bin/env python3
"""Prints docs/design/web-server.md: generated loads, replayed, on the model of a web server.

    python scripts/web_server.py >docs/design/web-server.md

Takes about ten minutes, and 0.1 GB of the system's temporary files. Every table is of one command:
`gordon cache sweep LOAD --flash 0,1GiB --cores 4,8,12 --rate 1000`, with --objects or without, and
`gordon cache latency LOAD`.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gordon import cache
from gordon.cache import web
from gordon.cache.server import Found, Server, loss

REQUESTS = 10_000_000
RATE = 1000.0
DRAM = [32, 64, 128, 256, 512, 1024]
FLASH = 1024
CORES = (4, 8, 12)
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
    print("Printed by `scripts/web_server.py`; do not edit.", end=" ")
    print("The model, and what it leaves out: [web-workloads.md](web-workloads.md).\n")
    print(
        f"{REQUESTS:,} requests, seed 1, {RATE:,.0f} a second, LRU in DRAM. Files are cached by",
        end=" ",
    )
    print("pages, or whole (`--objects`: files of more than 128 KiB do not go to flash).\n")
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
            figure5(pages, "by pages")
            figure5(whole, "whole")
            statements(pages, whole)
            figure7(swept(path, "128MiB", "128MiB..2GiB", objects=False))
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
    told = cache.latency(trace, cores=CORES, latencies=[f"{us}us" for us in LATENCIES_US])
    print(
        "Mbit/s, sent and received; 128 MiB of DRAM, all else in the second level. The server "
        f"takes {told['cycles_per_request']:,.0f} cycles a request and 8 a byte: the fastest with "
        "8 cores whose DRAM misses 2,000 requests a second. The cycles of a request are the only "
        "number that is fitted.\n"
    )
    found = {(one["latency_us"], one["cores"]): one for one in told["points"]}
    rows = [
        [f"{us} us", *(megabits(found[float(us), cores]) for cores in CORES)] for us in LATENCIES_US
    ]
    table(["latency", *(f"{cores} cores" for cores in CORES)], rows)
    requests = point["whole"]["requests"]
    files = Found(
        bytes=point["bytes"] / requests,
        dram_misses=told["dram_misses"],
        dram_byte_misses=told["dram_byte_misses"],
    )
    # Each page waits by itself.
    paged = replace(files, accesses=point["requests"] / requests, dram_misses=point["miss_ratio"])
    rows = []
    for cores in CORES:
        server = Server(cores=cores, cycles_per_request=told["cycles_per_request"])
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


def statements(pages: Points, whole: Points) -> None:
    print("### 128 MiB and 1 GiB of flash, of 1 GiB of DRAM\n")
    rows = []
    for how, points in (("by pages", pages), ("whole", whole)):
        two, one = points[128, FLASH], points[1024, 0]
        shares = [
            f"{mine['bandwidth_bit_s'] / its['bandwidth_bit_s']:.1%}"
            for mine, its in zip(two["servers"], one["servers"], strict=True)
        ]
        power = [
            f"{two[mode]['total_w'] * 1e3:.1f} of {one[mode]['total_w'] * 1e3:.0f} mW"
            for mode in ("power_down", "power_active")
        ]
        area = f"{two['area']['total_cm2']:.2f} of {one['area']['total_cm2']:.2f} cm2"
        rows.append([how, *shares, *power, area])
    head = ["files", *(f"bandwidth, {cores} cores" for cores in CORES)]
    table([*head, "power, DRAM powered down", "DRAM ready", "dies"], rows)


def figure7(points: Points) -> None:
    print("### Figure 7: wear against flash, 128 MiB of DRAM, files by pages\n")
    print(
        "A lifetime needs a steady state: there is none where flash was filled once or less",
        end=" ",
    )
    print("beyond its first filling.\n")
    rows = []
    for (_, flash), point in sorted(points.items()):
        wear = point["wear"]
        years = wear["lifetimes"][-1]["years"] if wear["mean"] >= 1 else None
        rows.append(
            [
                f"{flash} MiB",
                "not steady" if years is None else f"{years:.3g}",
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
