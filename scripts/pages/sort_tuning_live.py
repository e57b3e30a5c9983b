"""Measurements on a served device (docs/design/sort-live.json), for sort-tuning.md."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from gordon.human import binary, figures, short, spread
from gordon.reproduce.rewriting import OVER, TRIMMED, UNTRIMMED
from gordon.sort.tune import advice
from markdown_pages import table

Json = dict[str, Any]

LIVE = Path(__file__).resolve().parents[2] / "docs/design/sort-live.json"
#: Figure 10 in the words of the paper.
PAPER = {
    "paper, first: below 16 MB": ["drastically slower", "the base"],
    "paper, first: 16 MB and more": ["the same", "the base"],
    "paper, later: 8 MB": ["both slower: up to 50% (Samsung), 36% (Micron), 29% (disks)", "-"],
}


def measured() -> Json:
    found: Json = json.loads(LIVE.read_text(encoding="utf-8"))
    return found


def rewritten() -> Json:
    """Figure 10 on a served device."""
    report = measured()["rewriting"]
    rows, reasons = report["rows"], report["explained"]
    head = ["output", "s", "MB/s", "WA", "copied MB", "erases", "in use", "queue", "dies"]
    differences = ["output", "longer", "longer s", "dies worked longer s", "copied more MB"]
    return {
        "served": measured()["device"],
        "rewriting": {
            "size": short(report["bytes"], "B"),
            "rounds": report["rounds"],
            "outputs": table(head, [output_cells(row) for row in rows], text_columns=1),
            "differences": table(
                [*differences, "so it is"],
                [difference_cells(one) for one in reasons],
                text_columns=1,
            ),
        },
        "cause": {
            "over": cause(rows, reasons, OVER),
            "untrimmed": cause(rows, reasons, UNTRIMMED),
            "trimmed": cause(rows, reasons, TRIMMED),
        },
    }


def output_cells(row: Json) -> list[str]:
    output = row["output"]
    return [
        f"{binary(row['transfer'])}, {row['way']}",
        spread(row["output_s"], row["output_s_deviation"]),
        figures(output["write_mb_s"]),
        f"{output['write_amplification']:.2f}",
        figures(output["copied_bytes"] / 1e6),
        figures(output["erases"]),
        f"{row['mapped_before']:.0%} to {row['mapped_after']:.0%}",
        figures(output["queue_depth"]),
        f"{output['dies_busy']:.0%}",
    ]


def difference_cells(one: Json) -> list[str]:
    return [
        f"{binary(one['transfer'])}, {one['way']}",
        longer(one),
        figures(one["longer_s"]),
        figures(one["dies_longer_s"]),
        figures(one["copied_more_bytes"] / 1e6),
        one["why"].split(":")[0].split(";")[0],
    ]


def longer(one: Json) -> str:
    return f"{one['longer']:+.0%} ± {one['longer_deviation']:.0%}"


def cause(rows: list[Json], reasons: list[Json], way: str) -> Json:
    """The part of the differences in time that the counters explain."""
    mine = [row for row in rows if row["way"] == way]
    before, after = (fmean(row[f"mapped_{when}"] for row in mine) for when in ("before", "after"))
    found: Json = {
        "used": f"{before:.0%} to {after:.0%}",
        "amplified": fmean(row["output"]["write_amplification"] for row in mine),
    }
    differences = [one for one in reasons if one["way"] == way]
    if differences:
        found["longer"] = fmean(one["longer_s"] for one in differences)
        found["dies"] = fmean(one["dies_longer_s"] for one in differences)
        found["copied_mb"] = fmean(one["copied_more_bytes"] for one in differences) / 1e6
    return found


def compared(simulated: dict[str, list[str]]) -> str:
    """The output phase over that with the old output trimmed: the paper, simulated, served."""
    reasons, device = measured()["rewriting"]["explained"], measured()["device"]
    live = {
        f"`{device['preset']}`, served, {binary(size)}": [
            longer(one)
            for way in (OVER, UNTRIMMED)
            for one in reasons
            if (one["transfer"], one["way"]) == (size, way)
        ]
        for size in dict.fromkeys(one["transfer"] for one in reasons)
    }
    return table(
        [
            "the output phase over that with the old output trimmed",
            "overwritten",
            "deleted, not trimmed",
        ],
        [[what, *values] for what, values in (PAPER | simulated | live).items()],
        text_columns=1,
    )


def searched() -> Json:
    """The search steered by telemetry, compared with the blind one."""
    searches = measured()["searches"]
    one = searches[0]
    head = ["search", "trials", "best first at", "all tried", "best", "gain", "pairs", "noise"]
    gained = [found for found in searches if found["gain"]["beyond_noise"]]

    def mean(*, steered: bool) -> Json:
        of = [found for found in gained if found["steered"] is steered]
        return {
            "needed": fmean(found["needed"] for found in of),
            "gain": fmean(found["gain"]["gain"] for found in of),
        }

    rules = [line for line in str(advice.__doc__).splitlines() if line.startswith("|")]
    return {
        "rules": "\n".join(rules),
        "busy": advice.BUSY,
        "copies": advice.COPIES,
        "deep": advice.DEEP,
        "at_work": advice.AT_WORK,
        "short": advice.SHORT,
        "step": advice.STEP,
        "size": short(one["bytes"], "B"),
        "memory": one["memory"],
        "budget_s": one["budget_s"],
        "trials": table(head, [search_cells(found) for found in searches], text_columns=1),
        "steered": mean(steered=True),
        "blind": mean(steered=False),
        "steps": [step | {"points": points(step)} for step in one["steps"]],
    }


def search_cells(found: Json) -> list[str]:
    gain = found["gain"]
    return [
        f"{'steered' if found['steered'] else 'blind'}, seed {found['seed']}",
        str(found["trials"]),
        str(found["needed"]),
        "yes" if found["finished"] else "no",
        found["best"],
        f"{gain['gain']:.0%} ± {gain['deviation']:.0%}",
        str(gain["pairs"]),
        f"{found['noise']:.0%}",
    ]


def points(step: Json) -> str:
    """The points that an advice led to."""
    return "; ".join(dict.fromkeys(tried["what"] for tried in step["tried"])) or "nothing"
