#!/usr/bin/env python3
"""Prints docs/design/joulesort-systems.md: the JouleSort paper's systems, modelled and measured.

python scripts/pages/joulesort_systems.py >docs/design/joulesort-systems.md
"""

import dataclasses
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from gordon.reproduce import joulesort
from gordon.reproduce.joulesort import published
from gordon.reproduce.joulesort.machines import others
from gordon.sort import presets
from gordon.sort.systems import data, fit
from gordon.sort.systems.model import Parts, run
from gordon.sort.systems.schema import Systems, Value, read

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


def table(head: list[str], rows: list[list[str]]) -> None:
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |")
    print()


def shown(value: float | None, form: str) -> str:
    return NONE if value is None else format(value, form)


def main() -> None:
    report = joulesort.report()
    print("# A sort on other systems\n")
    print(
        "Printed by `scripts/pages/joulesort_systems.py`; do not edit. The systems and the "
        'statements about them are those of Davis and Rivoire, "Building Energy-Efficient Systems '
        "for Sequential I/O Workloads\"; section, table and figure numbers below are that paper's. "
        "Its systems and parts are in `python/gordon/sort/systems/paper.toml`, each number with "
        "its source.\n"
    )
    model()
    parameters()
    printed(report)
    errors(report)
    machines()
    needed(report)
    ideal(report)
    plateaus(report)
    statements(report)
    sizes()
    own()


def model() -> None:
    print("## The model\n")
    print(
        "A sort has an input phase and an output phase. In a two-pass sort the input phase reads "
        "the input and writes temporary files; the output phase reads the temporary files and "
        "writes the output. In a one-pass sort all records fit in memory, and there are no "
        "temporary files. A phase takes as long as the slowest of\n\n"
        "- the processor: core-seconds divided by cores;\n"
        "- each group of drives (input and output drives, temporary drives, or one group for "
        "both): bytes read divided by the group's read rate, plus bytes written divided by its "
        "write rate;\n"
        "- the link that all drives share, if the board has one, and the link of each drive.\n\n"
        "The power is that of the model of `gordon survey` and of the meter `model` "
        "([cluster.md](cluster.md#power)): each part draws its idle power, and in addition its "
        "active less its idle power times its activity. The activity of a processor is its share "
        "of busy cores, that of a drive the share of the phase in which it is busy. Memory and "
        "board draw constant power. The power at the wall is the sum divided by the efficiency of "
        "the supply.\n\n"
        "Not modelled: the start and the end of a sort, seeks between temporary buckets, the work "
        "of the flash translation layer, clocks lowered by hand (3B in the input phase), and "
        "fans.\n"
    )


def parameters() -> None:
    print("## Where the numbers are from\n")
    print(
        "No rate is read from figure 3, which has the bandwidths of the drives as a picture only. "
        "Rates are those of data sheets and reviews. Where the text says that a system reached "
        "only a part of them, that system has a share. Times are not fitted to table 2, except for "
        "the work of processors: the utilisation given in the text times a measured time. Values "
        'without a source are marked "assumed".\n\n'
        "The text contradicts itself about the part of ATTO's peak bandwidth that a sort reaches. "
        "By section 4.1, laptop disks and Micron's SSDs reach the peak, and other SSDs reach it "
        "for either reads or writes; by section 6, 25 % are lost. In this model, laptop disks, "
        "Micron's SSDs and whatever reached its peak by section 4.1 have their full rates. The "
        "loss of 25 % is applied to the writes of Samsung's SSDs, about which section 4.1 says "
        "nothing.\n"
    )
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
    table(["part", "value", "", "", "from"], rows)


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


def printed(report: dict[str, Any]) -> None:
    print("## Table 2 against itself\n")
    print(
        "Records/J of each row, computed from its time and power. Lowest and highest are the "
        "bounds that follow from the rounding of the columns, and from the fact that a printed "
        "score may be the mean of the scores of five runs rather than the score of the means.\n"
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
        "Table 2 cites [29] for CoolSort and [35] for OzSort. In the paper's list of references "
        "these are a review of SSDs and a paper on TPC-C; CoolSort and OzSort are [36] and [42].\n"
    )


