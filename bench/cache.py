"""How fast caches are simulated, and their misses, compared with libCacheSim if it can be imported.

    python bench/cache.py                                          # a made load
    GORDON_CACHE_TRACE=twitter.oracleGeneral.bin python bench/cache.py 2MiB 16MiB 64MiB

The trace is of oracleGeneral, not compressed; without one it is made here: two million requests
with a heavy tail. libCacheSim comes with `pip install libcachesim==0.3.5`. Both read the file, each
time in a process of its own, as libCacheSim's random numbers continue from run to run; rates are
requests per second of CPU time, the best of three runs. Counters of its W-TinyLFU take 58 times
the cache. A policy in Python is compared with the same built-in one. FlashCache is also run with
objects in pieces; its lines have the number of operations. Those of the cache with bytes have the
bytes that purges by prefix read and write.
The goal is twice libCacheSim's rate for LRU and S3-FIFO. How fast the policies are without reading:
`cargo run --release -p gordon-cache --example cache_rate`.
"""

from __future__ import annotations

import os
import random
import struct
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import Any, TypeVar

from gordon import cache
from gordon._core import parse_bytes
from gordon.cache import tiered, web

#: Runs of each; the cheapest counts.
REPEAT = 3
#: libCacheSim's names.
THEIRS = {
    "fifo": "FIFO",
    "lru": "LRU",
    "clock": "Clock",
    "sieve": "Sieve",
    "s3-fifo": "S3FIFO",
    "arc": "ARC",
    "w-tinylfu": "WTinyLFU",
    "lecar": "LeCaR",
    "belady": "Belady",
}
#: Policies that have to be twice as fast.
GOALS = ("lru", "s3-fifo")
#: DRAM and flash of two levels, which are to be as fast as libCacheSim's LRU is with that DRAM.
LEVELS = (("16MiB", "128MiB"), ("128MiB", "1GiB"))
#: DRAM and flash of two levels for objects larger than a logical block, which are kept in pieces.
PIECES = ("1GiB", "8GiB")
#: Smallest object in bytes, and the number of sizes. A logical block of flash has 64 KiB.
SMALL_OBJECTS, LARGE_OBJECTS = (50, 400), (100_000, 400_000)
#: DRAM and flash of a cache of small objects: those of Kangaroo's simulator in docs/design.
SMALL = ("3MiB", "61MiB")
#: DRAM and flash of a cache with bytes, its part of sets, and the numbers of objects and requests.
STORED, SETS, POPULATION, ASKED = ("512KiB", "8MiB"), 0.9, 100_000, 150_000
#: Size of a half of the journal where the replay has one, and the number of purges by prefix.
JOURNAL, PURGES = "128KiB", 100
#: Requests that are generated.
GENERATED = 1_000_000
#: Requests for objects in pieces.
LARGE = 2_000_000

T = TypeVar("T")


