"""Compares Table 6 of the Gordon paper with this survey, and explains the differences.

The table has a row for each design of the paper's table, and for each other design of the survey
that has a name or is on the front: average node power, its ratio to that of MinP-disk, performance
per watt relative to MaxE-disk, and speed relative to MinT-disk, by both models. The explanations
are sentences with figures from the result.
"""

import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Final, TypedDict

from gordon import power
from gordon.human import in_words
from gordon.parts import Catalogue, load
from gordon.power import Design
from gordon.quantity import number, value
from gordon.reports.survey import StreamReport
from gordon.survey.results import Barriers, Figures, FiguresByModel, GridDesign, Table6, Table6Row
from gordon.untyped import Config

MODELS: Final[tuple[Barriers, ...]] = ("sync", "nosync")
SPACE = "gordon-2009"  # the space of the paper
FLASH = "gordon-slc-256g"  # the paper's array
DISK = "sata-7200-1tb"  # the paper's disk


class PaperRow(FiguresByModel):
    """A design of the paper's table."""

    name: str
    cpu: str
    ghz: float
    cpus: int
    front: bool


class MaxeDisk(TypedDict):
    """The most efficient design with disks of the paper."""

    cpu: str
    ghz: float
    cpus: int
    #: Number of disks.
    count: int
    source: str


class Paper(TypedDict):
    """The paper's table."""

    source: str
    #: By column: its meaning.
    columns: dict[str, str]
    maxe_disk: MaxeDisk
    rows: list[PaperRow]


def designs() -> list[Design]:
    """The designs of the paper's table: processor, clock, number of processors, and storage."""
    return [_design(row, FLASH, 1) for row in paper()["rows"]]


def named() -> dict[str, Design]:
    """The designs that the paper names: those of its table, and MaxE-disk."""
    theirs = paper()
    found = {row["name"]: _design(row, FLASH, 1) for row in theirs["rows"] if row["name"]}
    disk = theirs["maxe_disk"]
    return found | {"MaxE-disk": _design(disk, DISK, disk["count"])}


def _design(row: PaperRow | MaxeDisk | GridDesign, storage: str, count: int) -> Design:
    return {
        "cpu": row["cpu"],
        "clock": f"{row['ghz']:g}GHz",
        "cpus": row["cpus"],
        "storage": storage,
        "count": count,
    }


def idle_w(design: GridDesign) -> float:
    """Power of the parts of a design in the paper's Table 3, with one memory and without
    overhead, when all are idle."""
    plain = _design(design, design["storage"], design["storage_count"])
    return power.node(plain, "ddr2-2gib", Catalogue())[0]


def paper() -> Paper:
    """The table as the paper prints it."""
    text = (files("gordon.survey") / "table6.json").read_text(encoding="utf-8")
    found: Paper = json.loads(text)
    return found


def compare(designs: Sequence[GridDesign], named: dict[str, str | None]) -> Table6:
    """The rows of the table: the paper's designs in its order, then the others."""
    theirs = paper()
    by_id = {d["id"]: d for d in designs}
    best_disk = {name: by_id.get(named[f"{name}-disk"] or "") for name in ("MinP", "MaxE", "MinT")}
    rows: list[Table6Row] = []
    shown = set()
    for row in theirs["rows"]:
        ours = next((d for d in designs if _same(d, row)), None)
        if ours is not None:
            shown.add(ours["id"])
        rows.append(
            {
                "design": ours["id"] if ours else None,
                "paper_name": row["name"],
                "paper_front": row["front"],
                "paper_design": f"{row['cpus']} {row['cpu']}, {row['ghz']:g} GHz, flash",
                "paper": {"sync": row["sync"], "nosync": row["nosync"]},
                "ours": _figures(ours, best_disk) if ours else None,
            }
        )
    for design in designs:
        if design["id"] not in shown and (design["pareto"] or design["id"] in named.values()):
            rows.append(
                {
                    "design": design["id"],
                    "paper_name": "",
                    "paper_front": False,
                    "paper_design": None,
                    "paper": None,
                    "ours": _figures(design, best_disk),
                }
            )
    return {"source": theirs["source"], "columns": theirs["columns"], "rows": rows}


def _same(design: GridDesign, row: PaperRow) -> bool:
    """Whether a design of ours is one of the paper's table: all of those have its flash array."""
    plain = (design["cpu"], design["cpus"]) == (row["cpu"], row["cpus"])
    flash = (design["storage"], design["storage_count"]) == (FLASH, 1)
    return plain and flash and abs(design["ghz"] - row["ghz"]) < 1e-9


