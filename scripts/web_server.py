#!/usr/bin/env python3
"""Prints docs/design/web-server.md: generated loads, replayed, on the model of a web server.

    python scripts/web_server.py >docs/design/web-server.md

Takes two minutes, and 0.1 GB beside the system's temporary files.
"""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gordon import cache
from gordon.cache import web
from gordon.cache.server import Found, Server, fitted, loss, serve, slow_memory

REQUESTS = 10_000_000
DRAM = [32, 64, 128, 256, 512, 1024]
FLASH = 1024
CORES = (4, 8, 12)
LATENCIES_US = [0, 12, 25, 50, 100, 200, 400, 800, 1600, 3300]

# A load and a way to read it: (misses, byte misses) by the MiB of a cache.
Ratios = dict[int, tuple[float, float]]


def ratios(trace: Path, objects: bool) -> tuple[Ratios, float]:
    """What LRU caches miss, and accesses in all."""
    found: Ratios = {}
    for size in [*DRAM, *(d + FLASH for d in DRAM)]:
        told = cache.replay(trace, dram=f"{size}MiB", objects=objects)
        found[size] = (told["miss_ratio"], told["byte_miss_ratio"])
    return found, told["requests"]


def found(mean_bytes: float, accesses: float, of: Ratios, dram: int) -> Found:
    """DRAM, and 1 GiB of flash that has what an LRU cache of both has and DRAM has not."""
    here, below = of[dram], of[dram + FLASH]
    return Found(
        bytes=mean_bytes,
        accesses=accesses,
        dram_misses=here[0],
        dram_byte_misses=here[1],
        flash_misses=below[0] / here[0],
        flash_byte_misses=below[1] / here[1],
    )


def table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def megabits(told: dict[str, float]) -> str:
    return f"{told['bandwidth_bit_s'] / 1e6:,.0f}"


def main() -> None:
    print("# A web server's bandwidth\n")
    print("Printed by `scripts/web_server.py`; do not edit.", end=" ")
    print("What the model is, and what it leaves", end=" ")
    print("out: [web-workloads.md](web-workloads.md).\n")
    loads = {}
    with TemporaryDirectory() as folder:
        for name in web.WORKLOADS:
            path = Path(folder) / f"{name}.parquet"
            made = web.generate(name, path, requests=REQUESTS)
            whole, _ = ratios(path, objects=True)
            pages, accesses = ratios(path, objects=False)
            loads[name] = (made, whole, pages, accesses / made["requests"])
    print(f"## What DRAM misses\n\n{REQUESTS:,} requests, seed 1, LRU; whole files, and pages.\n")
    head = ["DRAM"]
    for name, (made, _, _, accesses) in loads.items():
        mean = f"{made['mean_bytes'] / 1e3:.1f} kB, {accesses:.2f} pages"
        head += [f"{name} ({mean}): requests", "bytes", "pages"]
    rows = []
    for size in DRAM:
        row = [f"{size} MiB"]
        for _, whole, pages, _ in loads.values():
            row += [f"{whole[size][0]:.4f}", f"{whole[size][1]:.4f}", f"{pages[size][0]:.4f}"]
        rows.append(row)
    table(head, rows)

    made, whole, pages, accesses = loads["surge"]
    mean = made["mean_bytes"]
    at_128 = found(mean, 1.0, whole, 128)
    by_page = found(mean, accesses, pages, 128)
    eight = fitted(at_128)
    servers = {cores: replace(eight, cores=cores) for cores in CORES}
    print("## The server that is fitted\n")
    print(
        f"SURGE, 8 cores, 128 MiB: {eight.cycles_per_request:,.0f} cycles a request and "
        f"{eight.cycles_per_byte:.0f} a byte, so that what DRAM has not is asked for 2,000 times a "
        "second. The cycles of a request are the only number that is fitted.\n"
    )
    print("## Figure 3: bandwidth against the latency of the second level\n")
    print(
        "Mbit/s, sent and received; 128 MiB of DRAM, all else in the second level. The last three "
        "columns let each page wait by itself (no read-ahead), with the same server.\n"
    )
    none = {"flash_misses": 0.0, "flash_byte_misses": 0.0}
    figure3(servers, replace(at_128, **none), replace(by_page, **none))
    for name in loads:
        figure5(name, servers, loads[name])
    statements(servers, at_128, by_page, found(mean, 1.0, whole, 1024))


def figure3(servers: dict[int, Server], at_128: Found, by_page: Found) -> None:
    head = ["latency", *(f"{cores} cores" for cores in CORES)]
    rows = []
    for us in LATENCIES_US:
        memory = slow_memory(us * 1e-6)
        row = [f"{us} us"]
        for requests in (at_128, by_page):
            row += [megabits(serve(servers[cores], requests, memory)) for cores in CORES]
        rows.append(row)
    table([*head, *(f"{cores} cores, by page" for cores in CORES)], rows)


def figure5(name: str, servers: dict[int, Server], load: Any) -> None:
    made, whole, _, _ = load
    print(f"## Figure 5: bandwidth against DRAM, with 1 GiB of flash: {name}\n")
    print("Mbit/s; in brackets how often flash is accessed a second, and how busy it is.\n")
    rows = []
    for size in DRAM:
        requests = found(made["mean_bytes"], 1.0, whole, size)
        row = [f"{size} MiB"]
        for cores in CORES:
            told = serve(servers[cores], requests)
            busy = f"{told['second_accesses_per_s']:,.0f}, {told['utilization']['flash']:.0%}"
            row.append(f"{megabits(told)} ({busy})")
        rows.append(row)
    for size in (128, 1024):
        requests = found(made["mean_bytes"], 1.0, whole, size)
        alone = [megabits(serve(servers[cores], requests, None)) for cores in CORES]
        rows.append([f"{size} MiB, no flash", *alone])
    table(["DRAM", *(f"{cores} cores" for cores in CORES)], rows)


def statements(servers: dict[int, Server], at_128: Found, by_page: Found, alone: Found) -> None:
    print("## The paper's statements\n")
    rows = []
    for cores in CORES:
        server = servers[cores]
        told, dram = serve(server, at_128), serve(server, alone, None)
        knee = next(us for us in range(10, 10**6, 10) if loss(server, at_128, us * 1e-6) > 0.05)
        by_pages = next(
            us for us in range(10, 10**6, 10) if loss(server, by_page, us * 1e-6) > 0.05
        )
        rows.append(
            [
                f"{cores}",
                f"{loss(server, at_128, 500e-6):.2%}",
                f"{loss(server, by_page, 500e-6):.2%}",
                f"{knee / 1e3:.2f} ms",
                f"{by_pages / 1e3:.2f} ms",
                f"{told['second_accesses_per_s']:,.0f}",
                f"{told['bandwidth_bit_s'] / dram['bandwidth_bit_s']:.1%}",
            ]
        )
    head = ["cores", "500 us cost", "by page", "5 % are lost at", "by page"]
    head += ["flash accesses a second", "128 MiB + 1 GiB flash, of 1 GiB DRAM"]
    table(head, rows)


if __name__ == "__main__":
    main()
