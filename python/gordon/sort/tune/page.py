"""The page of a search of settings, and that of settings from a simulated device."""

from typing import Any

from gordon.human import figures, short
from gordon.report import measured
from gordon.report.entries import COUNT, NUMBER, SHARE, SIZE, TEXT, Entry, of, with_prefix
from gordon.report.run_figures import TONES, axis, layout, level, over_sizes, size_axis, stripe
from gordon.sort.tune.point import TRANSFERS
from gordon.sort.tune.report import (
    SteerReport,
    TriedSize,
    TuneReport,
    devices,
    gain_sentence,
    holds,
    known,
    unit,
)
from gordon.sort.tune.search import TrialReport
from gordon.sort.tune.tried import Tried, by_size, costs, means, settings
from gordon.untyped import Spec

#: The best settings that the chart of settings has; the table has all.
MOST = 12
DEFAULTS = "defaults"


def render(report: TuneReport) -> str:
    """The HTML of a search."""
    tried = settings(report)
    drawn = {"settings": _best(report, tried), "trials": _trials(report, tried)}
    if sizes := _sizes(report):
        drawn["sizes"] = sizes
    chosen = report["chosen"]["what"]
    return measured.render(
        measured.Page(
            what="sort tune",
            subject=f"{short(report['bytes'], 'B')}, memory {report['memory']}",
            sentence=sentence(report),
            lead=f"{len(report['trials'])} sorts of {len(tried)} settings; the standard deviation "
            f"of one trial is {report['noise']:.1%}; {known(report)}. The search ended: "
            f"{report['stopped']}.",
            figures=drawn,
            notes={
                "settings": f"Points are means, bars standard deviations; a point without a bar is "
                f"one trial. The band is the {DEFAULTS}, mean and deviation.",
                "trials": f"Each sort in turn. The line is the mean of the {DEFAULTS}, the band "
                "its standard deviation.",
                "sizes": "Means and standard deviations of trials that differ in one transfer size "
                "from the best settings at that time.",
            },
            tables=[
                measured.Table(
                    "all",
                    "Settings",
                    tried,
                    _columns(unit(report)),
                    "Means of the trials, the best first.",
                    lambda row: row["what"] == chosen,
                    "chosen",
                ),
                measured.Table("every", "All trials", report["trials"], _TRIALS, is_folded=True),
            ],
            terms=_TERMS,
            warnings=[("", text) for text in report["warnings"]],
            settings=_inputs(report),
            result=report,
        )
    )


def sentence(report: TuneReport) -> str:
    """The settings that were chosen, and their gain."""
    size = short(report["bytes"], "B")
    gained = gain_sentence(report)
    if report["gain"]["beyond_noise"]:
        return f"Sort {size} with {report['chosen']['what']}: {gained}."
    return f"Sort {size} with the defaults: {gained.partition(':')[0]}."


def _defaults(tried: list[Tried]) -> tuple[float, float]:
    """Mean and deviation of the trials of the defaults."""
    usual = next(row for row in tried if row["what"] == DEFAULTS)
    return usual["cost"], usual["sd"] or 0.0


def _best(report: TuneReport, tried: list[Tried]) -> Spec:
    """The cheapest settings, and the defaults if they are not among them."""
    rows = tried[:MOST] + [row for row in tried[MOST:] if row["what"] == DEFAULTS]
    mean, sd = _defaults(tried)
    names = [row["what"] for row in rows]
    tones = ["--storage" if row["what"] == DEFAULTS else "--cpu" for row in rows]
    spread = {
        "type": "data",
        "array": [row["sd"] or 0.0 for row in rows],
        "color": "--soft",
        "thickness": 1.2,
    }
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "x": [row["cost"] for row in rows],
            "y": names,
            "error_x": spread,
            "marker": {"color": tones, "size": 10},
            "hovertemplate": f"%{{y}}: %{{x:.4~g}} {unit(report)}<extra></extra>",
        }
    ]
    y = axis("", type="category", autorange="reversed", automargin=True)
    made = layout("The best settings", axis(_cost(report), rangemode="normal"), y)
    more = {
        "shapes": [stripe(mean - sd, mean + sd, "--band")],
        "showlegend": False,
        "height": 130 + 26 * len(rows),
    }
    return {"data": data, "layout": made | more}


def _cost(report: TuneReport) -> str:
    return "time, s" if report["objective"] == "time" else "energy, J"


