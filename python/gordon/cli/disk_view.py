"""A run on a disk for people: one screen."""

from typing import TYPE_CHECKING, Any

from gordon.cli import run_view
from gordon.cli.terminal import Output
from gordon.human import duration, figures, short

if TYPE_CHECKING:
    from gordon.disk import Result
    from gordon.results import Comparison


def show(console: Output, result: "Result") -> None:
    """The run's figures, and its warnings on stderr."""
    disks = result.report["disks"]
    many = f"{disks} times " if disks > 1 else ""
    run_view.show(console, result, _disk(result.report), many)


def compared(console: Output, comparison: "Comparison[Result]") -> None:
    """A row for each disk; in brackets what it is of the first."""
    run_view.compared(
        console,
        comparison,
        [
            ("IOPS", "iops", figures, 5),
            ("mean ms", "response_mean_ms", figures, 0),
            ("p99 ms", "response_p99_ms", figures, 1),
            ("seek ms", "seek_mean_ms", figures, 4),
            ("rotation ms", "rotation_mean_ms", figures, 3),
            ("energy", "energy_j", lambda j: short(j, "J"), 2),
        ],
    )


def _disk(report: dict[str, Any]) -> list[str]:
    seek, turn = report["seek_ms"], report["rotation_ms"]
    lines = []
    if seek["mean"] is not None:
        lines.append(
            f"for each move of the head: seek {figures(seek['mean'])} ms, "
            f"rotation {figures(turn['mean'])} ms on average"
        )
    lines.append(
        f"reads served from the buffer {report['buffer_hits']:,}, from what was read ahead "
        f"{report['read_ahead_hits']:,}; medium written {report['destages']:,} times"
    )
    if report["coalesced"]:
        lines.append(f"joined to others that waited: {report['coalesced']:,} requests")
    if report["reading"] is not None:
        times = report["mechanism_s"]
        whole = sum(times.values())
        spent = ", ".join(f"{name} {time / whole:.0%}" for name, time in times.items())
        busy = f"reading {report['reading']:.0%}, writing {report['writing']:.0%}"
        lines.append(f"busy: {busy}; its time: {spent}")
    if report["energy_j"] is None:
        lines.append("energy: nobody has said what this disk draws")
    else:
        parts = sorted(report["energy_by_part_j"].items(), key=lambda part: -part[1])
        least = report["energy_j"] / 1000
        by_state = ", ".join(f"{state} {short(j, 'J')}" for state, j in parts if j > least)
        lines.append(f"energy {short(report['energy_j'], 'J')}: {by_state}")
    for state in report["power_states"]:
        lines.append(
            f"{state['name']}: {duration(state['time_s'])}, woken {state['wakes']:,} times"
        )
    if report["unwelcome_wakes"]:
        lines.append(f"woken too soon: {report['unwelcome_wakes']:,} times")
    return lines
