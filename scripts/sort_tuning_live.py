"""What was measured on a served device (docs/design/sort-live.json), for sort-tuning.md."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

from gordon.cli.sort_rewrite_view import spread as deviated
from gordon.human import binary, figures, short
from gordon.sort.tune import advice
from gordon.sort.tune.rewriting import OVER, TRIMMED, UNTRIMMED

LIVE = Path(__file__).parents[1] / "docs" / "design" / "sort-live.json"


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
        f"`gordon sort rewrite` on a file system on a served image: `{device['preset']}` with "
        f"{', '.join(device['set'])}, {device['capacity']} exported, `--timing real`, by nbdfuse, "
        f"a loop device and ext4; others use {device['others']:.0%} of it, written over at random. "
        f"{short(report['bytes'], 'B')} are sorted in one pass, {report['rounds']} times each way "
        "in turn. Before each the device is told all that is not in use, and a sort with the same "
        "transfers leaves its output. Times are measured, pages, erases and trims counted, busy "
        "dies modelled, on two cores with other work. The output phase and its sync:\n"
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
    print("Compared with the old output deleted and trimmed, and what the counters show:\n")
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
    print("Beside the paper and the simulated devices:\n")
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
    """What the counters explain of the times."""

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
        f"Where the old output was kept the output took {figures(kept)} s longer in the mean of "
        f"all sizes, and the dies worked {figures(mean('dies_longer_s', UNTRIMMED))} s longer, "
        f"{mean('dies_longer_s', UNTRIMMED) / kept:.0%} of it: they copied "
        f"{figures(mean('copied_more_bytes', UNTRIMMED) / 1e6)} MB more. ext4 puts the new file "
        "elsewhere, and of the old one the device hears nothing: what is in use goes from "
        f"{used(UNTRIMMED)}, and write amplification is "
        f"{amplified(UNTRIMMED):.2f}. Overwritten it stays ({used(OVER)}; "
        f"{amplified(OVER):.2f}), and trimmed before it goes from {used(TRIMMED)} "
        f"({amplified(TRIMMED):.2f}); between these two is {figures(over)} s. No size of transfer "
        "changes that. Write amplification is below the simulated one: what others have lies still "
        "meanwhile, and between "
        "trials the device is idle and collects. So the paper's later finding "
        "is seen here: an output is slow where the old one is deleted and not trimmed. Its first, "
        "that overwriting is slower than that, is not, on this device simulated or served.\n"
    )


def searched() -> None:
    """The search that telemetry steers, beside the blind one."""
    measured = json.loads(LIVE.read_text(encoding="utf-8"))
    searches = measured["searches"]
    one = searches[0]
    print("## Steered by a served device\n")
    print(
        "`gordon sort tune --export SOCKET` asks the server of the device that its files are on "
        "ten times a second what it did. For each phase of the best trial the first rule that "
        "fits is taken (`gordon.sort.tune.advice`), its changes are tried, and kept only if trials "
        "show a gain beyond the noise. When the advice leads no further, the blind search goes on "
        "from there: a setting that no rule names is found as well.\n"
    )
    print("\n".join(line for line in str(advice.__doc__).splitlines() if line.startswith("|")))
    print("\nOverwriting is advised only with `--overwrite`.")
    print(
        f"\nLimits: {advice.BUSY:.0%} busy, {advice.COPIES:.0%} of pages copied, "
        f"{advice.DEEP:.0f} requests a lane, processors {advice.AT_WORK:.0%} at work, a phase of "
        f"less than {advice.SHORT:.0%} of the time; larger is {advice.STEP} times as large, up to "
        "a quarter of the memory.\n"
    )
    print(
        f"{short(one['bytes'], 'B')} with memory {one['memory']}, a budget of "
        f"{one['budget_s']:.0f} s, on the device of figure 10 above:\n"
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
        "*Trials* are those before the comparison in turn. Where a gain was found, the best point "
        f"is first tried in trial {ours:.0f} of the steered search and {theirs:.0f} of the blind "
        "one, in the mean; 4 of these are the defaults. The blind search of seed 1 met a slow "
        "trial of buffered I/O (1.88 s) and did not come back to it; since then such settings are "
        f"tried twice. The gains are {gains[0]:.0%} and {gains[1]:.0%}. The page "
        "cache wins here for a reason that the counters show: the device receives half as much, as "
        "temporary files are deleted before the system has written them. Such memory is not in "
        "`--memory`.\n"
    )
    print("What the device told the first steered search, and what followed:\n")
    for step in one["steps"]:
        tried = "; ".join(dict.fromkeys(t["what"] for t in step["tried"])) or "nothing"
        kept = f"; kept: {step['kept']}" if step["kept"] else ""
        print(
            f"- {step['at']}, {step['phase']}: *{step['rule']}*, {step['why']}. Tried: "
            f"{tried}{kept}"
        )
    print()
