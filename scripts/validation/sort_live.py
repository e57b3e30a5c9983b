#!/usr/bin/env python3
"""Sorts on a served image: the search steered by its telemetry, the blind search, and figure 10
live. Writes the JSON that scripts/pages/sort_tuning.py prints. As root, with nbdfuse (apt install
libnbd-bin); takes a quarter of an hour and 2 GB below FOLDER.

python scripts/validation/sort_live.py FOLDER >docs/design/sort-live.json
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from gordon.reproduce import rewrite
from gordon.sort.tune import tune
from live_export import Export

Json = dict[str, Any]

PRESET, CAPACITY = "gordon-slc-256g", "1536MiB"
#: Half the buses, so that this machine's share of the time is small compared with the flash's.
SET = ("geometry.buses=2", "geometry.blocks_per_plane=32768")
OTHERS, OVER = 0.55, 2.0
RECORDS, MEMORY, BUDGET_S = 1_000_000, "25MB", 100.0
SEEDS = (0, 1, 2)
REWRITTEN, TRANSFERS, ROUNDS = 2_000_000, ("64KiB", "1MiB", "8MiB", "16MiB"), 4


def say(what: str) -> None:
    sys.stderr.write(f"{what}\n")
    sys.stderr.flush()


def searched(export: Export, seed: int, *, steered: bool) -> Json:
    """The result of one search."""
    folder = str(export.files)
    report = tune(
        export.files / "tuned.toml",
        budget_s=BUDGET_S,
        records=RECORDS,
        memory=MEMORY,
        folder=folder,
        temp=[folder],
        seed=seed,
        export=str(export.socket) if steered else None,
        notify=lambda trial, _: say(
            f"{trial.number} {trial.role}: {trial.point.label()} {trial.cost}"
        ),
    )
    trials = report["trials"]
    search = [one for one in trials if one["role"] != "compare"]
    needed = next(one["trial"] for one in trials if one["settings"] == report["best"])
    gain = report["gain"]
    return {
        "steered": steered,
        "noise": report["noise"],
        "gain": report["gain"],
        "finished": report["finished"],
        "spent_s": report["spent_s"],
        "bytes": report["bytes"],
        "memory": report["memory"],
        "budget_s": report["budget_s"],
        "seed": report["seed"],
        "trials": len(search),
        "needed": needed,
        "best": next(one["what"] for one in trials if one["settings"] == report["best"]),
        "chosen": report["chosen"]["what"],
        "time_s": [gain["default"], gain["best"]],
        "steps": report.get("steps"),
        "export": report.get("export"),
    }


def main() -> None:
    with (
        tempfile.TemporaryDirectory(dir=sys.argv[1]) as name,
        Export.flash(Path(name), PRESET, CAPACITY, SET) as export,
    ):
        # At full speed, for its time is not of interest.
        export.start("discard")
        mapped = export.age(OTHERS, OVER, seed=1)
        export.stop()
        export.start("discard", "--timing", "real")
        searches = []
        for seed in SEEDS:
            for steered in (True, False):
                searches.append(searched(export, seed, steered=steered))
                say(json.dumps(searches[-1]["gain"]))
        report = rewrite(
            str(export.socket),
            export.files,
            records=REWRITTEN,
            transfers=TRANSFERS,
            rounds=ROUNDS,
            notify=say,
        )
    # Means and deviations of the trials are in the rows.
    without_trials = {key: value for key, value in report.items() if key != "trials"}
    device = {"preset": PRESET, "capacity": CAPACITY, "set": list(SET), "others": mapped}
    found = {"device": device, "searches": searches, "rewriting": without_trials}
    sys.stdout.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
