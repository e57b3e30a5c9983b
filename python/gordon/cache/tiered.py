"""Caches of small objects in DRAM and flash: layouts, admission, and write amplification.

    from gordon.cache import tiered
    trace = "twitter.oracleGeneral.zst"
    report = tiered.replay(trace, dram="3MiB", flash="61MiB", layout="log-sets")
    report["miss_ratio"], report["write_amplification"], report["lifetime_years"]

`docs/design/object-cache.md` describes the model.
"""

import json
from typing import Any

from gordon import _core
from gordon.cache.admission import admission
from gordon.options import Path, Progress, dealt
from gordon.options.caches import LAYOUTS, TieredOptions
from gordon.options.loads import TraceLoad
from gordon.reports.cache import TieredReport

__all__ = ["LAYOUTS", "replay"]


def replay(
    trace: Path,
    *,
    dram: str,
    flash: str,
    layout: str = "log-sets",
    objects: bool = False,
    progress: Progress | None = None,
    **options: Any,
) -> TieredReport:
    """Replays a trace through a cache of `dram` and `flash` bytes (`3MiB`, `61MiB`).

    Returns a report with hits, misses and the bytes written to flash. `layout` is one of `LAYOUTS`.
    Options are those of `gordon.options.caches.TieredOptions`, and those of
    `gordon.options.loads.TraceLoad` except `repeat`. The other parameters are those of
    `gordon.cache.replay`.
    """
    load, settings = dealt(options, TraceLoad, TieredOptions)
    config = load.config(trace) | {
        "dram": dram,
        "flash": flash,
        "layout": layout,
        "admission": admission(settings.admission),
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
    report: TieredReport = json.loads(_core.tiered_run(json.dumps(config), progress))
    return report
