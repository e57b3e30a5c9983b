"""The report of a cache of objects in DRAM and flash: one HTML file that works offline.

The tables are plain HTML. The same result gives the same bytes.
"""

from gordon.cache import sentences
from gordon.cache.entries import LEVEL
from gordon.cache.page import rendered
from gordon.human import binary, figures, percent, short
from gordon.report.run_figures import TONES, axis, layout
from gordon.reports.cache import TieredReport
from gordon.untyped import Spec

LEVELS = {"dram": "hit in DRAM", "flash": "hit in flash"}


def render(report: TieredReport) -> str:
    """The report's HTML."""
    return rendered(
        "tiered",
        report,
        drawn(report),
        report,
        [("", text) for text in report["warnings"]],
        sentences.of_tiered(report),
        facts=_facts(report),
        columns=LEVEL,
    )


def drawn(report: TieredReport) -> dict[str, Spec]:
    """The figures, by name."""
    return {"found": _found(report), "written": _written(report)}


def _found(report: TieredReport) -> Spec:
    """Requests and bytes by where they were found."""
    parts = [
        (LEVELS[level["level"]], level["hits"], level["hit_bytes"]) for level in report["levels"]
    ]
    parts.append(("missed", report["misses"], report["miss_bytes"]))
    whole = (report["requests"], report["bytes"])
    data = [
        {
            "type": "bar",
            "name": name,
            "x": ["requests", "bytes"],
            "y": [part / of if of else None for part, of in zip(of_each, whole, strict=True)],
            "marker": {"color": tone},
        }
        for (name, *of_each), tone in zip(parts, TONES, strict=False)
    ]
    made = layout("Hits by level", axis("", type="category"), axis("fraction", tickformat="~%"))
    return {"data": data, "layout": made | {"barmode": "stack", "showlegend": True}}


def _written(report: TieredReport) -> Spec:
    """The amplification of writes, from what left DRAM to what the flash programmed."""
    device = report["device_write_amplification"]
    parts = {
        "evicted from DRAM": report["offered_bytes"],
        "admitted": report["admitted_bytes"],
        "written by the cache": report["written_bytes"],
        "programmed by the flash": report["written_bytes"] * (1.0 if device is None else device),
    }
    data = [
        {
            "type": "bar",
            "x": list(parts),
            "y": list(parts.values()),
            "text": [short(value, "B") for value in parts.values()],
            "marker": {"color": TONES[1]},
        }
    ]
    y = axis("bytes", tickformat="~s")
    return {"data": data, "layout": layout("Bytes written to flash", axis("", type="category"), y)}


def _facts(report: TieredReport) -> dict[str, str]:
    """Figures that are counted once."""

    def ratio(value: float | None) -> str:
        return "–" if value is None else figures(value)

    years = report["lifetime_years"]
    return {
        "Layout": report["layout"],
        "DRAM": binary(report["dram_bytes"]),
        "DRAM for the index of flash": short(report["index_bytes"], "B"),
        "Flash available to the cache": binary(report["flash_bytes"]),
        "Miss ratio of requests": ratio(report["miss_ratio"]),
        "Miss ratio of bytes": ratio(report["byte_miss_ratio"]),
        "Write amplification": ratio(report["write_amplification"]),
        "Write amplification of the cache": ratio(report["application_write_amplification"]),
        "Write amplification of the flash": ratio(report["device_write_amplification"]),
        "Rated endurance used": percent(report["endurance_used"]),
        "Lifetime with full flash": "–" if years is None else f"{figures(years)} years",
        "Erases": f"{report['erases']:,}",
        "Bytes read": short(report["read_bytes"], "B"),
        "Sets read without a hit": f"{report['vain_reads']:,}",
        "Objects evicted from flash": f"{report['evictions']:,}",
        "Objects reinserted into the log": f"{report['reinsertions']:,}",
        "Objects dropped: too few for their set, or too large": f"{report['dropped']:,}",
        "Admission probability at the end": f"{report['admits']:.2%}",
    }
