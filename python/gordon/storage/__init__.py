"""Bandwidth of storage against transfer size and queue depth, real or simulated.

    import gordon.storage
    result = gordon.storage.characterise("/mnt/disk", sizes="4KiB..1MiB")
    result = gordon.storage.characterise(preset="sata-7200-1tb", stripe=4)
    result.report["points"][0]["bandwidth_mb_s"], result.plot("bandwidth.png")
    gordon.storage.fit.fit("points.parquet").toml      # a flash device with these bandwidths

The core measures real storage with direct I/O and simulates disks and flash. All requests of a
point have the same size; file systems and the page cache are left out. A failure raises
`gordon.GordonError`.
"""

from typing import TYPE_CHECKING, Any

from gordon.options.devices import DEPTHS
from gordon.options.devices import SIZES_RANGE as SIZES
from gordon.options.devices import STORAGE_PATTERNS as PATTERNS
from gordon.storage.run import Result, characterise, is_kept

__all__ = ["DEPTHS", "PATTERNS", "SIZES", "Result", "characterise", "fit", "is_kept"]

if TYPE_CHECKING:
    from gordon.storage import fit
else:

    def __getattr__(name: str) -> Any:
        if name == "fit":
            from importlib import import_module

            return import_module("gordon.storage.fit")
        raise AttributeError(f"module 'gordon.storage' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
