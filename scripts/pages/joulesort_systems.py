#!/usr/bin/env python3
"""Prints docs/design/joulesort-systems.md: the JouleSort paper's systems, modelled and measured.

python scripts/pages/joulesort_systems.py >docs/design/joulesort-systems.md
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gordon.reproduce import joulesort
from gordon.reproduce.joulesort import published
from gordon.reproduce.joulesort.machines import others
from gordon.sort import presets
from gordon.sort.systems import data, fit
from gordon.sort.systems.model import Parts, run
from gordon.sort.systems.schema import Systems
from gordon.tables import Value, read
from markdown_pages import render, table

Json = dict[str, Any]

NONE = "–"
#: An error of this share or more has a reason.
LARGE = 0.15
UNITS = {
    "tdp": "W",
    "active": "W",
    "idle": "W",
    "base": "W",
    "cards": "W",
    "read": "MB/s",
    "write": "MB/s",
    "clock": "GHz",
}
SCALES = {"MB/s": 1e6, "GHz": 1e9}

OWN = """\
[cpu.mine]
cores = 4
tdp = "6W"
work = { input = 0.6, output = 0.8 } # core-seconds a gigabyte

[drive.nvme]
read = "3GB" # a second
write = "2GB"
active = "4W"
idle = "1W"

[board.mini]
efficiency = 0.85
base = "4W"

[system.home]
cpu = "mine"
board = "mini"
memory = "16GiB"
memory_power = "2W"
files = { drive = "nvme" }

