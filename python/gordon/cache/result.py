"""Results of simulated caches: mappings with tables and pages."""

from typing import Any, ClassVar

from gordon import fields
from gordon.cache import sentences
from gordon.cache.columns import tables
from gordon.columns import Columns
from gordon.human import binary
from gordon.reports.cache import CacheReport, FlashCacheReport
from gordon.result import Result
from gordon.untyped import Spec


class _Caches(Result[Any]):
    """A result with the tables of caches."""

    ROWS: ClassVar = "caches"

    def _tables(self) -> dict[str, Columns]:
        return tables(self.report)


class CacheResult(_Caches, fields.CacheResult):
    """A trace through a cache of one level."""

    def says(self) -> str:
        return f"{self['policy']}, {binary(self['dram_bytes'])}, {_missed(self.report)}"


class TwoLevelResult(_Caches, fields.TwoLevelResult):
    """A trace through a cache of DRAM and flash."""

    def says(self) -> str:
        sizes = " and ".join(binary(self[key]) for key in ("dram_bytes", "flash_bytes"))
        return f"flashcache, {sizes}, {_missed(self.report)}"


class CacheSweepResult(_Caches, fields.CacheSweepResult):
    """A trace through caches of several policies and sizes."""

    def says(self) -> str:
        return sentences.of_sweep(self["points"])

    def html(self) -> str:
        from gordon.cache.page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.cache.page import drawn

        return drawn(self["points"])


class TwoLevelSweepResult(_Caches, fields.TwoLevelSweepResult):
    """A trace through caches of DRAM and flash of several sizes."""

    def says(self) -> str:
        return sentences.of_two_levels(self["points"])

    def html(self) -> str:
        from gordon.cache.flashcache_page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.cache.flashcache_page import figures

        return figures(self["points"])


class CurveResult(_Caches, fields.CurveResult):
    """A miss-ratio curve."""

    ROWS: ClassVar = "curve"

    def says(self) -> str:
        return sentences.of_curve(self.report)

    def html(self) -> str:
        from gordon.cache.curve_page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.cache.curve_page import drawn

        return drawn(self.report)


class TieredResult(_Caches, fields.TieredResult):
    """A trace through a cache of objects in DRAM and flash."""

    def says(self) -> str:
        return sentences.of_tiered(self.report)

    def html(self) -> str:
        from gordon.cache.tiered_page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.cache.tiered_page import drawn

        return drawn(self.report)


class LatencyResult(fields.LatencyResult):
    """The bandwidth of web servers by the latency of a second level."""

    ROWS: ClassVar = "points"

    def says(self) -> str:
        return f"{len(self['points'])} points of {self['requests']:,} requests"


class WebResult(fields.WebResult):
    """Generated requests of a web server."""


def _missed(report: CacheReport | FlashCacheReport) -> str:
    ratio = report["miss_ratio"]
    return "no requests" if ratio is None else f"miss ratio {ratio:.4f}"
