#!/usr/bin/env python3
"""Prints docs/design/sort-tuning.md: how settings of a sort are searched, and what a device shows.

python scripts/sort_tuning.py >docs/design/sort-tuning.md

What was measured on a served device is read from docs/design/sort-live.json, which
scripts/sort_live.py writes.
"""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

from sort_tuning_live import rewritten, searched, table

from gordon import presets
from gordon.human import binary, figures
from gordon.sort.tune.simulated import DEPTH, WAYS, Simulated, again_and_again, rewriting
from gordon.sort.tune.steer import steer

DEVICE = "nvme-tlc-1tb"
OTHER = "gordon-slc-256g"
SET = ("capacity=32GiB",)
USED = 0.8
FILE = 2 << 30
SIZES = tuple(1 << n for n in (16, 19, 21, 23, 24, 25))
SEEDS = (0, 1, 2)
ROUNDS = 6

METHOD = """# Tuning the sort

Printed by `scripts/sort_tuning.py`. What is searched: transfer sizes of input, output and temporary
files, each for itself as the JouleSort paper found best (section 4.1), the method (section 3.3.2),
how records in memory are put in order, threads, I/O past the page cache or through it, by io_uring
or by threads, the output overwritten or replaced by a new file (figure 10), how many of the folders
of temporary files are used, and the unit in which they are striped over these folders (figures 7
and 8).

## On one's own device

`gordon sort tune` sorts one file again and again, each time with a cold cache and a durable output.

1. The defaults run once to warm up and three times more. The deviation of one trial is pooled over
   all points that were tried more than once.
2. With `--export`, the changes that the device's telemetry suggests (below).
3. The methods, and the transfer sizes of the paper's table 3.
4. One setting at a time, in rounds, until a round finds nothing better. Settings of few values come
   first. Transfer sizes: every other power of two from 64 KiB to 64 MiB or a quarter of the memory,
   then the neighbours of the best. With several folders of temporary files, the stripe unit:
   without one each transfer lies in one folder, as if the unit were a transfer. The seed decides
   the order within a setting, so that a drift over time favours none. Page cache, I/O engine and
   the order in memory have no neighbours on a grid, and are tried twice: one slow trial hides none.
5. A point that is faster by two deviations of the difference is tried twice more, and is the best
   if it still is faster.
6. The cheapest point of all is repeated until the cheapest has five trials: a gain that is within
   the noise of one trial is not lost, and one lucky trial is not enough. It replaces the best if it
   is cheaper by a deviation of the difference.
7. That point and the defaults in turn, at least 3 times each, until half the 95 % interval is 1 %
   of the defaults' cost or the budget ends. The gain is the mean of the differences, its deviation
   is theirs, and it is beyond the noise if Student's t says so at 95 %. These trials had no part in
   the choice, so that the luckiest of many points gains nothing by its luck. If the comparison does
   not confirm a gain, the defaults are written.

The report says why the search ended. A search that is interrupted before three comparisons has no
gain, and writes the defaults.

A coordinate search finds no setting that helps only together with another; rounds, and the paper's
triples of sizes as starts, are the remedy. With `--plot`, the curves of the pictures are completed
before step 6: overwriting, and folders, against transfer sizes. `--json` has every trial.

The result holds for the size and the memory that it was measured with, and the report names both.
The generated file is 4 times `--memory`, so that it is sorted in two passes, as larger files are.
Buffered I/O shows why: temporary files of a small sort are deleted before the system has written
them, and the page cache that holds them is not in `--memory`. On one device it took 0.43 instead of
0.64 s for 100 MB, and 4.2 instead of 1.45 s for 1 GB.

Overwriting is chosen only with `--overwrite`: an interrupted sort would leave a broken output.
Settings that a sort refuses (one pass in too little memory) are errors in the list of trials.
"""


def cells(row: dict[str, Any]) -> list[str]:
    return [
        figures(row["seconds"]),
        figures(row["bandwidth_mb_s"]),
        f"{row['write_amplification']:.2f}",
        figures(row["gc_bytes"] / 1e6),
        str(row["erases"]),
        figures(row["queue_depth"]),
        f"{row['dies_busy']:.0%}",
        f"{row['collecting']:.0%}",
    ]


HEAD = ["s", "MB/s", "WA", "copied MB", "erases", "queue", "dies", "collecting"]


