"""Caches of small objects in DRAM and flash: layouts, admission, and write amplification.

    from gordon.cache import tiered
    trace = "twitter.oracleGeneral.zst"
    report = tiered.replay(trace, dram="3MiB", flash="61MiB", layout="log-sets")
    report["miss_ratio"], report["write_amplification"], report["lifetime_years"]

`docs/design/object-cache.md` describes the model.
"""

import json
from dataclasses import dataclass
from typing import Any

from gordon import _core
from gordon.errors import GordonError
from gordon.options import Path, Progress, dealt
from gordon.runs import TraceLoad

__all__ = ["LAYOUTS", "Options", "replay"]

LAYOUTS = ("log", "sets", "log-sets")


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of a replay. Sizes are text (`256KiB`)."""

    admission: str = "all"
    """Admission policy of flash. `all`: every object. `random:0.5`: objects with this probability.
    `hits:2`: objects requested at least this often in DRAM. `ghost:64MiB`: objects offered before,
    within this many bytes of offers. `years:5`: a random fraction such that the flash lasts this
    long."""
    set_size: str = "4KiB"
    """Size of a set."""
    segment: str = "256KiB"
    """Size of a segment of a log."""
    log_share: float = 0.05
    """`log-sets`: fraction of the flash that the log takes."""
    threshold: int = 2
    """`log-sets`: minimum number of objects that move to a set together."""
    no_reinsert: bool = False
    """Do not reinsert objects with hits in the log when their segment is evicted."""
    spare: float = 0.07
    """Fraction of the flash's pages that the cache cannot use."""
    pages_per_block: int = 256
    """Pages of 4 KiB in an erase block."""
    victim: str = "greedy"
    """Victim selection of the flash's garbage collection: greedy, fifo, random, d-choices or
    cost-benefit."""
    endurance: int = 3000
    """Rated erases of a block."""
    seed: int = 1
    """Random seed."""


def _admission(text: str) -> Any:
    """Converts an admission policy, such as `random:0.5`, to the core's format."""
    if text == "all":
        return text
    name, _, value = text.partition(":")
    kinds: dict[str, Any] = {"random": float, "hits": int, "ghost": str, "years": float}
    try:
        return {name: kinds[name](value)}
    except (KeyError, ValueError):
        raise GordonError(
            f"admission: there is no `{text}`", "all, random:0.5, hits:2, ghost:64MiB or years:5"
        ) from None


def replay(
    trace: Path,
    *,
    dram: str,
    flash: str,
    layout: str = "log-sets",
    objects: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> dict[str, Any]:
    """Replays a trace through a cache of `dram` and `flash` bytes (`3MiB`, `61MiB`).

    Returns a report with hits, misses and the bytes written to flash. `layout` is one of `LAYOUTS`.
    Options are those of `Options`, and those of `gordon.runs.TraceLoad` except `repeat`. The other
    parameters are those of `gordon.cache.replay`.
    """
    load, settings = dealt(options, TraceLoad, Options)
    config = load.config(trace) | {
        "dram": dram,
        "flash": flash,
        "layout": layout,
        "admission": _admission(settings.admission),
        "objects": objects,
        "set": settings.set_size,
        "segment": settings.segment,
        "log_share": settings.log_share,
        "threshold": settings.threshold,
        "no_reinsert": settings.no_reinsert,
        "device": {
            "spare": settings.spare,
            "pages_per_block": settings.pages_per_block,
            "policy": settings.victim,
            "endurance": settings.endurance,
        },
        "seed": settings.seed,
    }
    report: dict[str, Any] = json.loads(_core.tiered_run(json.dumps(config), progress))
    return report
