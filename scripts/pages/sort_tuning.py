#!/usr/bin/env python3
"""Prints docs/design/sort-tuning.md: how settings of a sort are searched, and what a device shows.

python scripts/pages/sort_tuning.py >docs/design/sort-tuning.md

What was measured on a served device is read from docs/design/sort-live.json, which
scripts/validation/sort_live.py writes.
"""

from __future__ import annotations

import sys
from statistics import fmean, stdev
from typing import Any

from gordon import presets
from gordon.human import binary, figures
from gordon.reproduce.rewriting import OVER, TRIMMED, UNTRIMMED, WAYS
from gordon.sort.tune.simulated import DEPTH, Figures, Simulated
from gordon.sort.tune.steer import steer
from markdown_pages import render, table
from rewriting_simulated import again_and_again, rewriting
from sort_tuning_live import compared, rewritten, searched

Json = dict[str, Any]

DEVICE = "nvme-tlc-1tb"
OTHER = "gordon-slc-256g"
SET = ("capacity=64GiB",)
USED = 0.8
FILE = 2 << 30
SIZES = tuple(1 << n for n in (16, 19, 21, 23, 24, 25))
#: The size of the transfers of the shorter tables.
TRANSFER = 1 << 23
SEEDS = (0, 1, 2)
ROUNDS = 6
HEAD = ["s", "MB/s", "WA", "copied MB", "erases", "queue", "dies", "collecting"]


def main() -> None:
    figure_10 = simulated()
    sys.stdout.write(
        render(
            "sort-tuning",
            **figure_10,
            **rewritten(),
            compared=compared(figure_10["as_others"]),
            steered=[steered(name) for name in (DEVICE, OTHER)],
            search=searched(),
        )
    )


def cells(row: Figures) -> list[str]:
    return [
        figures(row["seconds"]),
        figures(row["bandwidth_mb_s"]),
        "-" if row["write_amplification"] is None else f"{row['write_amplification']:.2f}",
        figures(row["gc_bytes"] / 1e6),
        str(row["erases"]),
        figures(row["queue_depth"]),
        f"{row['dies_busy']:.0%}",
        f"{row['collecting']:.0%}",
    ]


def simulated() -> Json:
    """Figure 10 simulated. `as_others` has the relative times of both ways by device."""
    rows: list[list[str]] = []
    more: dict[tuple[int, str], list[float]] = {}
    amplified: dict[str, list[float]] = {way: [] for way in WAYS}
    queues = []
    for seed in SEEDS:
        with Simulated(DEVICE, set=SET, precondition=USED, seed=seed) as device:
            for size in SIZES:
                ways = rewriting(device, FILE, size)
                for way, row in ways.items():
                    longer = row["seconds"] / ways[TRIMMED]["seconds"] - 1
                    more.setdefault((size, way), []).append(longer)
                    amplified[way].append(row["write_amplification"] or 0.0)
                    queues.append(row["queue_depth"])
                    if seed == SEEDS[0]:
                        rows.append([f"{binary(size)}, {way}", *cells(row)])
            share = FILE / device.capacity
    with Simulated(OTHER, set=SET, precondition=USED) as device:
        other = rewriting(device, FILE, TRANSFER)
    with Simulated(DEVICE, set=SET, precondition=USED) as device:
        again = again_and_again(device, FILE, TRANSFER, ROUNDS)

    def mean(way: str) -> Json:
        cost = fmean(value for size in SIZES for value in more[size, way])
        return {"amplified": fmean(amplified[way]), "cost": cost}

    of_other = [
        f"{other[way]['seconds'] / other[TRIMMED]['seconds'] - 1:+.0%}" for way in (OVER, UNTRIMMED)
    ]
    at = binary(TRANSFER)
    return {
        "device": DEVICE,
        "set": SET[0],
        "used": f"{USED:.0%}",
        "used_less": f"{USED - share:.0%}",
        "used_more": f"{USED + share:.0%}",
        "file": binary(FILE),
        "depth": DEPTH,
        "seeds": len(SEEDS),
        "transfer": at,
        "outputs": table(["output", *HEAD], rows, text_columns=1),
        "relative": table(
            ["transfer", OVER, UNTRIMMED],
            [
                [binary(size), *(spread(more[size, way]) for way in (OVER, UNTRIMMED))]
                for size in SIZES
            ],
            text_columns=1,
        ),
        "queue": {"least": min(queues), "most": max(queues)},
        "over": mean(OVER),
        "kept": mean(UNTRIMMED),
        "trimmed": mean(TRIMMED),
        "other": OTHER,
        "other_outputs": table(
            ["output", *HEAD], [[way, *cells(row)] for way, row in other.items()], text_columns=1
        ),
        "other_over": of_other[0],
        "other_kept": of_other[1],
        "consecutive": table(
            ["round", *HEAD],
            [[str(n), *cells(row)] for n, row in enumerate(again, 1)],
            text_columns=1,
        ),
        "as_others": {
            f"`{DEVICE}`, simulated, {at}": [
                spread(more[TRANSFER, way]) for way in (OVER, UNTRIMMED)
            ],
            f"`{OTHER}`, simulated, {at}": of_other,
        },
    }


def spread(values: list[float]) -> str:
    return f"{fmean(values):+.0%} ± {stdev(values):.0%}"


def steered(name: str) -> Json:
    """The sizes to which telemetry of a simulated device leads."""
    report = steer(None, name, set=SET, precondition=USED, records=5_000_000)
    rows = []
    for load in report["loads"]:
        for one in load["tried"]:
            amplified = one["write_amplification"]
            rows.append(
                [
                    load["load"],
                    binary(one["transfer"]),
                    figures(one["bandwidth_mb_s"]),
                    f"{one['dies_busy']:.0%}",
                    f"{one['busiest_bus']:.0%}",
                    f"{one['collecting']:.0%}",
                    "-" if amplified is None else f"{amplified:.2f}",
                    "this" if one["transfer"] == load["found"] else "",
                ]
            )
    head = ["load", "transfer", "MB/s", "dies", "busiest bus", "collecting", "WA", "found"]
    of = report["passes"]
    passes = [
        [
            f"{key}: {row['what']}",
            figures(row["distribute"]["seconds"]),
            figures(row["gather"]["seconds"]),
            figures(row["seconds"]),
        ]
        for key, row in (("usual", of["usual"]), ("alone", of["alone"]), ("chosen", of["chosen"]))
    ]
    return {
        "name": name,
        "summary": presets.load("flash", name)["summary"],
        "size": binary(report["bytes"]),
        "loads": table(head, rows, text_columns=1),
        "passes": table(["sizes", "distribute", "gather", "together"], passes, text_columns=1),
    }


if __name__ == "__main__":
    main()