[system.home-two-pass]
cpu = "mine"
board = "mini"
memory = "4GiB"
memory_power = "1W"
files = { drive = "nvme" }
temp = { drive = "micron", count = 2 }
"""


def shown(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)


def main() -> None:
    report = joulesort.report()
    sys.stdout.write(
        render(
            "joulesort-systems",
            parameters=parameters(),
            table_2=table_2(report),
            **errors(report),
            **machines(),
            needed=needed(report),
            **ideal(report),
            **plateaus(report),
            statements=statements(report),
            sizes=sizes(),
            **own(),
        )
    )


def parameters() -> str:
    """The numbers of the parts, with their sources."""
    read_in = read(Systems, data.shipped(), "")
    rows = part_rows(read_in)
    for name, system in read_in.system.items():
        for key in ("read_share", "write_share"):
            one = getattr(system, key)
            if one is not None:
                rows.append([f"system {name}", key, number(one, key), *origin(one)])
    rows.append(["all", "idle share of TDP", *known(read_in.cpu_power.idle_share)])
    memory = read_in.memory_power
    watts = f"{Parts(read_in).memory_w * 2**30:.2f} W"
    rows.append(["all", "memory, each GiB", watts, "assumed", memory.assumed])
    return table(["part", "value", "", "", "from"], rows)


def part_rows(systems: Systems, but: Systems | None = None) -> list[list[str]]:
    """The values of all parts, except those of another file."""
    rows = []
    for kind in ("cpu", "drive", "board"):
        for name, part in getattr(systems, kind).items():
            if but is None or name not in getattr(but, kind):
                for key, one in values(part):
                    rows.append([f"{kind} {name}", key, number(one, key), *origin(one)])
    return rows


def known(one: Value) -> list[str]:
    return [f"{one.value:g}", *origin(one)]


def values(part: Any) -> list[tuple[str, Value]]:
    found = []
    for field in dataclasses.fields(part):
        one = getattr(part, field.name)
        if isinstance(one, Value):
            found.append((field.name, one))
        elif dataclasses.is_dataclass(one):
            found += [(f"{field.name}: {key}", value) for key, value in values(one)]
    return found


def number(one: Value, key: str) -> str:
    unit = UNITS.get(key, "")
    return f"{one.value / SCALES.get(unit, 1.0):g} {unit}".strip()


def origin(one: Value) -> list[str]:
    return ["assumed" if one.assumed else "source", one.assumed or one.source or ""]


def table_2(report: Any) -> str:
    """Table 2 of the paper against itself."""
    rows = []
    for row in report["systems"]:
        if row["measured"] is None:
            continue
        check = row["measured"]["row"]
        name, printed = row["name"], f"{check['printed_records_per_j']:,.0f}"
        if "follows" not in check:
            why = f"time of {check['implied_time_s']:.1f} s follows from the other two"
            rows.append([name, printed, *[NONE] * 4, why])
            continue
        scores = [f"{check[key]:,.0f}" for key in ("records_per_j", "lowest", "highest")]
        follows = "follows" if check["follows"] else "**does not follow**"
        rows.append([name, printed, *scores, f"{check['printed_over']:+.2%}", follows])
    head = ["system", "printed", "from time and power", "lowest", "highest", "printed over it", ""]
    return table(head, rows)


def errors(report: Any) -> Json:
    """The fits, and the modelled and measured figures."""
    boards, works = report["fitted"]["board_w"], report["fitted"]["core_s_per_gb"]
    rows = [row for row in report["systems"] if row.get("error")]
    left = boards["desktop"]["rows"]
    least, most = min(left, key=left.__getitem__), max(left, key=left.__getitem__)
    return {
        "boards": len(boards),
        "measured": len(rows),
        "own_power": table(
            ["board", "own power", "from"],
            [
                [
                    name,
                    f"{board['value']:.1f} W",
                    ", ".join(f"{system} {watts:.1f}" for system, watts in board["rows"].items()),
                ]
                for name, board in boards.items()
            ],
        ),
        "least": {"name": least, "watts": left[least]},
        "most": {"name": most, "watts": left[most]},
        "work": table(
            ["processor", "core-s/GB, input", "output"],
            [
                [name, *(shown(one, ".2f") for one in (work or (None, None)))]
                for name, work in works.items()
            ],
        ),
        "busy_share": report["fitted"]["busy_share_of_tdp"],
        "errors": table(
            ["system", "time", "", "power", "", "without it", "records/J", "", "limits"],
            [error_cells(row) for row in rows],
        ),
        "mean": {
            key: sum(abs(row["error"][key]) for row in rows) / len(rows)
            for key in ("time_s", "power_w", "records_per_j")
        },
        "others": [row for row in report["systems"] if not (row["modelled"] and row["measured"])],
    }


def error_cells(row: Any) -> list[str]:
    ours, theirs, error = row["modelled"], row["measured"], row["error"]
    return [
        row["name"],
        f"{ours['time_s']:.1f} / {theirs['time_s']:.1f} s",
        f"{error['time_s']:+.1%}",
        f"{ours['power_w']:.1f} / {theirs['power_w']:.1f} W",
        "fitted" if error["power_fitted_to_it"] else f"{error['power_w']:+.1%}",
        shown(error.get("power_w_without_it"), "+.1%"),
        f"{ours['records_per_j']:,.0f} / {theirs['records_per_j']:,.0f}",
        f"{error['records_per_j']:+.1%}",
        "; ".join(f"{p['name']}: {p['limit']}" for p in ours["phases"]),
    ]


def machines() -> Json:
    """The published machines. A test compares this section with the page, so that its errors are
    those of the model."""
    rows = published()
    return {
        "published": table(
            ["system", "", "idle W", "busy W", "time, s", "", "power, W", "", "records/J", ""],
            [machine_cells(row) for row in rows if row["published"] is not None],
        ),
        "published_errors": [
            published_error(rows, key, what)
            for key, what in (
                ("time_s", "time"),
                ("power_w", "power"),
                ("records_per_j", "records/J"),
            )
        ],
        "large": [row for row in rows if large(row)],
        "servers": [row for row in rows if row["serves"]],
        "other_parts": table(
            ["part", "value", "", "", "from"],
            part_rows(others(), read(Systems, data.shipped(), "")),
        ),
        "sources": table(["system", "its published figures are from"], list(sources(rows))),
    }


def machine_cells(row: Any) -> list[str]:
    theirs, ours = row["published"], row["modelled"]
    power, _ = pair(ours, theirs, "power_w", ".1f")
    return [
        row["name"],
        row["summary"],
        f"{row['idle_w']:.1f}",
        f"{row['most_w']:.1f}",
        *pair(ours, theirs, "time_s", ".1f"),
        *(power, power_error(row["error"])),
        *pair(ours, theirs, "records_per_j", ",.0f"),
    ]


def published_error(rows: list[Any], key: str, what: str) -> Json:
    """The mean absolute error of a figure of the machines after 4G."""
    sorts = [row for row in rows if row["published"] and not row["of_paper"]]
    found = [row["error"][key] for row in sorts if row["error"][key] is not None]
    return {
        "what": what,
        "machines": len(found),
        "mean": sum(abs(error) for error in found) / len(found),
    }


def sources(rows: list[Any]) -> Iterator[list[str]]:
    """The sources of the published figures."""
    for row in rows:
        system = others().system[row["name"]]
        if system.measured and not row["of_paper"]:
            yield [row["name"], system.measured.source or ""]
        if system.serves:
            served = system.serves
            for one in (served.rate, served.per_joule, served.power):
                yield [row["name"], one.source or ""]


def pair(ours: Any, theirs: Any, key: str, form: str) -> list[str]:
    """Ours and theirs, and the error."""
    a, b = ours[key], theirs[key]
    return [f"{shown(a, form)} / {shown(b, form)}", f"{a / b - 1:+.1%}" if b else NONE]


def power_error(error: Any) -> str:
    if error["power_fitted_to_it"]:
        return "fitted"
    return shown(error.get("power_w_without_it", error["power_w"]), "+.1%")


def large(row: Any) -> bool:
    """Whether a figure is off by so much that the reason belongs on the page."""
    error = row["error"] or {}
    keys = ("time_s", "power_w", "power_w_without_it", "records_per_j")
    return any(abs(error.get(key) or 0.0) >= LARGE for key in keys)


def needed(report: Any) -> str:
    """The shares of the rates of data sheets that give the measured times."""
    needs = Shares()
    rows = []
    for row in report["systems"]:
        if row.get("error"):
            name, seconds = row["name"], row["measured"]["time_s"]
            others = [
                needs.of(other["name"], other["measured"]["time_s"])
                for other in report["systems"]
                if other.get("error")
                and other is not row
                and needs.make(other["name"]) == needs.make(name) is not None
            ]
            known = [share for share in others if share is not None]
            left_out = needs.time(name, sum(known) / len(known)) / seconds - 1 if known else None
            share = shown(needs.of(name, seconds), ".2f")
            rows.append([name, row["summary"], share, shown(left_out, "+.1%")])
    return table(["system", "", "share of data sheet", "time by the others'"], rows)


class Shares:
    """Times of measured systems with their drives at a share of their rates."""

    def __init__(self) -> None:
        self.parts = Parts(read(Systems, data.shipped(), ""))
        self.work = fit.Work(self.parts)

    def make(self, name: str) -> str | None:
        """The drive of a system, or None if it has drives of two makes."""
        system = self.parts.all.system[name]
        drives = {array.drive for array in (system.files, system.temp) if array is not None}
        return drives.pop() if len(drives) == 1 else None

    def time(self, name: str, share: float) -> float:
        system = self.parts.all.system[name]
        changed = dataclasses.replace(system, read_share=Value(share), write_share=Value(share))
        demand = fit.demand_of(self.parts, changed, self.work.of(str(system.cpu)))
        return sum(phase.time_s for phase in run(self.parts, changed, demand))

    def of(self, name: str, seconds: float) -> float | None:
        """The share that gives this time, by bisection; None if the processor takes longer."""
        low, high = 0.01, 10.0
        if self.time(name, high) > seconds:
            return None
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.time(name, middle) > seconds else (low, middle)
        return high


def ideal(report: Any) -> Json:
    """The paper's estimates, and how they depend on what is assumed."""
    changes = {
        "as above": [],
        "idle share of TDP 0.1": ["cpu_power.idle_share=0.1"],
        "idle share of TDP 0.4": ["cpu_power.idle_share=0.4"],
        "supplies of the desktop at 0.75": ["board.desktop.efficiency=0.75"],
        "supplies of the desktop at 0.85": ["board.desktop.efficiency=0.85"],
        "the Core 2 Duo three times as busy": ["cpu.core2-duo.seen.cores_busy=0.195"],
        "SLC SSDs at 0.75 of their rates": [
            f"system.balanced.{key}=0.75" for key in ("read_share", "write_share")
        ],
    }
    rows = []
    for what, settings in changes.items():
        made = joulesort.report(settings)
        swap = made["claims"]["ideal"]["swapped"]["records_per_j"]
        names = ("ideal", "balanced")
        rows.append([what, *(f"{score(made, name):,.0f}" for name in names), f"{swap:,.0f}"])
    claims = report["claims"]
    return {
        "ideal": claims["ideal"],
        "swapped": claims["ideal"]["swapped"],
        "balanced": claims["balanced"],
        "mobile": score(report, "ideal-mobile"),
        "sensitivity": table(["", "ideal", "balanced", "3B as measured, processor changed"], rows),
    }


