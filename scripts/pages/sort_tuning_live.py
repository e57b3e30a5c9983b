"""What was measured on a served device (docs/design/sort-live.json), for sort-tuning.md."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from gordon.cli.reproduce_rewrite_view import spread as deviated
from gordon.human import binary, figures, short
from gordon.reproduce.rewriting import OVER, TRIMMED, UNTRIMMED
from gordon.sort.tune import advice

LIVE = Path(__file__).resolve().parents[2] / "docs/design/sort-live.json"


def table(head: list[str], rows: list[list[str]]) -> None:
    for row in (head, ["---"] + ["---:"] * (len(head) - 1), *rows):
        print(f"| {' | '.join(row)} |")
    print()


def rewritten(simulated: dict[str, list[str]]) -> None:
    """Figure 10 on a served device."""
    measured = json.loads(LIVE.read_text(encoding="utf-8"))
    report, device = measured["rewriting"], measured["device"]
    print("## Figure 10 on a served device\n")
    print(
        "`gordon reproduce rewrite` ran on a file system on a served image: "
        f"`{device['preset']}` with {', '.join(device['set'])}, {device['capacity']} exported, "
        "`--timing real`, through nbdfuse, a loop device and ext4. Other files use "
        f"{device['others']:.0%} of it and were overwritten at random. "
        f"{short(report['bytes'], 'B')} are sorted in one pass, {report['rounds']} times in each "
        "of the three ways, in random order. Before each sort the free space is trimmed, and a "
        "sort with the same transfers leaves its output. Times are measured; pages, erases and "
        "trims are counted; busy dies are modelled. The machine had two cores and other work. The "
        "output phase and its sync:\n"
    )
    rows = []
    for row in report["rows"]:
        output = row["output"]
        rows.append(
            [
                f"{binary(row['transfer'])}, {row['way']}",
                deviated(row["output_s"], row["output_s_deviation"]),
                figures(output["write_mb_s"]),
                f"{output['write_amplification']:.2f}",
                figures(output["copied_bytes"] / 1e6),
                figures(output["erases"]),
                f"{row['mapped_before']:.0%} to {row['mapped_after']:.0%}",
                figures(output["queue_depth"]),
                f"{output['dies_busy']:.0%}",
            ]
        )
    head = ["output", "s", "MB/s", "WA", "copied MB", "erases", "in use", "queue", "dies"]
    table(head, rows)
    print("The difference from the old output deleted and trimmed, and its cause by counters:\n")
    reasons = report["explained"]
    table(
        ["output", "longer", "longer s", "dies worked longer s", "copied more MB", "so it is"],
        [
            [
                f"{binary(one['transfer'])}, {one['way']}",
                f"{one['longer']:+.0%} ± {one['longer_deviation']:.0%}",
                figures(one["longer_s"]),
                figures(one["dies_longer_s"]),
                figures(one["copied_more_bytes"] / 1e6),
                one["why"].split(":")[0].split(";")[0],
            ]
            for one in reasons
        ],
    )
    print(_because(report["rows"], reasons))
    print("Compared with the paper and the simulated devices:\n")
    live = {
        f"`{device['preset']}`, served, {binary(size)}": [
            f"{one['longer']:+.0%} ± {one['longer_deviation']:.0%}"
            for way in (OVER, UNTRIMMED)
            for one in reasons
            if (one["transfer"], one["way"]) == (size, way)
        ]
        for size in dict.fromkeys(one["transfer"] for one in reasons)
    }
    paper = {
        "paper, first: below 16 MB": ["drastically slower", "the base"],
        "paper, first: 16 MB and more": ["the same", "the base"],
        "paper, later: 8 MB": ["both slower: up to 50% (Samsung), 36% (Micron), 29% (disks)", "-"],
    }
    table(
        [
            "the output phase over that with the old output trimmed",
            "overwritten",
            "deleted, not trimmed",
        ],
        [[what, *values] for what, values in (paper | simulated | live).items()],
    )


def _because(rows: list[dict[str, Any]], reasons: list[dict[str, Any]]) -> str:
    """The part of the differences in time that the counters explain."""

    def mean(key: str, way: str) -> float:
        return fmean(one[key] for one in reasons if one["way"] == way)

    def used(way: str) -> str:
        mine = [row for row in rows if row["way"] == way]
        before, after = (
            fmean(row[f"mapped_{when}"] for row in mine) for when in ("before", "after")
        )
        return f"{before:.0%} to {after:.0%}"

    def amplified(way: str) -> float:
        return fmean(row["output"]["write_amplification"] for row in rows if row["way"] == way)

    kept, over = mean("longer_s", UNTRIMMED), mean("longer_s", OVER)
    return (
        "If the old output was deleted and not trimmed, the output phase took "
        f"{figures(kept)} s longer in the mean of all sizes. The dies worked "
        f"{figures(mean('dies_longer_s', UNTRIMMED))} s longer, "
        f"{mean('dies_longer_s', UNTRIMMED) / kept:.0%} of that, because they copied "
        f"{figures(mean('copied_more_bytes', UNTRIMMED) / 1e6)} MB more. ext4 places the new file "
        "elsewhere, and the device is not informed that the old one is deleted: the part in use "
        f"rises from {used(UNTRIMMED)}, and write amplification is {amplified(UNTRIMMED):.2f}. If "
        f"the output is overwritten, the part in use stays the same ({used(OVER)}), with "
        f"{amplified(OVER):.2f}; if the old output is trimmed first, it rises from "
        f"{used(TRIMMED)}, with {amplified(TRIMMED):.2f}. The difference between these two is "
        f"{figures(over)} s. The transfer size does not change this. Write amplification is lower "
        "than simulated, because the other files are not written during a sort, and because the "
        "device collects garbage while it is idle between trials. The result agrees with the later "
        "finding of the paper: an output is slow if the old one is deleted and not trimmed. Its "
        "first finding, that overwriting is slower than deleting, does not hold for this device, "
        "simulated or served.\n"
    )


def searched() -> None:
    """The search steered by telemetry, compared with the blind one."""
    measured = json.loads(LIVE.read_text(encoding="utf-8"))
    searches = measured["searches"]
    one = searches[0]
    print("## Steered by a served device\n")
    print(
        "`gordon sort tune --export SOCKET` reads the counters of the served device that its files "
        "are on ten times per second. For each phase of the best trial, the first rule that "
        "applies is used (`gordon.sort.tune.advice`). Its changes are tried and are kept only if "
        "trials show a gain beyond the noise. When the advice finds nothing better, the blind "
        "search continues from there, so that settings without a rule are found as well.\n"
    )
    print("\n".join(line for line in str(advice.__doc__).splitlines() if line.startswith("|")))
    print("\nOverwriting is advised only with `--overwrite`.")
    print(
        f"\nThe limits of the rules are: dies or buses busy {advice.BUSY:.0%}, copies "
        f"{advice.COPIES:.0%} of the pages programmed, {advice.DEEP:.0f} requests outstanding per "
        f"die group, processors busy {advice.AT_WORK:.0%}, and a phase of less than "
        f"{advice.SHORT:.0%} of the time. A larger transfer is {advice.STEP} times as large, up "
        "to a quarter of the memory.\n"
    )
    print(
        f"{short(one['bytes'], 'B')} are sorted with memory {one['memory']} and a budget of "
        f"{one['budget_s']:.0f} s, on the served device of figure 10 above:\n"
    )
    rows = []
    for found in searches:
        gain = found["gain"]
        rows.append(
            [
                f"{'steered' if found['steered'] else 'blind'}, seed {found['seed']}",
                str(found["trials"]),
                str(found["needed"]),
                "yes" if found["finished"] else "no",
                found["best"],
                f"{gain['gain']:.0%} ± {gain['deviation']:.0%}",
                str(gain["pairs"]),
                f"{found['noise']:.0%}",
            ]
        )
    head = ["search", "trials", "best first at", "all tried", "best", "gain", "pairs", "noise"]
    table(head, rows)
    gained = [found for found in searches if found["gain"]["beyond_noise"]]
    ours, theirs = (
        fmean(found["needed"] for found in gained if found["steered"] is kind)
        for kind in (True, False)
    )
    gains = [
        fmean(found["gain"]["gain"] for found in gained if found["steered"] is kind)
        for kind in (True, False)
    ]
    print(
        "*Trials* are those before the alternating comparison. In searches with a gain, the best "
        f"point is first tried in trial {ours:.0f} of the steered search and in trial "
        f"{theirs:.0f} of the blind one, in the mean; the first 4 trials are those of the "
        "defaults. The blind search of seed 1 had a slow trial of buffered I/O (1.88 s) and did "
        "not try it again; such settings are now tried twice. The gains are "
        f"{gains[0]:.0%} and {gains[1]:.0%}. The counters show why the page cache wins here: the "
        "device receives half the bytes, because temporary files are deleted before the system has "
        "written them. That memory does not count as `--memory`.\n"
    )
    print("The telemetry and advice of the first steered search, and the points tried:\n")
    for step in one["steps"]:
        tried = "; ".join(dict.fromkeys(t["what"] for t in step["tried"])) or "nothing"
        kept = f"; kept: {step['kept']}" if step["kept"] else ""
        print(
            f"- {step['at']}, {step['phase']}: *{step['rule']}*, {step['why']}. Tried: "
            f"{tried}{kept}"
        )
    print()