def errors(report: dict[str, Any]) -> None:
    print("## Modelled and measured\n")
    boards = report["fitted"]["board_w"]
    rows = [row for row in report["systems"] if row.get("error")]
    print(
        f"The power of {len(boards)} boards is fitted to the {len(rows)} measured rows by least "
        "squares: it is the mean difference between the measured power and that of the modelled "
        "parts. For a board with a single row the error of power is zero by construction, so that "
        'row checks nothing. For other boards, "without it" is the error of power with the row '
        "left out of the fit.\n"
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
        f"3B to 3E are one machine, but {least} leaves {rests[least]:.1f} W for its board and "
        f"{most} leaves {rests[most]:.1f} W. This difference is the error in the modelled power of "
        "drives and processor.\n"
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
        f"A busy processor draws {report['fitted']['busy_share_of_tdp']:.2f} of its TDP: a least "
        "squares fit to four pairs of average power and TDP published by AMD.\n"
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
        f"Mean absolute error: time {mean['time_s']:.1%}, power {mean['power_w']:.1%}, records/J "
        f"{mean['records_per_j']:.1%}.\n"
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
            measured = 'its parts are not in table 1; see "Published machines"'
            why = measured if row["measured"] else "no utilisation is printed"
            print(f"- {row['name']}: {why}")
    print()


def machines() -> None:
    """Compared with the page by a test, so that its errors are those of the model."""
    print("## Published machines\n")
    rows = published()
    print(
        "Watts with all parts idle and with all parts busy, and the time and mean power of a sort, "
        "from the parts of each machine by the model above, next to the published figures (ours / "
        "theirs). For a system of the paper, the error of power is that without its own row, if "
        "its board has others. No figure of the machines after 4G is fitted to them: their boards "
        "have the power that the paper's boards were fitted to, and their processors the work of "
        "one of the paper's, scaled by the clock.\n"
    )
    cells = []
    for row in rows:
        theirs, ours = row["published"], row["modelled"]
        if theirs is not None:
            cells.append(
                [
                    row["name"],
                    row["summary"],
                    f"{row['idle_w']:.1f}",
                    f"{row['most_w']:.1f}",
                    *pair(ours, theirs, "time_s", ".1f"),
                    *pair(ours, theirs, "power_w", ".1f"),
                    *pair(ours, theirs, "records_per_j", ",.0f"),
                ]
            )
            cells[-1][7] = power_error(row["error"])
    head = ["system", "", "idle W", "busy W", "time, s", "", "power, W", "", "records/J", ""]
    table(head, cells)
    sorts = [row for row in rows if row["published"] and not row["of_paper"]]
    for key, what in (("time_s", "time"), ("power_w", "power"), ("records_per_j", "records/J")):
        found = [row["error"][key] for row in sorts if row["error"][key] is not None]
        mean = sum(abs(error) for error in found) / len(found)
        print(f"- mean absolute error of {what}, {len(found)} machines after 4G: {mean:.1%}")
    print("\nReasons for errors of 15 % and more:\n")
    for row in rows:
        if large(row):
            print(f"- {row['name']}: {row['reason']}")
    print()
    for row in rows:
        served = row["serves"]
        if served:
            print(
                f"{row['name']} ({row['summary']}) has no published sort. It draws "
                f"{row['idle_w']:.1f} W idle and {row['most_w']:.1f} W busy, "
                f"{served['power_error']:+.1%} against the published {served['power_w']:g} W. At "
                f"{served['rate']:,.0f} {served['what']} a second these are "
                f"{served['per_joule']:.0f} a joule, {served['per_joule_error']:+.1%} against the "
                f"published {served['published_per_joule']:g}. The power of the board is assumed. "
                f"It is {row['board_share']:.0%} of the sum, so that the agreement shows no more "
                "than that these parts explain the figure; the others draw "
                f"{row['most_w'] * (1 - row['board_share']):.1f} W busy.\n"
            )
    print(
        "The machines after 4G and their parts are in "
        "`python/gordon/reproduce/joulesort/published.toml`. Their papers could not be had, only "
        "abstracts, result pages and what others wrote of them.\n"
    )
    shipped = read(Systems, data.shipped(), "")
    table(["part", "value", "", "", "from"], part_rows(others(), shipped))
    sources = []
    for row in rows:
        system = others().system[row["name"]]
        if system.measured and not row["of_paper"]:
            sources.append([row["name"], system.measured.source])
        if system.serves:
            served = system.serves
            for one in (served.rate, served.per_joule, served.power):
                sources.append([row["name"], one.source or ""])
    table(["system", "its published figures are from"], sources)


def pair(ours: dict[str, Any], theirs: dict[str, Any], key: str, form: str) -> list[str]:
    """Ours and theirs, and the error."""
    a, b = ours[key], theirs[key]
    return [f"{shown(a, form)} / {shown(b, form)}", f"{a / b - 1:+.1%}" if b else NONE]


def power_error(error: dict[str, Any]) -> str:
    if error["power_fitted_to_it"]:
        return "fitted"
    return shown(error.get("power_w_without_it", error["power_w"]), "+.1%")


def large(row: dict[str, Any]) -> bool:
    """Whether a figure is off by so much that the reason belongs on the page."""
    error = row["error"] or {}
    keys = ("time_s", "power_w", "power_w_without_it", "records_per_j")
    return any(abs(error.get(key) or 0.0) >= LARGE for key in keys)


def needed(report: dict[str, Any]) -> None:
    print("## Drive rates that explain the times\n")
    print(
        'The "share of data sheet" is the factor, for reads and writes alike, by which the drive '
        "rates above must be multiplied so that the modelled time of a row equals the measured "
        'time. "Time by the others\'" is the error of the time with the mean factor of the other '
        "rows whose drives are all of the same make, that is, with a fit without the row itself.\n"
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
        "Systems with one, three and four Micron SSDs or with five laptop disks need about the "
        "rates of the data sheets, in agreement with section 4.1. Samsung's SSDs need the same "
        "share in 3C and 4E, less than the 0.75 of the text. 4D is the exception: it has five of "
        "the SSDs that reach their rates in 1B and 3B, but takes much longer. Its processor is not "
        "busier than that of 4C, and by section 4.1 striping costs nothing there. Section 3.3.4 "
        "reports output bandwidth lost to the file system or the translation layer on these "
        "systems, up to 36 % with Micron's SSDs and 50 % with Samsung's. 3D writes buckets in "
        "transfers of 1 MiB to disks, with seeks in between that are not modelled.\n"
    )


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


def ideal(report: dict[str, Any]) -> None:
    print("## The ideal system\n")
    claims = report["claims"]
    one, two, swapped = claims["ideal"], claims["balanced"], claims["ideal"]["swapped"]
    watts = swapped["processor_w"]
    print(
        f"Section 4.2.2 puts the processor of 2 into 3B and estimates about "
        f"{one['paper_records_per_j']:,.0f} records/J. No such board exists; the model estimates "
        "the system in three ways:\n\n"
        f"- all parts modelled, on the desktop's board: {one['records_per_j']:,.0f} "
        f"({one['over_paper']:+.0%});\n"
        f"- {swapped['from']} as measured, less {watts[0]:.1f} W for its processor and plus "
        f"{watts[1]:.1f} W for the other one, both modelled and divided by the efficiency of the "
        f"supply: {swapped['power_w']:.1f} W, {swapped['records_per_j']:,.0f} "
        f"({swapped['records_per_j'] / one['paper_records_per_j'] - 1:+.0%});\n"
        f"- 2 with the array of 3B, on the board of 2: {score(report, 'ideal-mobile'):,.0f} "
        f"({score(report, 'ideal-mobile') / one['paper_records_per_j'] - 1:+.0%}).\n\n"
        f"In the time of {swapped['from']}, the paper's figure corresponds to "
        f"{swapped['paper_power_w']:.1f} W. Either the power of its two processors, which it "
        "measured but does not print, differs less than their TDP, or its hypothetical board draws "
        "more.\n"
    )
    print(
        "With SSDs whose read and write rates differ less, the paper expects "
        f'"at least {two["paper_gain"]:.0%} better ... or around '
        f'{two["paper_records_per_j"]:,.0f}". The two do not agree: '
        f"{one['paper_records_per_j']:,.0f} x {1 + two['paper_gain']:.2f} is "
        f"{two['gain_gives_records_per_j']:,.0f}, and {two['paper_records_per_j']:,.0f} is "
        f"{two['gain_needed']:.0%} better. The model gives {two['records_per_j']:,.0f} "
        f"({two['over_paper']:+.0%}) with Intel's SLC SSDs at the rates of their data sheet.\n"
    )
    print("Sensitivity to the assumed values:\n")
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
    table(["", "ideal", "balanced", "3B as measured, processor changed"], rows)


def score(report: dict[str, Any], name: str) -> float:
    found = next(row["modelled"] for row in report["systems"] if row["name"] == name)
    return float(found["records_per_j"])


def plateaus(report: dict[str, Any]) -> None:
    print("## Figure 13: plateaus\n")
    found = report["plateaus"]
    print(
        "The two-pass systems as measured and the paper's two estimates, in order of records/J. A "
        f"plateau ends where the next score is more than {found['step']} times the last. "
        "Neighbours within a plateau differ by a factor of at most "
        f"{found['largest_within']:.2f}, neighbouring plateaus by at least "
        f"{found['smallest_between']:.2f}, so that any step in between gives the same plateaus.\n"
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
        f"The paper puts its old plateau at around {old['paper_records_per_j']:,.0f}; the scores "
        f"in its table 2 are {old['nearest']['lowest']:,.0f} and higher. It reports "
        f'"almost a {spans["paper"]:g}x difference" of power at the same records/J. In table 2 the '
        f"factor is {ratio(old['nearest']):.1f} on that plateau and {spans['measured']:.1f} over "
        "all rows. The paper counts its two estimates to the plateau of the SSD systems, but they "
        "are above it by more than the step.\n"
    )


def statements(report: dict[str, Any]) -> None:
    print("## Statements of the paper\n")
    print(
        "Each statement is compared with the paper's own tables or, if it is about parts, with the "
        "model. A percentage agrees within 2 points, and by both scores if there are two. Scores "
        "from the time and power of a row are those of the section on table 2 above. Figure 12 "
        "prints no numbers, so that the work of a sort per core is compared. No meter of `gordon "
        "meter` measures the power factor.\n"
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
    print("These are the values of `gordon.sort.presets.transfer_sizes(NAME)`, with M as 2^20.\n")
    rows = []
    for name in presets.names():
        cells = [f"{size >> 20} MiB" if size else NONE for size in presets.transfer_sizes(name)]
        rows.append([name, *cells])
    table(["preset", "input", "output", "temporary"], rows)


def own() -> None:
    print("## Your own systems\n")
    print(
        "A file has parts and systems in the form of the shipped one, and may name shipped parts. "
        "Rates are in bytes per second. Instead of its `work`, a processor may have `like`: the "
        "work of that processor is scaled by the clock. With `--from` the work is that of a "
        "measured run: each system does the bytes and core-seconds of its phases, scaled to its "
        "processor if the work of both processors is known. A board without `base` gets the power "
        "of that run less that of the modelled parts. A board may be `like` another one: it gets "
        "that board's own power, plus that of its `cards`. A `measured` result may have only its "
        "`energy`, in joules.\n"
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
