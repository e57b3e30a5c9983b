"""The screen of a cache of objects in DRAM and flash."""

from gordon.cache.entries import LEVEL
from gordon.cli.cache_view import begin
from gordon.cli.terminal import Column, Output, of_entries
from gordon.human import binary, duration, figures, lifetime, short
from gordon.reports.cache import TieredReport


def show(console: Output, report: TieredReport) -> None:
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
    journal = ""
    if report["journal_bytes"] > 0:
        journal = f", {short(report['journal_bytes'], 'B')} of it to the journal"
    console.text(
        f"index of flash: {short(report['index_bytes'], 'B')} of the DRAM; "
        f"{short(report['offered_bytes'], 'B')} evicted from DRAM, "
        f"{short(report['admitted_bytes'], 'B')} admitted, "
        f"{short(report['written_bytes'], 'B')} written{journal}"
    )
    whole = report["write_amplification"]
    cache, device = report["application_write_amplification"], report["device_write_amplification"]
    # The product of the two.
    if whole is not None and cache is not None and device is not None:
        text = (
            f"write amplification {figures(whole)}: cache {figures(cache)}, flash {figures(device)}"
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
