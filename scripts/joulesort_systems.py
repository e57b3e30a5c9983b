#!/usr/bin/env python3
"""Prints docs/design/joulesort-systems.md: the JouleSort paper's systems, modelled and measured.

python scripts/joulesort_systems.py >docs/design/joulesort-systems.md
"""

import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gordon.sort import presets
from gordon.sort.systems import data, extrapolate, fit
from gordon.sort.systems.model import Parts, run
from gordon.sort.systems.schema import Systems, Value, read

NONE = "–"
UNITS = {"tdp": "W", "active": "W", "idle": "W", "read": "MB/s", "write": "MB/s", "clock": "GHz"}
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


def table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def shown(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)


def main() -> None:
    report = extrapolate()
    print("# A sort on other systems\n")
    print(
        "Printed by `scripts/joulesort_systems.py`; do not edit. The systems, and what is said of "
        'them, are those of Davis and Rivoire, "Building Energy-Efficient Systems for Sequential '
        "I/O Workloads\"; sections, tables and figures below are that paper's. Its systems and "
        "parts are in `python/gordon/sort/systems/paper.toml`, each number with its source.\n"
    )
    model()
    parameters()
    printed(report)
    errors(report)
    needed(report)
    ideal(report)
    plateaus(report)
    statements(report)
    sizes()
    own()


def model() -> None:
    print("## The model\n")
    print(
        "A sort has an input and an output phase. In two passes, the input phase reads the input "
        "and writes temporary files, the output phase reads those and writes the output; in one, "
        "where all records fit in memory, nothing is temporary. A phase takes as long as the "
        "slowest of\n\n"
        "- the processor: core-seconds over cores;\n"
        "- each group of drives (those of input and output, those of temporary files, or one group "
        "for both): bytes read over the rate of all of them, and bytes written over that of "
        "writes, one after the other;\n"
        "- the link that all drives share, where a board has one, and the link of each drive.\n\n"
        "Watts at the wall are those of board, memory, processor and drives over the efficiency of "
        "the power supply. A processor draws between idle and busy power in proportion to its "
        "cores at work, a drive between idle and active by the share of the phase it works.\n\n"
        "Left out: what starting and ending a sort takes; seeks between temporary buckets; what a "
        "flash translation layer does meanwhile; clocks that are lowered by hand (3B in the input "
        "phase); fans.\n"
    )


def parameters() -> None:
    print("## Where the numbers are from\n")
    print(
        "Figure 3, the drives' bandwidths, is a picture: no rate is read off it. Rates are those "
        "of data sheets and reviews; what the text says a system lost of them is on that system. "
        "Nothing about time is fitted to table 2, but for the work of processors, which is what "
        'the text says of how busy they were times a measured time. "Assumed" is what no text '
        "could be had for.\n\n"
        "The text is not of one mind about what sorting loses of ATTO's peak: nothing with laptop "
        "disks and Micron's SSDs, on other SSDs either reads or writes (4.1); 25 % (6). Here "
        "laptop disks, Micron's SSDs, and what 4.1 says reached its peak have their whole rates; "
        "the 25 % are taken from Samsung's writes, of which 4.1 says neither.\n"
    )
    read_in = read(Systems, data.shipped(), "")
    rows = []
    for kind, parts in (("cpu", read_in.cpu), ("drive", read_in.drive), ("board", read_in.board)):
        for name, part in parts.items():
            for key, one in values(part):
                rows.append([f"{kind} {name}", key, number(one, key), *origin(one)])
    for name, system in read_in.system.items():
        for key in ("read_share", "write_share"):
            one = getattr(system, key)
            if one is not None:
                rows.append([f"system {name}", key, number(one, key), *origin(one)])
    rows.append(["all", "idle share of TDP", *known(read_in.cpu_power.idle_share)])
    memory = read_in.memory_power
    watts = f"{Parts(read_in).memory_w * 2**30:.2f} W"
    rows.append(["all", "memory, each GiB", watts, "assumed", memory.assumed])
    table(["part", "value", "", "", "from"], rows)


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


