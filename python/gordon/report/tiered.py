"""The report of a cache of objects in DRAM and flash: one HTML file that works offline.

The tables are plain HTML. The same result gives the same bytes.
"""

from typing import Any

from gordon.human import binary, figures, percent, short
from gordon.report.cache import rendered
from gordon.report.run_figures import TONES, Spec, axis, layout

LEVELS = {"dram": "hit in DRAM", "flash": "hit in flash"}


def render(told: dict[str, Any]) -> str:
    """The report's HTML."""
    return rendered(
        "tiered",
        told,
        {"found": _found(told), "written": _written(told)},
        told,
        [("", text) for text in told["warnings"]],
        facts=_facts(told),
    )


def _found(told: dict[str, Any]) -> Spec:
    """Requests and bytes by where they were found."""
    parts = [
        (LEVELS[level["level"]], level["hits"], level["hit_bytes"]) for level in told["levels"]
    ]
    parts.append(("missed", told["misses"], told["miss_bytes"]))
    whole = (told["requests"], told["bytes"])
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


def _written(told: dict[str, Any]) -> Spec:
    """From what left DRAM to what the flash programmed."""
    device = told["device_write_amplification"]
    parts = {
        "evicted from DRAM": told["offered_bytes"],
        "admitted": told["admitted_bytes"],
        "written by the cache": told["written_bytes"],
        "programmed by the flash": told["written_bytes"] * (1.0 if device is None else device),
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


def _facts(told: dict[str, Any]) -> dict[str, str]:
    """What is counted once."""

    def ratio(key: str) -> str:
        return "–" if told[key] is None else figures(told[key])

    years = told["lifetime_years"]
    return {
        "Layout": told["layout"],
        "DRAM": binary(told["dram_bytes"]),
        "DRAM for the index of flash": short(told["index_bytes"], "B"),
        "Flash available to the cache": binary(told["flash_bytes"]),
        "Miss ratio of requests": ratio("miss_ratio"),
        "Miss ratio of bytes": ratio("byte_miss_ratio"),
        "Write amplification": ratio("write_amplification"),
        "Write amplification of the cache": ratio("application_write_amplification"),
        "Write amplification of the flash": ratio("device_write_amplification"),
        "Rated endurance used": percent(told["endurance_used"]),
        "Lifetime with full flash": "–" if years is None else f"{figures(years)} years",
        "Erases": f"{told['erases']:,}",
        "Bytes read": short(told["read_bytes"], "B"),
        "Sets read without a hit": f"{told['vain_reads']:,}",
        "Objects evicted from flash": f"{told['evictions']:,}",
        "Objects reinserted into the log": f"{told['reinsertions']:,}",
        "Objects dropped: too few for their set, or too large": f"{told['dropped']:,}",
        "Admission probability at the end": f"{told['admits']:.2%}",
    }
