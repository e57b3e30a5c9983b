"""The screens of runs on disks."""

from typing import TYPE_CHECKING

from gordon.cli import run_view
from gordon.cli.terminal import Output
from gordon.disk.entries import COMPARED
from gordon.disk.mechanism import mechanism
from gordon.human import duration, figures, short
from gordon.reports.devices import DiskRun

if TYPE_CHECKING:
    from gordon.disk import Result
    from gordon.results import Comparison


#: Figures of a comparison that a narrow terminal lacks, the last ones first.
SPARE = ("response_p99_ms", "energy_j", "rotation_mean_ms", "seek_mean_ms", "iops")


def show(console: Output, result: "Result") -> None:
    """The run's figures, and its warnings on stderr."""
    disks = result.report["disks"]
    many = f"{disks} x " if disks > 1 else ""
    run_view.show(console, result, _disk(result.report), many)


def compared(console: Output, comparison: "Comparison[Result]") -> None:
    """Prints a row per disk, with the ratios to the first disk in brackets."""
    run_view.compared(console, comparison, COMPARED, SPARE)


def _disk(report: DiskRun) -> list[str]:
    seek, turn = report["seek_ms"], report["rotation_ms"]
    lines = []
    if seek["mean"] is not None and turn["mean"] is not None:
        lines.append(
            f"mean per positioning: seek {figures(seek['mean'])} ms, "
            f"rotation {figures(turn['mean'])} ms"
        )
    lines.append(
        f"reads served from the buffer {report['buffer_hits']:,}, from read-ahead "
        f"{report['read_ahead_hits']:,}; destages to the medium {report['destages']:,}"
    )
    if report["coalesced"]:
        lines.append(f"merged with queued requests: {report['coalesced']:,} requests")
    if report["reading"] is not None:
        times = mechanism(report["mechanism_s"])
        whole = sum(times.values())
        spent = ", ".join(f"{name} {time / whole:.0%}" for name, time in times.items())
        busy = f"reading {report['reading']:.0%}, writing {report['writing']:.0%}"
        lines.append(f"busy: {busy}; time of the mechanism: {spent}")
    if report["energy_j"] is None:
        lines.append("energy: unknown (no power figures for this disk)")
    else:
        parts = sorted(report["energy_by_part_j"].items(), key=lambda part: -part[1])
        least = report["energy_j"] / 1000
        by_state = ", ".join(f"{state} {short(j, 'J')}" for state, j in parts if j > least)
        lines.append(f"energy {short(report['energy_j'], 'J')}: {by_state}")
    for state in report["power_states"]:
        lines.append(f"{state['name']}: {duration(state['time_s'])}, {state['wakes']:,} wake-ups")
    if report["unwelcome_wakes"]:
        lines.append(f"wake-ups after too short a sleep: {report['unwelcome_wakes']:,}")
    return lines
