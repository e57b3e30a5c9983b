"""Caches: the misses of replacement policies on a trace, of one level or of DRAM and flash.

    import gordon.cache
    told = gordon.cache.replay("twitter.oracleGeneral.zst", policy="s3-fifo", dram="16MiB")
    told["miss_ratio"], told["byte_miss_ratio"]
    told = gordon.cache.sweep("cdn.csv", policies="lru,sieve", dram="32MiB..1GiB")
    [(point["policy"], point["dram_bytes"], point["miss_ratio"]) for point in told["points"]]
    told = gordon.cache.mrc("cdn.csv", sample=0.01)
    two = gordon.cache.replay("web.vscsi", policy="flashcache", dram="128MiB", flash="1GiB")
    two["levels"]["flash"]["share"], two["wear"]["lifetimes"]
    gordon.cache.tables(two)["lifetimes"]; gordon.cache.to_parquet(two, "folder")

The core counts (`crates/cache`, `crates/replay`). Errors are `gordon.GordonError`, whose args are
(what, what to try).
"""

import json
from collections.abc import Sequence
from typing import Any

from gordon import _core
from gordon.cache import flashcache, serving
from gordon.cache.columns import tables, to_parquet
from gordon.cache.warmup import warm_up
from gordon.options import Path, Progress, dealt
from gordon.runs import TraceLoad
from gordon.sizes import doubling

__all__ = ["html", "latency", "mrc", "policies", "replay", "sweep", "tables", "to_parquet"]


def replay(
    trace: Path,
    *,
    policy: str = "lru",
    dram: str,
    flash: str = "0",
    objects: bool = False,
    warmup: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What a cache of `dram` bytes (`16MiB`) finds in it, as counts and ratios.

    Objects of an oracleGeneral trace or of a web server's log are cached whole. Block traces are
    cached in pages of 4 KiB; with `objects` each request is one object. `policy` is one of
    `policies()`, or `flashcache`: two levels, of which `flash` bytes are the second. Options are
    those of `gordon.runs.TraceLoad`, but for `repeat`, and with two levels those of
    `gordon.cache.flashcache.Options`; where times go backwards it is an error, unless `order` says
    otherwise. `progress` is called with
    (done, 0).

    Nothing is counted of the first requests of the trace that `warmup` names: a number (`100k`), a
    part (`20%`) or those within a time of the first (`1h`); the key `warmup` has what they were.
    """
    start = {"warmup": warm_up(warmup)}
    if policy == flashcache.NAME:
        load, two = dealt(options, TraceLoad, flashcache.Options)
        config = load.config(trace) | {"dram": dram, "objects": objects} | start
        return flashcache.run(config, two, flash, progress)
    (load,) = dealt(options, TraceLoad)
    config = load.config(trace) | start
    config |= {
        "policy": policy,
        "dram": dram,
        "flash": flash,
        "objects": objects,
    }
    told: dict[str, Any] = json.loads(_core.cache_run(json.dumps(config), progress))
    return told


def sweep(
    trace: Path,
    *,
    policies: str | Sequence[str] = ("lru",),
    dram: str | Sequence[str],
    flash: str | Sequence[str] | None = None,
    cores: Sequence[int] = (),
    objects: bool = False,
    warmup: str | None = None,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What caches of each policy and size find in it, from one reading: `points`, each as `replay`
    tells it, by policy, in that by size, and in that by size of flash.

    `policies` are names, `lru,sieve` or a list; `all` is every one of `policies()`. `dram` is
    `32MiB..1GiB`, which doubles from one to the other, or `32MiB,1GiB`, or a list. With `flash`, or
    `cores`, points have two levels (`flashcache`), of which the policies are those of DRAM, and 0
    is DRAM alone; each has `servers`, the bandwidth of web servers of so many cores. The rest is as
    for `replay`. Caches are asked on all cores.
    """
    names = policies.split(",") if isinstance(policies, str) else list(policies)
    if names == ["all"]:
        names = [name for name, _, _ in _core.cache_policies()]
    sizes = doubling(dram, "--dram")
    start = {"warmup": warm_up(warmup)}
    if flash is not None or cores:
        load, two = dealt(options, TraceLoad, flashcache.Options)
        below = doubling("0" if flash is None else flash, "--flash", none=True)
        each = [
            {"dram_policy": name, "dram": f"{size}B", "flash": f"{under}B"}
            for name in dict.fromkeys(names)
            for size in sizes
            for under in below
        ]
        common = load.config(trace) | {"objects": objects} | start
        points = flashcache.sweep(common, two, each, progress)
        return {"points": serving.served(points, cores) if cores else points}
    (load,) = dealt(options, TraceLoad)
    common = load.config(trace) | {"objects": objects} | start
    configs = [
        common | {"policy": name, "dram": f"{size}B"}
        for name in dict.fromkeys(names)
        for size in sizes
    ]
    return {"points": json.loads(_core.cache_sweep(json.dumps(configs), progress))}


def latency(
    trace: Path,
    *,
    dram: str = "128MiB",
    cores: Sequence[int] = (4, 8, 12),
    latencies: Sequence[str],
    objects: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The bandwidth of web servers by the access latency of a second page cache: Figure 3 of the
    FlashCache paper (Kgil and Mudge, CASES 2006).

    The trace is replayed through DRAM of `dram` bytes; what that does not have comes from a memory
    of each of `latencies` (`100us`), any number of accesses at a time. `points` are by latency, in
    that by cores: `bandwidth_bit_s`, sent and received, and `loss`, the part of it that the latency
    costs. The server is that of `sweep`. Options are those of `gordon.runs.TraceLoad`.
    """
    (load,) = dealt(options, TraceLoad)
    config = load.config(trace) | {"dram": dram, "objects": objects}
    # When requests come does not change what is found.
    replayed = flashcache.run(config, flashcache.Options(rate=1.0), "0", progress)
    return serving.by_latency(replayed, cores, latencies)


def html(told: dict[str, Any]) -> str:
    """What `sweep`, `mrc` or `gordon.cache.tiered.replay` told, as one HTML file."""
    from gordon.report import cache, curve, flashcache, tiered

    if "sampled_requests" in told:
        return curve.render(told)
    if "layout" in told:
        return tiered.render(told)
    return flashcache.render(told) if "levels" in told["points"][0] else cache.render(told)


def mrc(
    trace: Path,
    *,
    dram: str | Sequence[str] | None = None,
    sample: float | None = None,
    keep: int | None = None,
    objects: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What LRU caches of many sizes miss, from one reading: the miss-ratio curve.

    `dram` as for `sweep`; without it, a thousandth of all there is to cache, and on to all of it.
    All objects count, unless `sample` is the share of them that do (0.01), or `keep` how many at a
    time (8192): SHARDS. The rest is as for `replay`.
    """
    (load,) = dealt(options, TraceLoad)
    sizes = [] if dram is None else doubling(dram, "--dram")
    config = load.config(trace) | {
        "dram": [f"{size}B" for size in sizes],
        "objects": objects,
        "sample": sample,
        "keep": keep,
    }
    told: dict[str, Any] = json.loads(_core.cache_curve(json.dumps(config), progress))
    return told


def policies() -> list[tuple[str, str, str]]:
    """Each policy: its name, which object it evicts, and the paper or program it follows."""
    return _core.cache_policies()
