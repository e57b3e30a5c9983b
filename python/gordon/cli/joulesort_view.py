"""The screen of a JouleSort result."""

from typing import Literal

from gordon.cli.meter_view import show_meters
from gordon.cli.terminal import Column, Output
from gordon.energy.series import Summary
from gordon.energy.work import memory
from gordon.human import deviation, duration, figures, or_dash, short, spread
from gordon.joulesort.report import MachineReport, PhaseReport, Report, Run

HELD = {True: "holds", False: "FAILED", None: "unknown"}


def show(console: Output, report: Report) -> None:
    """Prints the machine, the runs, the meters, the checks and the requirements of an entry."""
    of, result, time = report["category"], report["result"], report["time_s"]
    machine, runs = report["machine"], report["runs"]
    for check in report["failed"]:
        console.text(f"no result: {check['failure']} ({check['how']})", style="bold")
    name = of["name"] or f"{of['records']:,} records, {short(of['bytes'], 'B')}, not a category"
    console.text(f"JouleSort, {of['class']}, {name}", style="bold")
    console.text(
        f"{machine['processors']} x {machine['processor']}, "
        f"{short(machine['memory_bytes'], 'B')} of memory, {machine['storage'] or 'no storage'}; "
        f"{clock(machine)}"
    )
    console.text(
        f"{len(runs)} runs of {duration(time['mean'])}{deviation(time['sd'])}: "
        f"CPU time {duration(_mean(runs, 'user_s') + _mean(runs, 'sys_s'))}, "
        f"{short(_mean(runs, 'read_bytes'), 'B')} read and "
        f"{short(_mean(runs, 'written_bytes'), 'B')} written, "
        f"{memory(runs)}; measured"
    )
    show_meters(console, report["meters"])
    if report["phases"]:
        _phases(console, report["phases"])
    rate = None if result is None else result["records_per_joule"]
    if result is not None and rate is not None and result["mean_w"] is not None:
        console.text(
            f"{rate['value']:,.0f} records per joule{deviation(rate['sd'])}, {result['how']}: "
            f"{figures(result['mean_w']['mean'])} W{deviation(result['mean_w']['sd'])} "
            f"for {duration(time['mean'])}, {result['measures']}",
            style="bold",
        )
    if report["skewed"]:
        skewed = report["skewed"]
        console.text(
            f"skewed keys: {duration(skewed['wall_s'])}, {skewed['time_ratio']:.2f} times as long; "
            f"{skewed['duplicates']:,} duplicate keys; output "
            + ("correct" if skewed["right"] else "WRONG")
        )
    checks, needs = report["checks"], report["submission"]
    console.table(
        [
            Column("check", [c["what"] for c in checks]),
            Column("result", [HELD[c["held"]] for c in checks]),
            Column("evidence", [c["how"] for c in checks], wraps=True),
        ]
    )
    console.table(
        [
            Column("required for an entry", [n["what"] for n in needs]),
            Column("fulfilled", ["yes" if n["have"] else "no" for n in needs]),
            Column("evidence", [n["now"] for n in needs], wraps=True),
            Column("source", [n["source"] for n in needs], wraps=True, spare=1),
        ]
    )


def clock(machine: MachineReport) -> str:
    """The processors' clocks after the runs and who sets them."""
    mhz, names = machine["clock_mhz"], machine["governors"]
    ends = [f"{mhz['least']:.0f}", f"{mhz['most']:.0f}"] if mhz else []
    rate = f"{' to '.join(dict.fromkeys(ends))} MHz" if ends else "clock unknown"
    return f"{rate}, governor {', '.join(names) if names else 'unknown'}"


def _phases(console: Output, phases: list[PhaseReport]) -> None:
    """Time, transfers and power of each; of the meters the first."""
    meter = phases[0]["meters"][0]
    drawn = [phase["meters"][0] for phase in phases]

    def rate(phase: PhaseReport, key: Literal["read_bytes", "written_bytes"]) -> str:
        moved, seconds = phase[key], _seconds(phase)
        return "" if moved is None or seconds <= 0 else figures(moved / seconds / 1e6)

    console.table(
        [
            Column("phase", [phase["name"] for phase in phases]),
            Column("s", [_time(p["time_s"]) for p in phases], True),
            Column("read MB/s", [rate(phase, "read_bytes") for phase in phases], True),
            Column("write MB/s", [rate(phase, "written_bytes") for phase in phases], True),
            Column(f"{meter['meter']} W", [or_dash(d["mean_w"]) for d in drawn], True),
            Column("J", [or_dash(d["energy_j"]) for d in drawn], True),
        ]
    )


def _time(seconds: Summary | None) -> str:
    return figures(0.0) if seconds is None else spread(seconds["mean"], seconds["sd"])


def _seconds(phase: PhaseReport) -> float:
    return 0.0 if phase["time_s"] is None else phase["time_s"]["mean"]


def _mean(runs: list[Run], key: Literal["user_s", "sys_s", "read_bytes", "written_bytes"]) -> float:
    return float(sum(run[key] for run in runs)) / len(runs)
