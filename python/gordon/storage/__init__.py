"""Bandwidth of storage against transfer size and queue depth, real or simulated.

    import gordon.storage
    result = gordon.storage.characterise("/mnt/disk", sizes="4KiB..1MiB")
    result = gordon.storage.characterise(preset="sata-7200-1tb", stripe=4)
    result.report["points"][0]["bandwidth_mb_s"], result.plot("bandwidth.png")

The core measures (`crates/io`) or simulates (`crates/replay`). Errors are `gordon.GordonError`,
whose args are (what, what to try).
"""

from gordon.storage.run import DEPTHS, PATTERNS, SIZES, Result, characterise, is_kept

__all__ = ["DEPTHS", "PATTERNS", "SIZES", "Result", "characterise", "is_kept"]
