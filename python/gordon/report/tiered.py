"""A cache of objects in DRAM and flash as one HTML file that works offline.

The tables are in the HTML as it is written. Same result, same bytes.
"""

from typing import Any

from gordon.human import binary, figures, percent, short
from gordon.report.cache import rendered
from gordon.report.run_figures import TONES, Spec, axis, layout

LEVELS = {"dram": "found in DRAM", "flash": "found in flash"}


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
    parts.append(("found nowhere", told["misses"], told["miss_bytes"]))
    whole = (told["requests"], told["bytes"])
    data = [
        {
            "type": "bar",
            "name": name,
            "x": ["of each request", "of each byte"],
            "y": [part / of if of else None for part, of in zip(of_each, whole, strict=True)],
            "marker": {"color": tone},
        }
        for (name, *of_each), tone in zip(parts, TONES, strict=False)
    ]
    made = layout("Where it was found", axis("", type="category"), axis("part", tickformat="~%"))
    return {"data": data, "layout": made | {"barmode": "stack", "showlegend": True}}


def _written(told: dict[str, Any]) -> Spec:
    """From what left DRAM to what the flash programmed."""
    device = told["device_write_amplification"]
    parts = {
        "left DRAM": told["offered_bytes"],
        "let in": told["admitted_bytes"],
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
    return {"data": data, "layout": layout("What is written for it", axis("", type="category"), y)}


def _facts(told: dict[str, Any]) -> dict[str, str]:
    """What is counted once."""

    def ratio(key: str) -> str:
        return "–" if told[key] is None else figures(told[key])

    years = told["lifetime_years"]
    return {
        "Layout": told["layout"],
        "DRAM": binary(told["dram_bytes"]),
        "Of it, to know the places in flash": short(told["index_bytes"], "B"),
        "Flash, as the cache sees it": binary(told["flash_bytes"]),
        "Misses of each request": ratio("miss_ratio"),
        "Bytes missed of each byte asked for": ratio("byte_miss_ratio"),
        "Write amplification": ratio("write_amplification"),
        "The cache's": ratio("application_write_amplification"),
        "The flash's": ratio("device_write_amplification"),
        "Rated endurance used": percent(told["endurance_used"]),
        "Lifetime, once the flash is full": "–" if years is None else f"{figures(years)} years",
        "Erases": f"{told['erases']:,}",
        "Bytes read": short(told["read_bytes"], "B"),
        "Sets read in vain": f"{told['vain_reads']:,}",
        "Objects that went from flash": f"{told['evictions']:,}",
        "Written to the log again": f"{told['reinsertions']:,}",
        "Dropped: too few for their set, or too large": f"{told['dropped']:,}",
        "Let in by lot at the end": f"{told['admits']:.2%}",
    }