def inside() -> dict[str, list[str]]:
    """And, by device, the time of both ways over that with the old output trimmed."""
    print("## Figure 10 from inside\n")
    print(
        "Section 3.3.4: sorting over an old output is slower than into one that was deleted and "
        "written to a new file, below transfers of 16 MB; later both were slow, and only in the "
        "output phase. The authors could not look into the translation layer. Here is one: all "
        f"values of this and the next section are modelled. `{DEVICE}` with {SET[0]}, {USED:.0%} "
        f"of it in use in the steady state of random overwrites; a file of {binary(FILE)} was "
        f"written by the last sort, with the same transfers; now the output phase, {DEPTH} "
        "transfers at a time:\n"
    )
    rows: list[list[str]] = []
    over, kept, trimmed = WAYS
    more: dict[tuple[int, str], list[float]] = {}
    amplified: dict[str, list[float]] = {way: [] for way in WAYS}
    queues = []
    for seed in SEEDS:
        with Simulated(DEVICE, set_values=SET, precondition=USED, seed=seed) as device:
            for size in SIZES:
                ways = rewriting(device, FILE, size)
                for way, row in ways.items():
                    more.setdefault((size, way), []).append(
                        row["seconds"] / ways[trimmed]["seconds"] - 1
                    )
                    amplified[way].append(row["write_amplification"])
                    queues.append(row["queue_depth"])
                    if seed == SEEDS[0]:
                        rows.append([f"{binary(size)}, {way}", *cells(row)])
            share = FILE / device.capacity
    table(["output", *HEAD], rows)
    print(
        f"The time of each over that with the old output trimmed; mean and deviation of "
        f"{len(SEEDS)} seeds, of which the first is above:\n"
    )
    table(
        ["transfer", over, kept],
        [[binary(size), *(spread(more[size, way]) for way in (over, kept))] for size in SIZES],
    )
    means = {way: fmean(amplified[way]) for way in WAYS}
    costs = {way: fmean(v for size in SIZES for v in more[size, way]) for way in (over, kept)}
    print(
        f"The host keeps {min(queues):.1f} to {max(queues):.1f} transfers outstanding at the "
        "device in the mean of each run, so the device is the bottleneck, and garbage collection "
        "takes the rest of its time. The part of the device in use decides how many pages are "
        "copied. "
        f"Overwriting keeps it at {USED:.0%}: write amplification {means[over]:.2f} in the mean of "
        f"the rows, {costs[over]:.0%} more time. If the old output is trimmed first, the part in "
        f"use rises from {USED - share:.0%} to {USED:.0%}: {means[trimmed]:.2f}. Deleting the old "
        "output helps only if the file system sends TRIM. Without TRIM the old pages stay valid, "
        f"the new output goes to other addresses, and the part in use rises from {USED:.0%} to "
        f"{USED + share:.0%}: {means[kept]:.2f}, {costs[kept]:.0%} more time.\n"
    )
    print(
        "With TRIM overwriting is therefore the slower way, as the authors found at first, and "
        "without TRIM deleting gains nothing, as they found later. The paper does not say whether "
        "their devices received TRIM. The model shows no recovery at 16 MB, because no transfer "
        "size changes the part in use. The model leaves out the file system's share, which the "
        "paper suspects because its disks slowed down, too.\n"
    )
    found = {
        f"`{DEVICE}`, simulated, {binary(1 << 23)}": [
            spread(more[1 << 23, w]) for w in (over, kept)
        ],
        f"`{OTHER}`, simulated, {binary(1 << 23)}": other(),
    }
    with Simulated(DEVICE, set_values=SET, precondition=USED) as device:
        again = again_and_again(device, FILE, 1 << 23, ROUNDS)
    print(f"Sort after sort over the same file, transfers of {binary(1 << 23)}:\n")
    table(["round", *HEAD], [[str(n), *cells(row)] for n, row in enumerate(again, 1)])
    return found


def other() -> list[str]:
    """It is not the same with every device."""
    with Simulated(OTHER, set_values=SET, precondition=USED) as device:
        ways = rewriting(device, FILE, 1 << 23)
    print(f"`{OTHER}`, transfers of {binary(1 << 23)}:\n")
    table(["output", *HEAD], [[way, *cells(row)] for way, row in ways.items()])
    over, kept, trimmed = (ways[way]["seconds"] for way in WAYS)
    print(
        f"Here the time over that with the old output trimmed is {over / trimmed - 1:+.0%} where "
        f"it is overwritten, and {kept / trimmed - 1:+.0%} where it is kept: how much overwriting "
        "costs is the device's.\n"
    )
    return [f"{seconds / trimmed - 1:+.0%}" for seconds in (over, kept)]


def spread(values: list[float]) -> str:
    return f"{fmean(values):+.0%} ± {stdev(values):.0%}"


def steering() -> None:
    print("## Sizes from telemetry\n")
    print(
        "`gordon sort tune --flash NAME` asks a simulated device for each of a sort's four loads "
        "alone, with ever larger transfers. A device that is not busy while transfers wait for it "
        "is asked for too little at a time; one whose dies or buses are busy gains nothing from "
        "larger ones, and one that collects garbage all the time is limited by that. Both passes "
        "then run with reads and writes side by side, and sizes go up while that gains. The "
        f"sort's usual sizes are beside them. {USED:.0%} in use:\n"
    )
    for name in (DEVICE, OTHER):
        report = steer(None, name, set_values=SET, precondition=USED, records=5_000_000)
        summary = presets.load("flash", name)["summary"]
        print(f"`{name}` ({summary}) with {SET[0]}, a file of {binary(report['bytes'])}:\n")
        rows = []
        for load in report["loads"]:
            for one in load["tried"]:
                found = one["transfer"] == load["found"]
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
                        "this" if found else "",
                    ]
                )
        table(
            ["load", "transfer", "MB/s", "dies", "busiest bus", "collecting", "WA", "found"], rows
        )
        print("Both passes, modelled s of I/O:\n")
        table(
            ["sizes", "distribute", "gather", "together"],
            [
                [
                    f"{key}: {row['what']}",
                    *(figures(row[part]["seconds"]) for part in ("distribute", "gather")),
                    figures(row["seconds"]),
                ]
                for key, row in report["passes"].items()
            ],
        )
    print(
        "Where collection limits, as with all writes here, the sizes that suffice are far below "
        "the paper's and the sort's usual ones, and beyond them time changes little, as in figure "
        "3, where all devices reach their bandwidth with 16 to 64 KB; reads may gain up to the "
        "largest. What larger transfers save is the host's work for each, which no simulated "
        "device shows: the settings are a start, and `gordon sort tune` measures.\n"
    )


def main() -> None:
    print(METHOD)
    simulated = inside()
    rewritten(simulated)
    steering()
    searched()


if __name__ == "__main__":
    main()
