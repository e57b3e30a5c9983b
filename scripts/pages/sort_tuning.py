#!/usr/bin/env python3
"""Prints docs/design/sort-tuning.md: how settings of a sort are searched, and what a device shows.

python scripts/pages/sort_tuning.py >docs/design/sort-tuning.md

What was measured on a served device is read from docs/design/sort-live.json, which
scripts/validation/sort_live.py writes.
"""

from __future__ import annotations

from statistics import fmean, stdev
from typing import Any

from gordon import presets
from gordon.human import binary, figures
from gordon.reproduce.rewriting import WAYS
from gordon.reproduce.rewriting_simulated import again_and_again, rewriting
from gordon.sort.tune.simulated import DEPTH, Simulated
from gordon.sort.tune.steer import steer
from sort_tuning_live import rewritten, searched, table

DEVICE = "nvme-tlc-1tb"
OTHER = "gordon-slc-256g"
SET = ("capacity=64GiB",)
USED = 0.8
FILE = 2 << 30
SIZES = tuple(1 << n for n in (16, 19, 21, 23, 24, 25))
SEEDS = (0, 1, 2)
ROUNDS = 6

METHOD = """# Tuning the sort

Printed by `scripts/pages/sort_tuning.py`. The search covers these settings:

- the transfer sizes of input, output and temporary files, each on its own, as in section 4.1 of the
  JouleSort paper;
- the method (section 3.3.2), the algorithm that orders records in memory, and threads;
- direct or buffered I/O, by io_uring or by threads;
- whether the output is overwritten or replaced by a new file (figure 10);
- the number of folders of temporary files, and the stripe unit over these folders (figures 7 and
  8).

## On your own device

`gordon sort tune` sorts one file repeatedly, each time with a cold cache and a durable output.

1. The defaults run once to warm up and then three times. The deviation of one trial is pooled over
   all points that were tried more than once.
2. With `--export`, the changes suggested by the telemetry of the device are tried (below).
3. The methods and the transfer sizes of the paper's table 3 are tried.
4. One setting is varied at a time, in rounds, until a round finds nothing better. Settings with few
   values come first. Transfer sizes are every other power of two from 64 KiB to 64 MiB or a quarter
   of the memory, then the neighbours of the best. With several folders of temporary files, the
   stripe unit is varied; without one, each transfer lies in one folder, as if the unit were a
   transfer. The seed decides the order within a setting, so that a drift over time favours no
   value. Page cache, I/O engine and the order in memory have no neighbours on a grid. They are
   tried twice, so that one slow trial does not hide a good value.
5. A point that is faster by two deviations of the difference is tried twice more. It becomes the
   best if it is still faster.
6. The cheapest point of all is repeated until the cheapest has five trials. A gain within the noise
   of one trial is thus not lost, and one lucky trial is not enough. The point replaces the best if
   it is cheaper by a deviation of the difference.
7. That point and the defaults alternate, at least 3 times each, until half the 95 % interval is 1 %
   of the cost of the defaults, or the budget ends. The gain and its deviation are those of the
   differences; it is beyond the noise if Student's t-test says so at 95 %. These trials had no part
   in the choice, so that the luckiest of many points gains nothing by its luck. If the comparison
   does not confirm a gain, the defaults are written.

The report says why the search ended. A search that is interrupted before three comparisons has no
gain and writes the defaults.

A coordinate search cannot find settings that help only in combination. Rounds, and the paper's
triples of sizes as starting points, reduce this problem. With `--plot`, trials that complete the
curves of the pictures run before step 6: overwriting, and folders, by transfer size. `--json` has
every trial.

The result holds for the size and the memory of the measurement, and the report names both. The
generated file is 4 times `--memory`, so that it is sorted in two passes, as larger files are.
Buffered I/O shows why this matters: the temporary files of a small sort are deleted before the
system has written them, and the page cache that holds them does not count as `--memory`. On one
device buffered I/O took 0.43 s instead of 0.64 s for 100 MB, but 4.2 s instead of 1.45 s for 1 GB.

Overwriting is chosen only with `--overwrite`, because an interrupted sort would leave a broken
output. Settings that a sort refuses, such as one pass in too little memory, are errors in the list
of trials.
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
    """Prints the section. Returns, by device, the relative times of both ways."""
    print("## Figure 10 simulated\n")
    print(
        "By section 3.3.4, overwriting an old output was slower than deleting it and writing a new "
        "file, for transfers below 16 MB. In later measurements both were slow, in the output "
        "phase only. The authors could not observe the translation layer; a simulation can. All "
        f"values of this section are modelled. The device is `{DEVICE}` with {SET[0]}, {USED:.0%} "
        "of it in use in the steady state of random overwrites. The previous sort wrote a file of "
        f"{binary(FILE)} with the same transfer size. The table has the output phase of the next "
        f"sort, with {DEPTH} transfers outstanding:\n"
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
        "The time relative to that with the old output trimmed, as mean and deviation of "
        f"{len(SEEDS)} seeds; the table above is of the first seed:\n"
    )
    table(
        ["transfer", over, kept],
        [[binary(size), *(spread(more[size, way]) for way in (over, kept))] for size in SIZES],
    )
    means = {way: fmean(amplified[way]) for way in WAYS}
    costs = {way: fmean(v for size in SIZES for v in more[size, way]) for way in (over, kept)}
    print(
        f"The host keeps a mean of {min(queues):.1f} to {max(queues):.1f} transfers outstanding in "
        "each run, so the device is the bottleneck; garbage collection takes the rest of its time. "
        "The number of copied pages depends on the part of the device in use. Overwriting keeps "
        f"that part at {USED:.0%}, with a mean write amplification of {means[over]:.2f} and "
        f"{costs[over]:.0%} more time. If the old output is trimmed first, the part in use rises "
        f"from {USED - share:.0%} to {USED:.0%}, with {means[trimmed]:.2f}. Deleting the old "
        "output helps only if the file system sends TRIM. Without TRIM the old pages stay valid "
        "and the new output goes to other addresses: the part in use rises from "
        f"{USED:.0%} to {USED + share:.0%}, with {means[kept]:.2f} and {costs[kept]:.0%} more "
        "time.\n"
    )
    print(
        "With TRIM, overwriting is therefore the slower way, as the authors found at first. "
        "Without TRIM, deleting gains nothing, as they found later. The paper does not say whether "
        "its devices received TRIM. The model shows no recovery at 16 MB, because the transfer "
        "size does not change the part in use. The share of the file system, which the paper "
        "suspects because its disks slowed down, too, is not modelled.\n"
    )
    found = {
        f"`{DEVICE}`, simulated, {binary(1 << 23)}": [
            spread(more[1 << 23, w]) for w in (over, kept)
        ],
        f"`{OTHER}`, simulated, {binary(1 << 23)}": other(),
    }
    with Simulated(DEVICE, set_values=SET, precondition=USED) as device:
        again = again_and_again(device, FILE, 1 << 23, ROUNDS)
    print(f"Consecutive sorts that overwrite the same file, transfers of {binary(1 << 23)}:\n")
    table(["round", *HEAD], [[str(n), *cells(row)] for n, row in enumerate(again, 1)])
    return found


def other() -> list[str]:
    """Prints the same for another device. Returns its relative times."""
    with Simulated(OTHER, set_values=SET, precondition=USED) as device:
        ways = rewriting(device, FILE, 1 << 23)
    print(f"`{OTHER}`, transfers of {binary(1 << 23)}:\n")
    table(["output", *HEAD], [[way, *cells(row)] for way, row in ways.items()])
    over, kept, trimmed = (ways[way]["seconds"] for way in WAYS)
    print(
        "With this device, the time relative to that with the old output trimmed is "
        f"{over / trimmed - 1:+.0%} if the output is overwritten, and {kept / trimmed - 1:+.0%} if "
        "it is deleted and not trimmed. The cost of overwriting depends on the device.\n"
    )
    return [f"{seconds / trimmed - 1:+.0%}" for seconds in (over, kept)]


def spread(values: list[float]) -> str:
    return f"{fmean(values):+.0%} ± {stdev(values):.0%}"


def steering() -> None:
    print("## Sizes from telemetry\n")
    print(
        "`gordon sort tune --flash NAME` runs each of the four loads of a sort alone on a "
        "simulated device, with increasing transfer sizes. If the device is idle while transfers "
        "wait, the transfers are too small. If its dies or buses are busy, larger transfers gain "
        "nothing; if it collects garbage all the time, collection is the limit. Both passes then "
        "run with reads and writes at the same time, and sizes are increased as long as that "
        "gains. The default sizes of the sort are included for comparison. All values are "
        f"modelled, with {USED:.0%} of the device in use:\n"
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
        print("Both passes, modelled seconds of I/O:\n")
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
        "If garbage collection is the limit, as for all writes here, the sufficient sizes are far "
        "below those of the paper and the defaults of the sort, and larger ones change the time "
        "little. This agrees with figure 3, in which all devices reach their bandwidth with 16 to "
        "64 KB. Reads may gain up to the largest size. Larger transfers also save work of the "
        "host, which a simulated device does not show. The settings are therefore a starting "
        "point; `gordon sort tune` measures.\n"
    )


def main() -> None:
    print(METHOD)
    simulated = inside()
    rewritten(simulated)
    steering()
    searched()


if __name__ == "__main__":
    main()