def make(path: Path, requests: int, sizes: tuple[int, int] = SMALL_OBJECTS) -> None:
    """A trace of objects whose popularity has a heavy tail."""
    draw, (least, spread) = random.Random(1), sizes
    keys = [int(draw.paretovariate(0.4)) % 2**40 for _ in range(requests)]
    following: dict[int, int] = {}
    nexts = []
    for number in range(requests - 1, -1, -1):
        nexts.append(following.get(keys[number], -1))
        following[keys[number]] = number
    with path.open("wb") as file:
        for number, (key, coming) in enumerate(zip(keys, reversed(nexts), strict=True)):
            size = least + key * 7919 % spread
            file.write(struct.pack("<IQIq", number // 1000, key, size, coming))


def is_here() -> bool:
    """Whether there is something to compare with."""
    try:
        import_module("libcachesim")
    except ImportError as error:
        print(f"libCacheSim is not here, nothing to compare with: {error}")
        return False
    return True


def best(replay: Callable[[], T]) -> tuple[T, float]:
    """The result, such as the misses, and the CPU seconds of the cheapest run."""
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        runs = [pool.apply(timed, (replay,)) for _ in range(REPEAT)]
    return runs[0][0], min(took for _, took in runs)


def timed(replay: Callable[[], T]) -> tuple[T, float]:
    """The result and CPU seconds."""
    start = time.process_time()
    result = replay()
    return result, time.process_time() - start


class Fifo:
    """First in, first out, as a person writes it."""

    def __init__(self, capacity: int) -> None:
        self.queue: deque[int] = deque()

    def hit(self, key: int) -> None:
        pass

    def insert(self, key: int, size: int) -> None:
        self.queue.append(key)

    def evict(self) -> int:
        return self.queue.popleft()


def ours(trace: Path, size: str, policy: Any) -> int:
    """Misses."""
    report = cache.replay(trace, policy=policy, dram=size, format="oracleGeneral")
    return int(report["misses"])


def two_levels(trace: Path, dram: str, flash: str) -> tuple[int, str]:
    """Misses of FlashCache, timing, power and wear included, and the number of its operations."""
    report = cache.replay(
        trace, policy="flashcache", dram=dram, flash=flash, format="oracleGeneral"
    )
    assert "levels" in report
    counts, backend = report["flash"], report["backend"]
    assert counts is not None
    return int(report["misses"]), (
        f"{report['table']['lookups']:,} lookups, {counts['pages_read']:,} pages read, "
        f"{counts['pages_programmed']:,} programmed, {counts['erases']:,} erases, "
        f"{backend['reads']:,} reads of the disk"
    )


def small_objects(trace: Path, layout: Any, journal: str = "0") -> int:
    """Misses of a cache of small objects, the flash beneath included."""
    dram, flash = SMALL
    levels: Any = {"dram": dram, "flash": flash, "layout": layout, "journal": journal}
    return int(tiered.replay(trace, format="oracleGeneral", **levels)["misses"])


def generated(workload: Any) -> int:
    """Requests of a generated load, written to a file."""
    with tempfile.TemporaryDirectory() as folder:
        made = web.generate(workload, Path(folder) / "web.parquet", requests=GENERATED)
    return int(made["requests"])


def theirs(trace: Path, size: str, policy: str) -> int:
    """Misses of libCacheSim."""
    peer: Any = import_module("libcachesim")
    reader = peer.TraceReader(str(trace), peer.TraceType.ORACLE_GENERAL_TRACE)
    ratio, _ = getattr(peer, THEIRS[policy])(parse_bytes(size)).process_trace(reader)
    return int(0.5 + ratio * reader.get_num_of_req())


def main() -> None:
    sizes = sys.argv[1:] or ["16MiB"]
    peer = is_here()
    with tempfile.TemporaryDirectory() as folder:
        given = os.environ.get("GORDON_CACHE_TRACE")
        trace = Path(given) if given else Path(folder) / "made.bin"
        if not given:
            make(trace, 2_000_000)
        requests = trace.stat().st_size // 24
        print(f"{requests:,} requests")
        for size in sizes:
            fifo_took = 0.0
            for policy in THEIRS:
                misses, took = best(partial(ours, trace, size, policy))
                fifo_took = took if policy == "fifo" else fifo_took
                line = f"{size} {policy}: " + rate(misses, requests, took)
                if peer:
                    line += compared(trace, size, policy, misses, requests / took)
                print(line, flush=True)
            misses, took = best(partial(ours, trace, size, Fifo))
            line = f"{size} fifo in Python: {rate(misses, requests, took)}"
            print(f"{line}; {took / fifo_took:.1f} times the time of fifo", flush=True)
        for dram, flash in LEVELS:
            (misses, counts), took = best(partial(two_levels, trace, dram, flash))
            line = f"flashcache {dram} + {flash}: {rate(misses, requests, took)}; {counts}"
            if peer:
                _, other = best(partial(theirs, trace, dram, "lru"))
                line += f"; libCacheSim's LRU {requests / other / 1e6:.1f} M: "
                line += f"{other / took:.2f} times"
            print(line, flush=True)
        for layout in tiered.LAYOUTS:
            misses, took = best(partial(small_objects, trace, layout))
            print(f"tiered {layout} {' + '.join(SMALL)}: " + rate(misses, requests, took))
        misses, took = best(partial(small_objects, trace, "log-sets", JOURNAL))
        print(f"the last one with a journal of {JOURNAL}: {rate(misses, requests, took)}")
        in_pieces(Path(folder) / "large.bin")
        for sets in (None, SETS):
            print(with_bytes(Path(folder) / f"sets {sets}", sets), flush=True)
    for workload in ("surge", "specweb99"):
        count, took = best(partial(generated, workload))
        print(f"generate {workload}: {count / took / 1e6:.2f} M requests a CPU second", flush=True)


def in_pieces(trace: Path) -> None:
    """FlashCache with objects that are larger than a logical block of its flash."""
    make(trace, LARGE, LARGE_OBJECTS)
    (misses, counts), took = best(partial(two_levels, trace, *PIECES))
    line = f"flashcache {' + '.join(PIECES)}, {LARGE:,} requests for objects in pieces: "
    print(line + f"{rate(misses, LARGE, took)}; {counts}", flush=True)


def with_bytes(folder: Path, sets: float | None) -> str:
    """The cache with bytes under small objects, with and without sets behind its log."""
    folder.mkdir()
    draw = random.Random(1)
    dram, flash = STORED
    start = time.process_time()
    with cache.ObjectCache(dram=dram, flash=folder, flash_size=flash, sets=sets) as stored:
        for _ in range(ASKED):
            number = int(draw.random() ** 3 * POPULATION)
            key = number.to_bytes(4, "little")
            if stored.get(key) is None:
                stored.put(key, bytes(40 + number * 7919 % 400))
        took = time.process_time() - start
        counts = stored.stats()
        purged = purge(stored)
    start = time.perf_counter()
    with cache.ObjectCache(dram=dram, flash=folder, flash_size=flash, sets=sets):
        opened = time.perf_counter() - start
    layout = "log" if sets is None else f"log before sets ({sets:.0%} of the flash)"
    return (
        f"objects with bytes, {layout}, {dram} + {flash}: misses {counts['misses'] / ASKED:.4f}, "
        f"{ASKED / took / 1e3:.1f} k a CPU second; {counts['index_bytes_per_object']:.2f} bytes of "
        f"index for each object, {counts['write_amplification']:.2f} bytes written for each "
        f"admitted, {counts['refused_bytes']:,} bytes refused; {purged}, opened after that in "
        f"{opened * 1e3:.1f} ms"
    )


def purge(stored: cache.ObjectCache) -> str:
    """The cost of purges by prefix, each of a 256th of the objects."""
    before, start = stored.stats(), time.perf_counter()
    for first in range(PURGES):
        stored.purge(bytes([first]))
    took, after = time.perf_counter() - start, stored.stats()
    read = after["read_bytes"] - before["read_bytes"]
    written = after["written_bytes"] - before["written_bytes"]
    return (
        f"{PURGES} purges by prefix {took / PURGES * 1e3:.2f} ms each, {read:,} bytes read, "
        f"{written:,} written"
    )


def rate(misses: int, requests: int, took: float) -> str:
    return f"misses {misses / requests:.4f}, {requests / took / 1e6:.1f} M a CPU second"


def compared(trace: Path, size: str, policy: str, misses: int, rate: float) -> str:
    """The misses and the rate of libCacheSim, relative to ours."""
    found, took = best(partial(theirs, trace, size, policy))
    other = trace.stat().st_size // 24 / took
    same = "the same" if found == misses else f"{misses - found:+,}"
    goal = f"; {rate / other / 2:.2f} of the goal" if policy in GOALS else ""
    return f"; libCacheSim misses {same}, {other / 1e6:.1f} M: {rate / other:.1f} times{goal}"


if __name__ == "__main__":
    main()
