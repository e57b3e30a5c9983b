"""Caches: the misses of replacement policies on a trace, of one level or of DRAM and flash.

    import gordon.cache
    report = gordon.cache.replay("twitter.oracleGeneral.zst", policy="s3-fifo", dram="16MiB")
    report["miss_ratio"], report.byte_miss_ratio
    swept = gordon.cache.sweep("cdn.csv", policies="lru,sieve", dram="32MiB..1GiB")
    [(point["policy"], point["dram_bytes"], point["miss_ratio"]) for point in swept["points"]]
    curve = gordon.cache.mrc("cdn.csv", sample=0.01)
    two = gordon.cache.replay("web.vscsi", policy="flashcache", dram="128MiB", flash="1GiB")
    two["levels"]["flash"]["share"], two["wear"]["lifetimes"]
    two.columns("lifetimes"); two.to_polars(); two.to_parquet("folder")

`ObjectCache` is a cache with bytes in DRAM and flash:

    with gordon.cache.ObjectCache(dram="64MiB", flash="folder", flash_size="1GiB") as cache:
        cache.put(b"key", b"body"); cache.get(b"key"); cache.stats()["flash_hits"]

The core replays the trace (`crates/cache`, `crates/replay`). A failure raises `gordon.GordonError`.
"""

import json
from collections.abc import Sequence
from dataclasses import fields
from os import fspath
from typing import Any, Literal, Unpack, overload

from gordon import _core
from gordon.cache import flashcache, own, serving, tiered, web
from gordon.cache.objects import CachedObject, ObjectCache
from gordon.cache.own import Chooser, OwnPolicy
from gordon.cache.result import (
    CacheResult,
    CacheSweepResult,
    CurveResult,
    LatencyResult,
    TwoLevelResult,
    TwoLevelSweepResult,
)
from gordon.cache.warmup import warm_up
from gordon.errors import GordonError
from gordon.options import Path, Progress, Size, dealt, in_bytes, keywords, several
from gordon.options.caches import FlashCacheOptions, SecondLevel
from gordon.options.explicit import explicit
from gordon.options.loads import TraceLoad
from gordon.own import name_of
from gordon.reports.cache import CacheReport
from gordon.sizes import doubling

__all__ = [
    "CacheResult",
    "CacheSweepResult",
    "CachedObject",
    "Chooser",
    "CurveResult",
    "LatencyResult",
    "ObjectCache",
    "OwnPolicy",
    "TwoLevelResult",
    "TwoLevelSweepResult",
    "latency",
    "mrc",
    "policies",
    "replay",
    "sweep",
    "tiered",
    "web",
]