def _trials(report: TuneReport, tried: list[Tried]) -> Spec:
    """The cost of each trial in turn, by its role."""
    roles: dict[str, list[TrialReport]] = {}
    for trial in report["trials"]:
        if trial["cost"] is not None:
            own = "compare" if trial["role"] == "compare" else ""
            name = DEFAULTS if trial["what"] == DEFAULTS else "other settings"
            roles.setdefault(f"{name}, compared in turn" if own else name, []).append(trial)
    data = [
        {
            "type": "scatter",
            "mode": "markers",
            "name": name,
            "x": [trial["trial"] for trial in own],
            "y": costs(own),
            "text": [f"{trial['role']}: {trial['what']}" for trial in own],
            "hovertemplate": f"%{{x}}, %{{text}}: %{{y:.4~g}} {unit(report)}<extra></extra>",
            "marker": {"color": tone, "size": 7},
        }
        for (name, own), tone in zip(sorted(roles.items()), TONES, strict=False)
    ]
    made = layout("Trials in turn", axis("trial"), axis(_cost(report)))
    return {
        "data": data,
        "layout": made | {"shapes": level(*_defaults(tried)), "showlegend": True, "height": 360},
    }


def _sizes(report: TuneReport) -> Spec | None:
    """Cost by transfer size, a line for each of the three sizes; None if none was tried."""
    data = []
    for name, tone in zip(TRANSFERS, TONES, strict=False):
        sizes, values, spread = means(by_size(report["trials"], name, "cost"))
        if not sizes:
            continue
        data.append(
            over_sizes(
                name.removesuffix("_transfer"),
                sizes,
                values,
                tone,
                f"%{{y:.4~g}} {unit(report)}",
                error_y={"type": "data", "array": spread, "color": tone, "thickness": 1.2},
            )
        )
    if not data:
        return None
    made = layout("Transfer sizes", _size_axis(data), axis(_cost(report)))
    return {"data": data, "layout": made | {"showlegend": True, "height": 360}}


def _size_axis(data: list[Spec]) -> Spec:
    return size_axis("transfer size", [size for line in data for size in line["x"]])


def _inputs(report: TuneReport) -> dict[str, object]:
    return {
        "bytes": report["bytes"],
        "input": report["input"] or "generated records of the sort benchmark",
        "memory": report["memory"],
        "objective": report["objective"],
        "budget, s": report["budget_s"],
        "spent, s": report["spent_s"],
        "folders": "; ".join(devices(report)),
        "seed": report["seed"],
        "measured at": report["date"],
        "holds for": holds(report),
    }


def _columns(unit: str) -> list[Entry[Tried]]:
    return [
        Entry("what", "settings", of("what"), TEXT),
        Entry("trials", "trials", of("trials"), COUNT),
        Entry("cost", f"mean {unit}", of("cost"), NUMBER),
        Entry("sd", "deviation", of("sd"), NUMBER),
        Entry("over", "of the defaults", of("over_defaults"), SHARE),
        *([Entry("time", "time, s", of("time_s"), NUMBER)] if unit == "J" else []),
        Entry("cpu", "CPU s", of("cpu_s"), NUMBER),
        *([Entry("energy", "energy, J", of("energy_j"), NUMBER)] if unit == "s" else []),
        Entry("peak", "peak memory", of("peak_bytes"), with_prefix("B")),
    ]


_TRIALS: tuple[Entry[Any], ...] = (
    Entry("trial", "trial", of("trial"), COUNT),
    Entry("role", "role", of("role"), TEXT),
    Entry("what", "settings", of("what"), TEXT),
    Entry("time", "time, s", of("time_s"), NUMBER),
    Entry("cpu", "CPU s", of("cpu_s"), NUMBER),
    Entry("energy", "energy, J", of("energy_j"), NUMBER),
    Entry("passes", "passes", of("passes"), COUNT),
    Entry("io", "I/O", of("io"), TEXT),
    Entry("error", "error", of("error"), TEXT),
)
_TERMS = {
    DEFAULTS: "The settings of gordon sort without options.",
    "noise": "The standard deviation of one trial, pooled over all settings with several trials. A "
    "setting is better only beyond it.",
    "gain": "The saving of the best settings over the defaults, from sorts of both in turn at the "
    "end of the search; earlier trials do not count.",
    "input, output, temp": "Bytes of a read of the input, of a write of the output, of a transfer "
    "of temporary files.",
    "role": "What a trial was for: warm-up, defaults, the setting that was varied, confirm, "
    "compare.",
}