def _figures(design: GridDesign, best_disk: dict[str, GridDesign | None]) -> FiguresByModel:
    return {
        "sync": _figures_by(design, best_disk, "sync"),
        "nosync": _figures_by(design, best_disk, "nosync"),
    }


def _figures_by(
    design: GridDesign, best_disk: dict[str, GridDesign | None], model: Barriers
) -> Figures:
    """None where there is no disk design to compare with."""
    own = design[model]
    minp, maxe, mint = (
        d[model] if d else None for d in (best_disk[name] for name in ("MinP", "MaxE", "MinT"))
    )
    return {
        "power_w": own["node_power_w"],
        "power_vs_minp_disk": own["node_power_w"] / minp["node_power_w"] if minp else None,
        "perf_per_watt_vs_maxe_disk": maxe["energy_j"] / own["energy_j"] if maxe else None,
        "speedup_vs_mint_disk": mint["time_s"] / own["time_s"] if mint else None,
    }


def explain(
    traces: Sequence[StreamReport],
    designs: Sequence[GridDesign],
    named: dict[str, str | None],
    node: Config,
) -> list[str]:
    """Sentences that explain the differences to the paper with figures of the result. `node` is
    that of the space."""
    theirs = paper()
    by_id = {d["id"]: d for d in designs}
    sentences = [_job(traces)]
    sentences += _same_choice(theirs, by_id, named)
    sentences += _floor(theirs, designs)
    sentences += _processors(theirs, designs, value(node["memory_per"]))
    sentences += _clock(theirs, designs)
    sentences += _limits(by_id, named)
    sentences += _nosync(theirs, by_id, named)
    return sentences


def _job(traces: Sequence[StreamReport]) -> str:
    jobs = ", ".join(sorted({_short(" ".join(t["command"])) for t in traces}))
    samples = sum(t["samples"] for t in traces)
    n = len(traces)
    return (
        f"The jobs and machines differ: the paper's table is of Hadoop jobs traced on 32 virtual "
        f"machines of 2008; this survey is of {n} trace{'s' * (n != 1)} ({samples} samples) of "
        f"`{jobs}`."
    )


def _same_choice(
    paper: Paper, by_id: dict[str, GridDesign], named: dict[str, str | None]
) -> list[str]:
    sentences = []
    front = [d for d in by_id.values() if d["pareto"]]
    disks = [d["id"] for d in front if d["storage_kind"] == "disk"]
    if disks:
        sentences.append(
            f"In the paper all designs on the front have flash; here {in_words(disks)} are also on "
            "the front."
        )
    elif front:
        sentences.append(f"As in the paper, all designs on the front ({len(front)}) have flash.")
    for name in ("MinP", "MaxE", "MinT"):
        design = by_id.get(named[name] or "")
        theirs = next(r for r in paper["rows"] if r["name"] == name)
        if design is not None and not _same(design, theirs):
            sentences.append(
                f"{name} is {design['id']} here; in the paper it is {theirs['cpus']} x "
                f"{theirs['cpu']} at {theirs['ghz']:g} GHz with flash."
            )
    disk, printed = by_id.get(named["MaxE-disk"] or ""), paper["maxe_disk"]
    if disk is not None:
        same = is_maxe_disk(disk, printed) and disk["storage_count"] == printed["count"]
        if not same:
            sentences.append(
                f"Performance per watt is relative to MaxE-disk, which is {disk['id']} here and "
                f"{printed['cpus']} x {printed['cpu']} at {printed['ghz']:g} GHz with one disk in "
                "the paper."
            )
    return sentences


def is_maxe_disk(design: GridDesign, printed: MaxeDisk) -> bool:
    """Whether a design has the processors of the paper's MaxE-disk."""
    ours = (design["cpu"], design["cpus"], design["ghz"])
    return ours == (printed["cpu"], printed["cpus"], printed["ghz"])


def _floor(paper: Paper, designs: Sequence[GridDesign]) -> list[str]:
    """The paper's average powers against what its own Table 3 says the parts draw idle."""
    below = []
    for row in paper["rows"]:
        ours = next((d for d in designs if _same(d, row)), None)
        if ours is None:
            continue
        idle = idle_w(ours)
        for model in MODELS:
            if row[model]["power_w"] < idle:
                name = row["name"] or f"{row['cpus']} {row['cpu']} {row['ghz']:g} GHz"
                below.append(f"{name} {row[model]['power_w']:g} W {model} < {idle:.2f} W")
    if not below:
        return []
    return [
        "Some average powers of the paper are below the idle power of the parts in its own Table "
        "3, with one memory and without overhead: "
        + "; ".join(below)
        + ". This is possible only if nodes are off for part of the run, or if parts draw less. "
        "Nodes here are on for the whole run and draw more."
    ]