def printed(report: dict[str, Any]) -> None:
    print("## Table 2 against itself\n")
    print(
        "Records/J of each row from its own time and power. Between lowest and highest: what the "
        "columns' rounding leaves open, and that the score may be the mean of five runs' scores "
        "and not the score of the means.\n"
    )
    rows = []
    for row in report["systems"]:
        if row["measured"] is None:
            continue
        check = row["measured"]["row"]
        if "follows" not in check:
            rows.append(
                [
                    row["name"],
                    f"{check['printed_records_per_j']:,.0f}",
                    *[NONE] * 4,
                    f"time of {check['implied_time_s']:.1f} s follows from the other two",
                ]
            )
            continue
        rows.append(
            [
                row["name"],
                f"{check['printed_records_per_j']:,.0f}",
                f"{check['records_per_j']:,.0f}",
                f"{check['lowest']:,.0f}",
                f"{check['highest']:,.0f}",
                f"{check['printed_over']:+.2%}",
                "follows" if check["follows"] else "**does not follow**",
            ]
        )
    head = ["system", "printed", "from time and power", "lowest", "highest", "printed over it", ""]
    table(head, rows)
    print(
        "Table 2 names [29] as CoolSort's source and [35] as OzSort's; those are a review of SSDs "
        "and a paper on TPC-C. The paper's own list has them at [36] and [42].\n"
    )