@overload
def replay(
    trace: Path,
    *,
    policy: Literal["flashcache"],
    dram: Size,
    flash: Size = "0",
    objects: bool = False,
    warmup: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.Cache],
) -> TwoLevelResult: ...
@overload
def replay(
    trace: Path,
    *,
    policy: keywords.CachePolicy | OwnPolicy = "lru",
    dram: Size,
    flash: Size = "0",
    objects: bool = False,
    warmup: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.TraceLoad],
) -> CacheResult: ...
@explicit(TraceLoad, FlashCacheOptions, without=["repeat"])
def replay(
    trace: Path,
    *,
    policy: str | OwnPolicy = "lru",
    dram: Size,
    flash: Size = "0",
    objects: bool = False,
    warmup: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> CacheResult | TwoLevelResult:
    """Replays a trace through a cache and returns its report: counts of hits and misses, ratios.

    `dram` is the size of the cache in bytes (`16MiB`). `policy` is one of `policies()`, a class of
    your own (`gordon.cache.own`) or the place of one (`mine.py:Fifo`), or `flashcache`, a cache of
    two levels whose second level has `flash` bytes.

    Objects of an oracleGeneral trace or of a web server's log are cached whole. Block traces are
    cached in pages of 4 KiB; with `objects`, each request is one object.

    Times that go backwards are an error, unless `order` permits them. `progress` is called with
    (done, 0).

    `warmup` excludes the first requests of the trace from all counters. It is a number of requests
    (`100k`), a share of the trace (`20%`), or a time since the first request (`1h`). The key
    `warmup` of the report describes the excluded requests.
    """
    start = {"warmup": warm_up(warmup)}
    if policy == flashcache.NAME:
        load, two = dealt({**options}, TraceLoad, FlashCacheOptions)
        config = load.config(trace) | {"dram": in_bytes(dram, "--dram"), "objects": objects} | start
        return TwoLevelResult(flashcache.run(config, two, in_bytes(flash, "--flash"), progress))
    for field in fields(FlashCacheOptions):
        if field.name in options:
            raise GordonError(
                f"{field.name} applies to two cache levels only",
                f'policy="{flashcache.NAME}"',
                kind="needs-option",
            )
    (load,) = dealt({**options}, TraceLoad)
    config = load.config(trace) | start
    config |= {
        "dram": in_bytes(dram, "--dram"),
        "flash": in_bytes(flash, "--flash"),
        "objects": objects,
    }
    chosen = own.named(policy)
    if not isinstance(chosen, str):
        return CacheResult(own.replay(config, chosen, progress))
    text = json.dumps(config | {"policy": chosen})
    return CacheResult(json.loads(_core.cache_run(text, progress)))


@explicit(TraceLoad, FlashCacheOptions, without=["repeat", "dram_policy"])
def sweep(
    trace: Path,
    *,
    policies: str | OwnPolicy | Sequence[str | OwnPolicy] = ("lru",),
    dram: Size | Sequence[Size],
    flash: Size | Sequence[Size] | None = None,
    cores: Sequence[int] = (),
    objects: bool = False,
    warmup: str | None = None,
    progress: Progress | None = None,
    **options: Unpack[keywords.Cache],
) -> CacheSweepResult | TwoLevelSweepResult:
    """Replays a trace through caches of each policy and size, in one reading of the trace.

    Returns `points`, a list of reports as those of `replay`, ordered by policy, then by size, then
    by size of flash. The replay uses all cores of the machine.

    `policies` are names, as text (`lru,sieve`) or as a list; `all` stands for all of `policies()`.
    A list may have classes of your own, which read the trace once each; `mine.py:Fifo` is one in
    text.
    `dram` is a range of sizes that double (`32MiB..1GiB`), several sizes (`32MiB,1GiB`), or a list.

    With `flash` or `cores`, caches have two levels (`flashcache`). `policies` are then those of
    DRAM, and a `flash` of 0 is DRAM alone. With `cores`, each point has `servers`: the bandwidth of
    a web server with each of these numbers of cores.

    The other parameters are those of `replay`.
    """
    if isinstance(policies, str):
        listed: list[str | OwnPolicy] = [*policies.split(",")]
    else:
        listed = [policies] if callable(policies) else list(policies)
    if listed == ["all"]:
        listed = [name for name, _, _ in _core.cache_policies()]
    chosen = [own.named(policy) for policy in dict.fromkeys(listed)]
    names = [policy for policy in chosen if isinstance(policy, str)]
    titles = [policy if isinstance(policy, str) else name_of(policy) for policy in chosen]
    for title in titles:
        if titles.count(title) > 1:
            raise GordonError(
                f"two policies are named {title}, and results are listed by policy name",
                "rename one of the classes",
                kind="same-name",
            )
    sizes = doubling(dram, "--dram")
    start = {"warmup": warm_up(warmup)}
    if flash is not None or cores:
        load, two = dealt({**options}, TraceLoad, FlashCacheOptions)
        if len(names) < len(chosen):
            raise GordonError(
                "a policy of your own is for a cache of one level",
                "leave out --flash and --cores",
                kind="one-level-only",
            )
        below = doubling("0" if flash is None else flash, "--flash", none=True)
        each = [
            {"dram_policy": name, "dram": f"{size}B", "flash": f"{under}B"}
            for name in names
            for size in sizes
            for under in below
        ]
        common = load.config(trace) | {"objects": objects} | start
        points = flashcache.sweep(common, two, each, progress)
        return TwoLevelSweepResult({"points": serving.served(points, cores) if cores else points})
    (load,) = dealt({**options}, TraceLoad)
    common = load.config(trace) | {"objects": objects} | start
    configs = [common | {"policy": name, "dram": f"{size}B"} for name in names for size in sizes]
    # Built-in policies share one reading of the trace.
    has_only_own = chosen and not names
    readings = bool(names) + (len(chosen) - len(names)) * len(sizes)
    if fspath(trace) == "-" and readings > 1:
        raise GordonError(
            "-: a policy of your own reads the trace once for each size, and standard input is "
            "read once",
            "a file in place of -",
            kind="unseekable",
        )
    text = "[]" if has_only_own else _core.cache_sweep(json.dumps(configs), progress)
    swept = iter(json.loads(text))
    replayed: list[CacheReport] = [
        next(swept)
        if isinstance(policy, str)
        else own.replay(common | {"dram": f"{size}B"}, policy, progress)
        for policy in chosen
        for size in sizes
    ]
    return CacheSweepResult({"points": replayed})


@explicit(TraceLoad, without=["repeat"])
def latency(
    trace: Path,
    *,
    dram: Size = SecondLevel.dram,
    cores: Sequence[int] = SecondLevel.cores,
    latencies: Sequence[str] = SecondLevel.latencies,
    objects: bool = False,
    progress: Progress | None = None,
    **options: Unpack[keywords.TraceLoad],
) -> LatencyResult:
    """Computes the bandwidth of web servers by the access latency of a second page cache.

    This is Figure 3 of the FlashCache paper (Kgil and Mudge, CASES 2006). The trace is replayed
    through DRAM of `dram` bytes. All misses of DRAM are served by a second memory with each of
    `latencies` (`100us`), which handles any number of accesses at a time.

    `points` are ordered by latency, then by cores. Each has `bandwidth_bit_s`, sent and received,
    and `loss`, the fraction of the bandwidth that the latency costs. The server is that of `sweep`.
    """
    (load,) = dealt({**options}, TraceLoad)
    seconds = serving.in_seconds(several(latencies))
    config = load.config(trace) | {"dram": in_bytes(dram, "--dram"), "objects": objects}
    # When requests come does not change what is found.
    replayed = flashcache.run(config, FlashCacheOptions(rate=1.0), "0", progress)
    return LatencyResult(serving.by_latency(replayed, cores, seconds))


@explicit(TraceLoad, without=["repeat"])
def mrc(
    trace: Path,
    *,
    dram: Size | Sequence[Size] | None = None,
    sample: float | None = None,
    keep: int | None = None,
    objects: bool = False,
    progress: Progress | None = None,
    **options: Unpack[keywords.TraceLoad],
) -> CurveResult:
    """Computes the miss-ratio curve of LRU: the misses at many sizes, from one reading.

    `dram` has the sizes, as for `sweep`; by default they range from a thousandth of the bytes to
    cache to all of them.

    The curve is exact by default. `sample` (0.01) or `keep` (8192) samples the objects, as SHARDS
    does: with a fixed share of the objects, or with a fixed number of objects at a time.

    The other parameters are those of `replay`.
    """
    (load,) = dealt({**options}, TraceLoad)
    sizes = [] if dram is None else doubling(dram, "--dram")
    config = load.config(trace) | {
        "dram": [f"{size}B" for size in sizes],
        "objects": objects,
        "sample": sample,
        "keep": keep,
    }
    return CurveResult(json.loads(_core.cache_curve(json.dumps(config), progress)))


def policies() -> list[tuple[str, str, str]]:
    """Returns each policy: its name, which object it evicts, and the paper or program it
    follows."""
    return _core.cache_policies()


def __dir__() -> list[str]:
    return __all__