def _processors(paper: Paper, designs: Sequence[GridDesign], memory_per: str) -> list[str]:
    """How node power grows with the number of processors: 1, 2, 4 Core 2 at 2.4 GHz."""
    pairs = [_pair(paper, designs, "core2", 2.4, cpus) for cpus in (1, 2, 4)]
    found = [pair for pair in pairs if pair is not None]
    if len(found) != 3:
        return []
    theirs, ours = ([sync[i] for sync in found] for i in (0, 1))
    memory = "one memory per node" if memory_per == "node" else "one memory per processor"
    sentence = (
        f"With 1, 2 and 4 Core 2 at 2.4 GHz and flash, a node of the paper draws {_watts(theirs)}: "
        f"each doubling of the processors more than doubles the power, although the flash array "
        f"does not grow. Here, with {memory}, it draws {_watts(ours)}"
    )
    if ours[1] < 2 * ours[0] and ours[2] < 2 * ours[1]:
        sentence += ": more processors per node save more energy here than in the paper"
    return [sentence + "."]


def _clock(paper: Paper, designs: Sequence[GridDesign]) -> list[str]:
    """How node power falls with the clock: four Core 2 at 1.8 and 2.4 GHz."""
    slow, fast = (_pair(paper, designs, "core2", ghz, 4) for ghz in (1.8, 2.4))
    if slow is None or fast is None:
        return []
    return [
        f"From 2.4 to 1.8 GHz the power of a flash node with four Core 2 falls to "
        f"{slow[0] / fast[0]:.2f} in the paper, and to {slow[1] / fast[1]:.2f} here. By f v^2 the "
        f"power of the processors would fall to {_f_v2('core2', 1.8e9, 2.4e9):.2f}; here only "
        "the active power above idle is scaled by f v^2."
    ]


def _f_v2(cpu: str, slow: float, fast: float) -> float:
    """The ratio of f v^2 between two clocks of a shipped processor."""
    part = load("cpu", cpu)
    low, high = number(part["clock_min"]), number(part["clock_max"])
    volt_low, volt_high = number(part["volt_min"]), number(part["volt_max"])

    def f_v2(clock: float) -> float:
        volts = volt_low + (volt_high - volt_low) * (clock - low) / (high - low)
        return clock * volts * volts

    return f_v2(slow) / f_v2(fast)


def _pair(
    paper: Paper, designs: Sequence[GridDesign], cpu: str, ghz: float, cpus: int
) -> tuple[float, float] | None:
    """The paper's and our sync power of a design of its table."""
    row = next(r for r in paper["rows"] if (r["cpu"], r["ghz"], r["cpus"]) == (cpu, ghz, cpus))
    ours = next((d for d in designs if _same(d, row)), None)
    return (row["sync"]["power_w"], ours["sync"]["node_power_w"]) if ours else None


def _watts(values: list[float]) -> str:
    return in_words([f"{value:.1f}" for value in values]) + " W"


def _limits(by_id: dict[str, GridDesign], named: dict[str, str | None]) -> list[str]:
    limits = []
    for name in ("MaxE", "MaxE-disk", "MinT", "MinT-disk"):
        design = by_id.get(named[name] or "")
        if design is not None and design["limits"]:
            what, share = max(design["limits"].items(), key=lambda item: item[1])
            limits.append(f"{name} by {_words(what)} {share:.0%} of the time")
    if not limits:
        return []
    return [
        "The designs here are limited: "
        + ", ".join(limits)
        + ". In the paper MaxE is limited by its processor, and MaxE-disk about equally by disk "
        "and processor; flash gains if storage limits the disk designs."
    ]


def _nosync(paper: Paper, by_id: dict[str, GridDesign], named: dict[str, str | None]) -> list[str]:
    design = by_id.get(named["MaxE"] or "")
    if design is None:
        return []
    ours = design["nosync"]["node_power_w"] / design["sync"]["node_power_w"]
    theirs = next(r for r in paper["rows"] if r["name"] == "MaxE")
    sync, nosync = (theirs[model]["power_w"] for model in MODELS)
    return [
        f"In the paper a MaxE node draws {nosync:g} W by nosync, {nosync / sync:.2f} of its "
        f"{sync:g} W by sync: nosync turns a node off when its work is done, and the nodes had "
        f"unequal work. Here that ratio is {ours:.2f}"
        + (", as the nodes have nearly equal work." if ours > 0.9 else ".")
    ]


def _words(limit: str) -> str:
    return limit.replace("cpu", "processor").replace("+", " and ")


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