def errors(report: dict[str, Any]) -> None:
    print("## Modelled beside measured\n")
    boards = report["fitted"]["board_w"]
    rows = [row for row in report["systems"] if row.get("error")]
    print(
        f"Fitted to the {len(rows)} measured rows: the own power of {len(boards)} boards, by least "
        "squares, the mean of what the modelled parts leave of the measured power. Of boards with "
        "one row the power is that row's by construction and nothing is checked; of the others "
        '"without it" is the error when the row\'s own power is left out of the fit.\n'
    )
    table(
        ["board", "own power", "from"],
        [
            [
                name,
                f"{board['value']:.1f} W",
                ", ".join(f"{system} {watts:.1f}" for system, watts in board["rows"].items()),
            ]
            for name, board in boards.items()
        ],
    )
    rests = boards["desktop"]["rows"]
    least, most = min(rests, key=rests.__getitem__), max(rests, key=rests.__getitem__)
    print(
        f"3B to 3E are one machine: that {least} leaves {rests[least]:.1f} W for it and {most} "
        f"{rests[most]:.1f} W is how far off the drives' and the processor's power are here.\n"
    )
    works = report["fitted"]["core_s_per_gb"]
    table(
        ["processor", "core-s/GB, input", "output"],
        [
            [name, *(shown(one, ".2f") for one in (work or (None, None)))]
            for name, work in works.items()
        ],
    )
    print(
        f"Busy processors draw {report['fitted']['busy_share_of_tdp']:.2f} of their TDP, by least "
        "squares through AMD's four pairs of average power and TDP.\n"
    )
    cells = []
    for row in rows:
        ours, theirs, error = row["modelled"], row["measured"], row["error"]
        cells.append(
            [
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
        )
    table(
        ["system", "time", "", "power", "", "without it", "records/J", "", "limits"],
        cells,
    )
    mean = {
        key: sum(abs(row["error"][key]) for row in rows) / len(rows)
        for key in ("time_s", "power_w", "records_per_j")
    }
    print(
        f"Mean of the errors' sizes: time {mean['time_s']:.1%}, power {mean['power_w']:.1%}, "
        f"records/J {mean['records_per_j']:.1%}.\n"
    )
    print("Not modelled or not measured:\n")
    for row in report["systems"]:
        if row["modelled"] and not row["measured"]:
            ours = row["modelled"]
            print(
                f"- {row['name']} ({row['summary']}): {ours['time_s']:.1f} s, "
                f"{ours['power_w']:.1f} W, {ours['records_per_j']:,.0f} records/J, no row in "
                "table 2"
            )
        elif not row["modelled"]:
            why = "its parts are not in table 1" if row["measured"] else "no utilisation is printed"
            print(f"- {row['name']}: {why}")
    print()


def needed(report: dict[str, Any]) -> None:
    print("## What the drives would have to give\n")
    print(
        "The share of the drives' rates above, of reads and writes alike, at which a row's "
        "modelled time is the measured one; and the error of its time with the mean share of the "
        "other rows whose drives are all of the same make: a fit that leaves the row out.\n"
    )
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
    table(["system", "", "share of data sheet", "time by the others'"], rows)
    print(
        "One Micron SSD, three and four of them, and five laptop disks need about what the data "
        "sheets say, as section 4.1 has it for both. Samsung's need the same share in 3C and 4E, "
        "below the 0.75 of the text. 4D stands alone: five of the SSDs that give 1B and 3B their "
        "rates take much longer; the processor is no busier than in 4C, and by section 4.1 "
        "striping costs nothing there. Section 3.3.4 tells of output bandwidth lost to the file "
        "system or the translation layer on these very systems, as much as 36 % with Micron's "
        "SSDs and 50 % with Samsung's. 3D writes buckets in transfers of 1 MiB to disks that must "
        "seek between them, which the model leaves out.\n"
    )


class Shares:
    """Times of measured systems with their drives at a share of their rates."""

    def __init__(self) -> None:
        self.parts = Parts(read(Systems, data.shipped(), ""))
        self.work = fit.Work(self.parts)

    def make(self, name: str) -> str | None:
        """The drive that all of a system's are; none where they are of two makes."""
        system = self.parts.all.system[name]
        drives = {array.drive for array in (system.files, system.temp) if array is not None}
        return drives.pop() if len(drives) == 1 else None

    def time(self, name: str, share: float) -> float:
        system = self.parts.all.system[name]
        changed = dataclasses.replace(system, read_share=Value(share), write_share=Value(share))
        demand = fit.demand_of(self.parts, changed, self.work.of(str(system.cpu)))
        return sum(phase.time_s for phase in run(self.parts, changed, demand))

    def of(self, name: str, seconds: float) -> float | None:
        """By bisection; none where the processor alone takes longer."""
        low, high = 0.01, 10.0
        if self.time(name, high) > seconds:
            return None
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if self.time(name, middle) > seconds else (low, middle)
        return high


def ideal(report: dict[str, Any]) -> None:
    print("## The ideal system\n")
    claims = report["claims"]
    one, two, swapped = claims["ideal"], claims["balanced"], claims["ideal"]["swapped"]
    watts = swapped["processor_w"]
    print(
        f"Section 4.2.2 puts the processor of 2 into 3B and estimates about "
        f"{one['paper_records_per_j']:,.0f} records/J. The model's answers, three ways to a board "
        "that does not exist:\n\n"
        f"- all modelled, on the desktop's board: {one['records_per_j']:,.0f} "
        f"({one['over_paper']:+.0%});\n"
        f"- {swapped['from']} as measured, its processor's modelled {watts[0]:.1f} W taken out and "
        f"the other's {watts[1]:.1f} W put in, over the efficiency of the supply: "
        f"{swapped['power_w']:.1f} W, {swapped['records_per_j']:,.0f} "
        f"({swapped['records_per_j'] / one['paper_records_per_j'] - 1:+.0%});\n"
        f"- 2 with the array of 3B on its own board: {score(report, 'ideal-mobile'):,.0f} "
        f"({score(report, 'ideal-mobile') / one['paper_records_per_j'] - 1:+.0%}).\n\n"
        f"The paper's figure means {swapped['paper_power_w']:.1f} W in the time of "
        f"{swapped['from']}: its processors, whose power it measured and does not print, were less "
        "far apart than shares of their TDP make them, or its hypothetical board draws more.\n"
    )
    print(
        f'With SSDs of more even rates it expects "at least {two["paper_gain"]:.0%} better ... or '
        f'around {two["paper_records_per_j"]:,.0f}". {one["paper_records_per_j"]:,.0f} x '
        f"{1 + two['paper_gain']:.2f} is {two['gain_gives_records_per_j']:,.0f}; around "
        f"{two['paper_records_per_j']:,.0f} is {two['gain_needed']:.0%} better. The model, with "
        f"Intel's SLC SSDs at their data sheet's rates: {two['records_per_j']:,.0f} "
        f"({two['over_paper']:+.0%}).\n"
    )
    print("How far this goes with what is assumed:\n")
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
        made = extrapolate(set_values=settings)
        swap = made["claims"]["ideal"]["swapped"]["records_per_j"]
        names = ("ideal", "balanced")
        rows.append([what, *(f"{score(made, name):,.0f}" for name in names), f"{swap:,.0f}"])
    table(["", "ideal", "balanced", "3B as measured, processor changed"], rows)


def score(report: dict[str, Any], name: str) -> float:
    found = next(row["modelled"] for row in report["systems"] if row["name"] == name)
    return float(found["records_per_j"])


def plateaus(report: dict[str, Any]) -> None:
    print("## Figure 13: plateaus\n")
    found = report["plateaus"]
    print(
        f"Two-pass systems as measured and the paper's two estimates, in order of records/J; a "
        f"plateau ends where the next is more than {found['step']} times the last. Neighbours "
        f"within a plateau are at most {found['largest_within']:.2f} apart, those between at least "
        f"{found['smallest_between']:.2f}: any step in between gives the same plateaus.\n"
    )
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
    table(head, rows)
    old, spans = report["claims"]["old_plateau"], report["claims"]["power_span"]
    print(
        f"The paper has its old plateau at around {old['paper_records_per_j']:,.0f}; the scores in "
        f'its table 2 are {old["nearest"]["lowest"]:,.0f} and more. It sees "almost a '
        f'{spans["paper"]:g}x difference" of power at the same records/J: in table 2 it is '
        f"{ratio(old['nearest']):.1f} on that plateau, and {spans['measured']:.1f} over all rows. "
        "Its estimates are beyond the SSD systems' plateau by more than that step; the paper "
        "counts them to it.\n"
    )


def statements(report: dict[str, Any]) -> None:
    print("## Statements of the paper\n")
    print(
        "Each next to what the paper's own tables give, or the model where it is about parts. A "
        "percentage agrees within 2 points, by both scores where there are two. Scores "
        "from a row's time and power are those of the section on "
        "table 2 above. Figure 12's bars are a picture: what is compared is the work of a sort by "
        "core. The paper's power factor is not measured by any meter of `gordon meter`.\n"
    )
    agrees = {True: "yes", False: "**no**", None: NONE}
    table(
        ["section", "the paper says", "its tables, or the model", "agrees"],
        [
            [one["where"], one["paper"], one["here"], agrees[one["agrees"]]]
            for one in report["claims"]["statements"]
        ],
    )


def ratio(plateau: dict[str, Any]) -> float:
    return float(plateau["power_w"][1] / plateau["power_w"][0])


def sizes() -> None:
    print("## Table 3: transfer sizes\n")
    print("`gordon.sort.presets.transfer_sizes(NAME)`; M is taken to be 2^20.\n")
    rows = []
    for name in presets.names():
        cells = [f"{size >> 20} MiB" if size else NONE for size in presets.transfer_sizes(name)]
        rows.append([name, *cells])
    table(["preset", "input", "output", "temporary"], rows)


def own() -> None:
    print("## One's own systems\n")
    print(
        "A file has parts and systems in the manner of the shipped one; shipped parts may be "
        "named. Rates are bytes a second. A processor's `work` may be left out for `like`, another "
        "one's by clock. With `--from` the work is that of a run of one's own: bytes and "
        "core-seconds of its phases are asked of each system, scaled to its processor where both "
        "have a known work; a board without `base` gets what that run's power leaves for it.\n"
    )
    print(f"```toml\n{OWN}```\n")
    print("```\n$ gordon sort extrapolate mine.toml")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.toml"
        path.write_text(OWN, encoding="utf-8")
        print(ran(folder, path.name))
        (Path(folder) / "run.json").write_text(json.dumps(RUN), encoding="utf-8")
        print(f"$ cat run.json\n{json.dumps(RUN)}")
        print("$ gordon sort extrapolate mine.toml --from run.json")
        print(ran(folder, path.name, "--from", "run.json"), end="```\n")


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
    """What the command prints, without the spaces at the ends of lines."""
    command = [sys.executable, "-m", "gordon", "sort", "extrapolate", *args]
    made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return "".join(f"{line.rstrip()}\n" for line in (made.stderr + made.stdout).splitlines())


if __name__ == "__main__":
    main()