def score(report: Any, name: str) -> float:
    found = next(row["modelled"] for row in report["systems"] if row["name"] == name)
    return float(found["records_per_j"])


def plateaus(report: Any) -> Json:
    """Figure 13."""
    found = report["plateaus"]
    points = {point["name"]: point for point in found["points"]}
    rows = []
    for plateau in found["plateaus"]:
        span = plateau["power_w"]
        own = [points[name] for name in plateau["systems"]]
        times = [point["time_s"] for point in own if point["time_s"]]
        rows.append(
            [
                f"{plateau['records_per_j']:,.0f}",
                ", ".join(plateau["systems"]),
                f"{plateau['lowest']:,.0f} to {plateau['highest']:,.0f}",
                f"{span[0]:.1f} to {span[1]:.1f}" if span else NONE,
                f"{span[1] / span[0]:.2f}" if span else NONE,
                f"{max(times):.0f} to {min(times):.0f}" if times else NONE,
            ]
        )
    head = ["mean records/J", "systems", "from, to", "W", "ratio", "s for 10^8 records"]
    return {
        "plateaus": found,
        "plateau_rows": table(head, rows),
        "old": report["claims"]["old_plateau"],
        "spans": report["claims"]["power_span"],
    }


def statements(report: Any) -> str:
    agrees = {True: "yes", False: "**no**", None: NONE}
    return table(
        ["section", "the paper says", "its tables, or the model", "agrees"],
        [
            [one["where"], one["paper"], one["here"], agrees[one["agrees"]]]
            for one in report["claims"]["statements"]
        ],
    )


