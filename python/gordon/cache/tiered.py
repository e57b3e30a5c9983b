"""Caches of objects in DRAM and flash: where they lie, what is let in, what that writes.

    from gordon.cache import tiered
    told = tiered.replay("twitter.oracleGeneral.zst", dram="3MiB", flash="61MiB", layout="log-sets")
    told["miss_ratio"], told["write_amplification"], told["lifetime_years"]

`docs/design/object-cache.md` has the model.
"""

import json
from dataclasses import dataclass
from typing import Any

from gordon import _core
from gordon.options import Path, Progress, dealt
from gordon.runs import TraceLoad

__all__ = ["LAYOUTS", "Options", "replay"]

LAYOUTS = ("log", "sets", "log-sets")


@dataclass(frozen=True, kw_only=True)
class Options:
    """What may be left out. Sizes are text (`256KiB`)."""

    admission: str = "all"
    """What is let into flash: `all`; `random:0.5`, by lot; `hits:2`, what was asked for so often in
    DRAM; `ghost:64MiB`, what was offered before, among that many bytes of offers; `years:5`, by
    lot, so that the flash lasts."""
    set_size: str = "4KiB"
    """Bytes of a set."""
    segment: str = "256KiB"
    """Bytes of a segment of a log."""
    log_share: float = 0.05
    """log-sets: the part of the flash that is the log."""
    threshold: int = 2
    """log-sets: so many objects go to a set at once, at least."""
    no_reinsert: bool = False
    """Do not reinsert objects with hits in the log when their segment is evicted."""
    spare: float = 0.07
    """The part of the flash's pages that the cache does not see."""
    pages_per_block: int = 256
    """Pages of 4 KiB in an erase block."""
    victim: str = "greedy"
    """What the flash collects: greedy, fifo, random, d-choices or cost-benefit."""
    endurance: int = 3000
    """Erases that a block stands."""
    seed: int = 1
    """Every random draw follows from it."""


def _admission(text: str) -> Any:
    """`random:0.5` as the core has it."""
    if text == "all":
        return text
    name, _, value = text.partition(":")
    kinds: dict[str, Any] = {"random": float, "hits": int, "ghost": str, "years": float}
    try:
        return {name: kinds[name](value)}
    except (KeyError, ValueError):
        raise _core.GordonError(
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
    """What is found in `dram` and `flash` bytes (`3MiB`, `61MiB`), and what is written for it.

    `layout` is one of `LAYOUTS`. Options are those of `Options` and of `gordon.runs.TraceLoad`, but
    for `repeat`; the rest is as for `gordon.cache.replay`.
    """
    load, asked = dealt(options, TraceLoad, Options)
    config = load.config(trace) | {
        "dram": dram,
        "flash": flash,
        "layout": layout,
        "admission": _admission(asked.admission),
        "objects": objects,
        "set": asked.set_size,
        "segment": asked.segment,
        "log_share": asked.log_share,
        "threshold": asked.threshold,
        "no_reinsert": asked.no_reinsert,
        "device": {
            "spare": asked.spare,
            "pages_per_block": asked.pages_per_block,
            "policy": asked.victim,
            "endurance": asked.endurance,
        },
        "seed": asked.seed,
    }
    told: dict[str, Any] = json.loads(_core.tiered_run(json.dumps(config), progress))
    return told
