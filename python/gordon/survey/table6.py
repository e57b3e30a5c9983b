"""Compares Table 6 of the Gordon paper with this survey, and explains the differences.

The table has a row for each design of the paper's table, and for each other design of the survey
that has a name or is on the front: average node power, its ratio to that of MinP-disk, performance
per watt relative to MaxE-disk, and speed relative to MinT-disk, by both models. The explanations
are sentences with figures from the result.
"""

import json
from importlib.resources import files
from typing import Any

from gordon import power
from gordon.parts import Catalogue, load
from gordon.quantity import number, value

Row = dict[str, Any]
MODELS = ("sync", "nosync")
SPACE = "gordon-2009"  # the space of the paper
FLASH = "gordon-slc-256g"  # the paper's array
DISK = "sata-7200-1tb"  # the paper's disk


def designs() -> list[dict[str, Any]]:
    """The designs of the paper's table: processor, clock, number of processors, and storage."""
    return [_design(row, FLASH, 1) for row in _paper()["rows"]]


def named() -> dict[str, dict[str, Any]]:
    """The designs that the paper names: those of its table, and MaxE-disk."""
    paper = _paper()
    found = {row["name"]: _design(row, FLASH, 1) for row in paper["rows"] if row["name"]}
    disk = paper["maxe_disk"]
    return found | {"MaxE-disk": _design(disk, DISK, disk["count"])}


def _design(row: Row, storage: str, count: int) -> dict[str, Any]:
    return {
        "cpu": row["cpu"],
        "clock": f"{row['ghz']:g}GHz",
        "cpus": row["cpus"],
        "storage": storage,
        "count": count,
    }


def _paper() -> Row:
    text = (files("gordon.survey") / "table6.json").read_text(encoding="utf-8")
    paper: Row = json.loads(text)
    return paper


def compare(designs: list[Row], named: dict[str, str | None]) -> dict[str, Any]:
    """The rows of the table: the paper's designs in its order, then the others."""
    paper = _paper()
    by_id = {d["id"]: d for d in designs}
    best_disk = {name: by_id.get(named[f"{name}-disk"] or "") for name in ("MinP", "MaxE", "MinT")}
    rows, shown = [], set()
    for row in paper["rows"]:
        ours = next((d for d in designs if _same(d, row)), None)
        if ours is not None:
            shown.add(ours["id"])
        rows.append(
            {
                "design": ours["id"] if ours else None,
                "paper_name": row["name"],
                "paper_front": row["front"],
                "paper_design": f"{row['cpus']} {row['cpu']}, {row['ghz']:g} GHz, flash",
                "paper": {model: row[model] for model in MODELS},
                "ours": {model: _figures(ours, best_disk, model) for model in MODELS}
                if ours
                else None,
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
                    "ours": {model: _figures(design, best_disk, model) for model in MODELS},
                }
            )
    return {"source": paper["source"], "columns": paper["columns"], "rows": rows}


def _same(design: Row, row: Row) -> bool:
    """Whether a design of ours is one of the paper's table: all of those have its flash array."""
    plain = all(design[key] == row[key] for key in ("cpu", "cpus"))
    flash = (design["storage"], design["storage_count"]) == (FLASH, 1)
    return plain and flash and abs(design["ghz"] - row["ghz"]) < 1e-9


def _figures(design: Row, best_disk: dict[str, Row | None], model: str) -> Row:
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


def explain(raw: Row, designs: list[Row], named: dict[str, str | None], node: Row) -> list[str]:
    """Sentences that explain the differences to the paper with figures of the result."""
    paper = _paper()
    by_id = {d["id"]: d for d in designs}
    sentences = [_job(raw)]
    sentences += _same_choice(paper, by_id, named)
    sentences += _floor(paper, designs)
    sentences += _processors(paper, designs, value(node["memory_per"]))
    sentences += _clock(paper, designs)
    sentences += _limits(by_id, named)
    sentences += _nosync(paper, by_id, named)
    return sentences


def _job(raw: Row) -> str:
    traces = raw["traces"]
    jobs = ", ".join(sorted({_short(" ".join(t["command"])) for t in traces}))
    samples = sum(t["samples"] for t in traces)
    n = len(traces)
    return (
        f"The jobs and machines differ: the paper's table is of Hadoop jobs traced on 32 virtual "
        f"machines of 2008; this survey is of {n} trace{'s' * (n != 1)} ({samples} samples) of "
        f"`{jobs}`."
    )


def _same_choice(paper: Row, by_id: dict[str, Row], named: dict[str, str | None]) -> list[str]:
    sentences = []
    front = [d for d in by_id.values() if d["pareto"]]
    disks = [d["id"] for d in front if d["storage_kind"] == "disk"]
    if disks:
        sentences.append(
            f"In the paper all designs on the front have flash; here {_listed(disks)} are also on "
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
    disk, theirs = by_id.get(named["MaxE-disk"] or ""), paper["maxe_disk"]
    if disk is not None:
        same = all(disk[key] == theirs[key] for key in ("cpu", "cpus", "ghz"))
        same = same and disk["storage_count"] == theirs["count"]
        if not same:
            sentences.append(
                f"Performance per watt is relative to MaxE-disk, which is {disk['id']} here and "
                f"{theirs['cpus']} x {theirs['cpu']} at {theirs['ghz']:g} GHz with one disk in the "
                "paper."
            )
    return sentences


def _floor(paper: Row, designs: list[Row]) -> list[str]:
    """The paper's average powers against what its own Table 3 says the parts draw idle."""
    below = []
    for row in paper["rows"]:
        ours = next((d for d in designs if _same(d, row)), None)
        if ours is None:
            continue
        plain = {"cpu": ours["cpu"], "clock": f"{ours['ghz']:g}GHz", "cpus": ours["cpus"]}
        plain |= {"storage": ours["storage"], "count": ours["storage_count"]}
        idle = power.node(plain, "ddr2-2gib", Catalogue())[0]
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


def _processors(paper: Row, designs: list[Row], memory_per: str) -> list[str]:
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


def _clock(paper: Row, designs: list[Row]) -> list[str]:
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
    paper: Row, designs: list[Row], cpu: str, ghz: float, cpus: int
) -> tuple[float, float] | None:
    """The paper's and our sync power of a design of its table."""
    row = next(r for r in paper["rows"] if (r["cpu"], r["ghz"], r["cpus"]) == (cpu, ghz, cpus))
    ours = next((d for d in designs if _same(d, row)), None)
    return (row["sync"]["power_w"], ours["sync"]["node_power_w"]) if ours else None


def _watts(values: list[float]) -> str:
    return _listed([f"{value:.1f}" for value in values]) + " W"


def _limits(by_id: dict[str, Row], named: dict[str, str | None]) -> list[str]:
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


def _nosync(paper: Row, by_id: dict[str, Row], named: dict[str, str | None]) -> list[str]:
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


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _short(text: str, most: int = 80) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."
