"""The screen of a cache of objects in DRAM and flash."""

from typing import Any

from gordon.cli.cache_view import begin
from gordon.cli.terminal import Column, Output
from gordon.human import binary, duration, figures, lifetime, short


def show(console: Output, told: dict[str, Any]) -> None:
    """Ratios first, then by level, then what was written."""
    name = (
        f"{told['layout']}, {binary(told['dram_bytes'])} of DRAM, {binary(told['flash_bytes'])} of "
        "flash"
    )
    begin(console, told, name, "")
    levels = told["levels"]
    console.table(
        [
            Column("level", [level["level"] for level in levels]),
            Column("hits", [f"{level['hits']:,}" for level in levels], right=True),
            Column("objects", [f"{level['resident_objects']:,}" for level in levels], right=True),
            Column("bytes", [short(level["resident_bytes"], "B") for level in levels], right=True),
        ]
    )
    console.text(
        f"index of flash: {short(told['index_bytes'], 'B')} of the DRAM; "
        f"{short(told['offered_bytes'], 'B')} evicted from DRAM, "
        f"{short(told['admitted_bytes'], 'B')} admitted, "
        f"{short(told['written_bytes'], 'B')} written"
    )
    if told["write_amplification"] is not None:
        text = (
            f"write amplification {figures(told['write_amplification'])}: cache "
            f"{figures(told['application_write_amplification'])}, flash "
            f"{figures(told['device_write_amplification'])}"
        )
        console.text(text)
        span = told["lifetime_span_s"]
        console.text(
            lifetime(
                told["endurance_used"],
                told["lifetime_years"],
                short(told["written_bytes"], "B"),
                duration(told["simulated_s"]),
            )
            + ("" if span is None else f"; flash was full for {duration(span)}")
        )
