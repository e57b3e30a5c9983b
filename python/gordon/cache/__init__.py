"""Caches: what a replacement policy would have had of what a trace asks for.

    import gordon.cache
    told = gordon.cache.replay("twitter.oracleGeneral.zst", policy="s3-fifo", dram="16MiB")
    told["miss_ratio"], told["byte_miss_ratio"]
    two = gordon.cache.replay("web.vscsi", policy="flashcache", dram="128MiB", flash="1GiB")
    two["levels"]["flash"]["share"], two["wear"]["lifetimes"]

The core counts (`crates/cache`, `crates/replay`). Errors are `gordon.GordonError`, whose args are
(what, what to try).
"""

import json
from typing import Any

from gordon import _core
from gordon.cache import flashcache
from gordon.runs import Path, Progress, TraceLoad, dealt

__all__ = ["policies", "replay"]


def replay(
    trace: Path,
    *,
    policy: str = "lru",
    dram: str,
    flash: str = "0",
    objects: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """What a cache of `dram` bytes (`16MiB`) finds in it, as counts and ratios.

    Objects of an oracleGeneral trace or of a web server's log are cached whole. Block traces are
    cached in pages of 4 KiB; with `objects` each request is one object. `policy` is one of `policies()`, or `flashcache`: two
    levels, of which `flash` bytes are the second. Options are those of `gordon.runs.TraceLoad`, but
    for `repeat`, and with two levels those of `gordon.cache.flashcache.Options`; where
    times go backwards it is an error, unless `order` says otherwise. `progress` is called with
    (done, 0).
    """
    if policy == flashcache.NAME:
        load, two = dealt(options, TraceLoad, flashcache.Options)
        config = load.config(trace) | {"dram": dram, "objects": objects}
        return flashcache.run(config, two, flash, progress)
    (load,) = dealt(options, TraceLoad)
    config = load.config(trace) | {
        "policy": policy,
        "dram": dram,
        "flash": flash,
        "objects": objects,
    }
    told: dict[str, Any] = json.loads(_core.cache_run(json.dumps(config), progress))
    return told


def policies() -> list[tuple[str, str, str]]:
    """Name, what goes when there is no room, and what it follows, of each policy."""
    return _core.cache_policies()