def sizes() -> str:
    """Table 3."""
    rows = []
    for name in presets.names():
        cells = [f"{size >> 20} MiB" if size else NONE for size in presets.transfer_sizes(name)]
        rows.append([name, *cells])
    return table(["preset", "input", "output", "temporary"], rows)


def own() -> Json:
    """A file of systems, and what the command prints about it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.toml"
        path.write_text(OWN, encoding="utf-8")
        (Path(folder) / "run.json").write_text(json.dumps(RUN), encoding="utf-8")
        return {
            "own": OWN.rstrip("\n"),
            "own_modelled": ran(folder, path.name),
            "own_run": json.dumps(RUN),
            "own_scaled": ran(folder, path.name, "--from", "run.json").rstrip("\n"),
        }


RUN = {
    "records": 30_000_000,
    "time_s": 4.2,
    "power_w": 18,
    "system": "home",
    "phases": [
        {
            "name": "distribute",
            "seconds": 2.1,
            "cpu_s": 2.4,
            "bytes_read": 3_000_000_000,
            "bytes_written": 3_000_000_000,
        },
        {
            "name": "gather",
            "seconds": 2.1,
            "cpu_s": 3.0,
            "bytes_read": 3_000_000_000,
            "bytes_written": 3_000_000_000,
        },
    ],
}


def ran(folder: str, *args: str) -> str:
    """The output of the command, without the spaces at the ends of lines."""
    command = [sys.executable, "-m", "gordon", "sort", "extrapolate", *args]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return "".join(f"{line.rstrip()}\n" for line in (made.stderr + made.stdout).splitlines())


if __name__ == "__main__":
    main()
