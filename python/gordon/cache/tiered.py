"""Caches of small objects in DRAM and flash: layouts, admission, and write amplification.

    from gordon.cache import tiered
    trace = "twitter.oracleGeneral.zst"
    report = tiered.replay(trace, dram="3MiB", flash="61MiB", layout="log-sets")
    report["miss_ratio"], report["write_amplification"], report["lifetime_years"]

`docs/design/object-cache.md` describes the model.
"""

import json
from typing import Unpack

from gordon import _core
from gordon.cache.admission import admission
from gordon.cache.result import TieredResult
from gordon.options import Path, Progress, Size, dealt, in_bytes, keywords
from gordon.options.caches import LAYOUTS, TieredOptions
from gordon.options.explicit import explicit
from gordon.options.loads import TraceLoad

__all__ = ["LAYOUTS", "TieredResult", "replay"]


@explicit(TraceLoad, TieredOptions, without=["repeat"])
def replay(
    trace: Path,
    *,
    dram: Size,
    flash: Size,
    layout: keywords.Layout = "log-sets",
    objects: bool = False,
    progress: Progress | None = None,
    **options: Unpack[keywords.Tiered],
) -> TieredResult:
    """Replays a trace through a cache of `dram` and `flash` bytes (`3MiB`, `61MiB`).

    Returns a report with hits, misses and the bytes written to flash. `layout` is one of `LAYOUTS`.
    The parameters without a text here are those of `gordon.cache.replay`.
    """
    load, settings = dealt({**options}, TraceLoad, TieredOptions)
    config = load.config(trace) | {
        "dram": in_bytes(dram, "--dram"),
        "flash": in_bytes(flash, "--flash"),
        "layout": layout,
        "admission": admission(settings.admission),
        "objects": objects,
        "set": settings.set_size,
        "segment": settings.segment,
        "log_share": settings.log_share,
        "threshold": settings.threshold,
        "set_largest": settings.set_largest,
        "set_saving": settings.set_saving,
        "no_reinsert": settings.no_reinsert,
        "journal": settings.journal,
        "journal_batch": settings.journal_batch,
        "device": {
            "spare": settings.spare,
            "pages_per_block": settings.pages_per_block,
            "policy": settings.victim,
            "endurance": settings.endurance,
        },
        "seed": settings.seed,
    }
    return TieredResult(json.loads(_core.tiered_run(json.dumps(config), progress)))


def __dir__() -> list[str]:
    return __all__