def render_simulated(report: SteerReport) -> str:
    """The HTML of settings from a simulated device."""
    chosen, usual = report["passes"]["chosen"], report["passes"]["usual"]
    rows = [
        {"name": "default sizes", **usual},
        {"name": "best sizes of each load alone", **report["passes"]["alone"]},
        {"name": "chosen sizes", **chosen},
    ]
    tried = [{"load": row["load"], **one} for row in report["loads"] for one in row["tried"]]
    best = report["gain"] > 0
    answer = (
        f"On {report['device']}, sort with {chosen['what']}: both passes take "
        f"{figures(chosen['seconds'])} s instead of {figures(usual['seconds'])} s."
        if best
        else f"On {report['device']}, the default sizes are the best: both passes take "
        f"{figures(usual['seconds'])} s."
    )
    return measured.render(
        measured.Page(
            what="sort tune",
            subject=report["device"],
            sentence=answer,
            lead=f"{short(report['capacity_bytes'], 'B')}, {report['precondition']:.0%} in use, "
            f"queue depth {report['queue_depth']}; every value is modelled: it comes from the "
            "simulated device. The settings are a starting point for a search that measures.",
            figures={"bandwidth": _loads(report)},
            notes={"bandwidth": "Each load of a sort alone on the device, with larger transfers."},
            tables=[
                measured.Table("loads", "Loads alone", report["loads"], _LOADS),
                measured.Table("passes", "Both passes", rows, _PASSES),
                measured.Table("all", "All runs", tried, _RUNS, is_folded=True),
            ],
            terms=_OF_LOADS,
            warnings=[],
            settings={
                "device": report["device"],
                "set": ", ".join(report["set"]) or "nothing",
                "precondition": report["precondition"],
                "bytes": report["bytes"],
                "seed": report["seed"],
                "computed at": report["date"],
            },
            result=report,
        )
    )


def _loads(report: SteerReport) -> Spec:
    data = []
    for row, tone in zip(report["loads"], TONES, strict=False):
        line: list[TriedSize] = sorted(row["tried"], key=lambda one: one["transfer"])
        data.append(
            over_sizes(
                row["load"],
                [one["transfer"] for one in line],
                [one["bandwidth_mb_s"] for one in line],
                tone,
                "%{y:.4~g} MB/s",
                marker={
                    "color": tone,
                    "size": [12 if one["transfer"] == row["found"] else 6 for one in line],
                },
            )
        )
    made = layout("Bandwidth by transfer size", _size_axis(data), axis("MB/s"))
    return {"data": data, "layout": made | {"showlegend": True, "height": 400}}


_LOADS: tuple[Entry[Any], ...] = (
    Entry("load", "load alone", of("load"), TEXT),
    Entry("found", "transfer", of("found"), SIZE),
    Entry("why", "why no larger", of("why"), TEXT),
)
_PASSES: tuple[Entry[Any], ...] = (
    Entry("name", "sizes", of("name"), TEXT),
    Entry("what", "settings", of("what"), TEXT),
    Entry("distribute", "first pass, s", of("distribute", "seconds"), NUMBER),
    Entry("gather", "second pass, s", of("gather", "seconds"), NUMBER),
    Entry("seconds", "both, s", of("seconds"), NUMBER),
)
_RUNS: tuple[Entry[Any], ...] = (
    Entry("load", "load", of("load"), TEXT),
    Entry("transfer", "transfer", of("transfer"), SIZE),
    Entry("bandwidth", "MB/s", of("bandwidth_mb_s"), NUMBER),
    Entry("dies", "dies busy", of("dies_busy"), SHARE),
    Entry("bus", "busiest bus", of("busiest_bus"), SHARE),
    Entry("wa", "write amplification", of("write_amplification"), NUMBER),
)
_OF_LOADS = {
    "load": "What a sort in two passes asks of its storage: it reads the input, writes and reads "
    "buckets, and writes the output.",
    "dies busy, busiest bus": "Shares of the time. Beyond 90 % larger transfers only wait.",
    "chosen sizes": "The sizes with which both passes together are fastest. Reads and writes of a "
    "pass are at the same time.",
}
