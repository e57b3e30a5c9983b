"""A run on a disk for people: one screen."""

from typing import TYPE_CHECKING, Any

from gordon.cli import run_view
from gordon.cli.terminal import Output
from gordon.human import duration, figures, short

if TYPE_CHECKING:
    from gordon.disk import Result


def show(console: Output, result: "Result") -> None:
    """The run's figures, and its warnings on stderr."""
    disks = result.report["disks"]
    many = f"{disks} times " if disks > 1 else ""
    run_view.show(console, result, _disk(result.report), many)


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
        lines.append(f"busy: reading {report['reading']:.0%}, writing {report['writing']:.0%}")
    if report["energy_j"] is None:
        lines.append("energy: nobody has said what this disk draws")
    else:
        lines.append(f"energy {short(report['energy_j'], 'J')}")
    for state in report["power_states"]:
        lines.append(
            f"{state['name']}: {duration(state['time_s'])}, woken {state['wakes']:,} times"
        )
    if report["unwelcome_wakes"]:
        lines.append(f"woken too soon: {report['unwelcome_wakes']:,} times")
    return lines
