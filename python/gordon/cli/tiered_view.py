"""The screen of a cache of objects in DRAM and flash."""

from typing import Any

from gordon.cache.entries import LEVEL
from gordon.cli.cache_view import begin
from gordon.cli.terminal import Column, Output, of_entries
from gordon.human import binary, duration, figures, lifetime, short


def show(console: Output, report: dict[str, Any]) -> None:
    """Ratios first, then by level, then what was written."""
    name = (
        f"{report['layout']}, {binary(report['dram_bytes'])} of DRAM, "
        f"{binary(report['flash_bytes'])} of flash"
    )
    begin(console, report, name, "")
    levels = report["levels"]
    console.table(
        [
            Column("level", [level["level"] for level in levels]),
            *of_entries([one for one in LEVEL if one.key != "hit_bytes"], levels),
        ]
    )
    console.text(
        f"index of flash: {short(report['index_bytes'], 'B')} of the DRAM; "
        f"{short(report['offered_bytes'], 'B')} evicted from DRAM, "
        f"{short(report['admitted_bytes'], 'B')} admitted, "
        f"{short(report['written_bytes'], 'B')} written"
    )
    if report["write_amplification"] is not None:
        text = (
            f"write amplification {figures(report['write_amplification'])}: cache "
            f"{figures(report['application_write_amplification'])}, flash "
            f"{figures(report['device_write_amplification'])}"
        )
        console.text(text)
        span = report["lifetime_span_s"]
        console.text(
            lifetime(
                report["endurance_used"],
                report["lifetime_years"],
                short(report["written_bytes"], "B"),
                duration(report["simulated_s"]),
            )
            + ("" if span is None else f"; flash was full for {duration(span)}")
        )
