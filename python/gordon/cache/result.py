"""Results of simulated caches: mappings with tables and pages."""

from typing import ClassVar

from gordon import fields
from gordon.cache import sentences
from gordon.cache.columns import tables
from gordon.columns import Columns
from gordon.human import binary
from gordon.reports.cache import CacheReport, FlashCacheReport
from gordon.result import Spec


class CacheResult(fields.CacheResult):
    """A trace through a cache of one level."""

    ROWS: ClassVar = "caches"

    def says(self) -> str:
        return f"{self['policy']}, {binary(self['dram_bytes'])}, {_missed(self.report)}"

    def _tables(self) -> dict[str, Columns]:
        return tables(self.report)


class TwoLevelResult(fields.TwoLevelResult):
    """A trace through a cache of DRAM and flash."""

    ROWS: ClassVar = "caches"

    def says(self) -> str:
        sizes = " and ".join(binary(self[key]) for key in ("dram_bytes", "flash_bytes"))
        return f"flashcache, {sizes}, {_missed(self.report)}"

    def _tables(self) -> dict[str, Columns]:
        return tables(self.report)


class CacheSweepResult(fields.CacheSweepResult):
    """A trace through caches of several policies and sizes."""

    ROWS: ClassVar = "caches"

    def says(self) -> str:
        return sentences.of_sweep(self["points"])

    def _tables(self) -> dict[str, Columns]:
        return tables(self.report)

    def html(self) -> str:
        from gordon.cache.page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.cache.page import drawn

        return drawn(self["points"])


class TwoLevelSweepResult(fields.TwoLevelSweepResult):
    """A trace through caches of DRAM and flash of several sizes."""

    ROWS: ClassVar = "caches"

    def says(self) -> str:
        return sentences.of_two_levels(self["points"])

    def _tables(self) -> dict[str, Columns]:
        return tables(self.report)

    def html(self) -> str:
        from gordon.cache.flashcache_page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.cache.flashcache_page import figures

        return figures(self["points"])


class CurveResult(fields.CurveResult):
    """A miss-ratio curve."""

    ROWS: ClassVar = "curve"

    def says(self) -> str:
        return sentences.of_curve(self.report)

    def _tables(self) -> dict[str, Columns]:
        return tables(self.report)

    def html(self) -> str:
        from gordon.cache.curve_page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.cache.curve_page import drawn

        return drawn(self.report)


class TieredResult(fields.TieredResult):
    """A trace through a cache of objects in DRAM and flash."""

    ROWS: ClassVar = "caches"

    def says(self) -> str:
        return sentences.of_tiered(self.report)

    def _tables(self) -> dict[str, Columns]:
        return tables(self.report)

    def html(self) -> str:
        from gordon.cache.tiered_page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.cache.tiered_page import drawn

        return drawn(self.report)


class LatencyResult(fields.LatencyResult):
    """The bandwidth of web servers by the latency of a second level."""

    ROWS: ClassVar = "points"


class WebResult(fields.WebResult):
    """Generated requests of a web server."""


def _missed(report: CacheReport | FlashCacheReport) -> str:
    ratio = report["miss_ratio"]
    return "no requests" if ratio is None else f"miss ratio {ratio:.4f}"
