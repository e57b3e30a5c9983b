"""The screen of `gordon plan`."""

from math import ceil, floor, log10
from typing import Literal, get_args

from gordon.cli.paper_view import show_items
from gordon.cli.terminal import Column, ColumnsOf, Output
from gordon.cost.plan import Planned
from gordon.human import counted, duration, figures, percent, short
from gordon.reports.plan import JobTimes, Remedy, SliceReport

_Rate = Literal["read_bytes_per_s", "write_bytes_per_s", "load_bytes_per_s"]
_RATES: tuple[_Rate, ...] = get_args(_Rate)
#: Missed deadlines in sentences; the table has all.
_SENTENCES = 10


def show_plan(console: Output, result: Planned) -> None:
    """A slice, the jobs, what is used, the deadlines that are missed, and what would meet them."""
    one, node = result["slice"], result["node"]
    console.text(
        f"{counted(result['slices'], 'slice')} of {counted(one['nodes'], 'node')} "
        f"{node['id']}; all values are modelled"
    )
    console.text(_slice(one, result["overlap"]))
    console.table(_jobs(result["jobs"]))
    console.text(
        f"{duration(result['span_s'])} in all; links transfer {result['link_busy_share']:.0%} of "
        f"it, slices compute {result['compute_busy_share']:.0%}; {result['hidden_share']:.0%} of "
        "the transfers are hidden by computing"
    )
    for line in _late(result):
        console.text(line)
    show_items(console, result["items"])


def _slice(one: SliceReport, overlap: bool) -> str:
    """A slice in a sentence."""
    size, half = short(one["capacity_bytes"], "B"), ", half of it for each job" if overlap else ""
    read, write, load = (short(one[key], "B/s") for key in _RATES)
    network, link = one["network_bytes_per_s"], one["link_bytes_per_s"]
    if network is not None and one["load_bytes_per_s"] == network < link:
        load += " by the network of its nodes"
    return (
        f"slice: {size}{half}, reads {read}, writes {write}, loaded at {load}, "
        f"{percent(one['load_share'])} of its bandwidth; {figures(one['hidden_s_per_gb'])} s of "
        "computing a GB hide the loading"
    )


def _jobs(jobs: list[JobTimes]) -> list[Column]:
    column = ColumnsOf(jobs)
    columns = [
        column.text("job", lambda j: j["name"]),
        column.number("nodes", lambda j: f"{j['nodes']:,}"),
        column.number("data", lambda j: short(j["data_bytes"], "B")),
        column.number("arrives", lambda j: duration(j["arrival_s"])),
        column.number("loads", lambda j: duration(j["load_s"])),
        column.number("computes", lambda j: duration(j["compute_s"])),
        column.number("results", lambda j: duration(j["unload_s"])),
        column.number("waits", lambda j: duration(j["wait_s"])),
        column.number("ends at", lambda j: duration(j["end_s"])),
    ]
    if any(job["due_s"] is not None for job in jobs):
        columns.append(
            column.number("due at", lambda j: "" if j["due_s"] is None else duration(j["due_s"]))
        )
        columns.append(
            column.number("late by", lambda j: duration(j["late_s"]) if j["late_s"] else "")
        )
    return columns


def _late(result: Planned) -> list[str]:
    """The deadlines that are missed, and what would meet them."""
    lines = []
    for job in result["jobs"]:
        due_s, late_s = job["due_s"], job["late_s"]
        if due_s is None or not late_s:
            continue
        allowed = duration(due_s - job["arrival_s"])
        text = f"{job['name']} misses its deadline of {allowed} by {duration(late_s)}"
        if job["is_late_alone"]:
            text += f": it takes {duration(job['alone_s'])} even without other jobs"
        needed = _enough(job["end_s"] - job["arrival_s"])
        lines.append(f"{text}; a deadline of {needed} would be met")
    if not lines:
        return []
    if len(lines) > _SENTENCES:
        more = len(lines) - _SENTENCES
        lines[_SENTENCES:] = [f"{more:,} more miss their deadlines: `late by` of the table"]
    remedies = " or ".join(_remedy(one) for one in result["remedies"])
    if remedies:
        lines.append(f"all deadlines would be met with {remedies}")
    else:
        lines.append(
            "neither overlap, nor a link 1,024 times as fast, nor up to 64 times the slices, as "
            "far as an array has that many nodes, would meet all deadlines: change the jobs"
        )
    return lines


def _enough(seconds: float) -> str:
    """A time in the words of `duration`, rounded up: a deadline that is met."""
    step = 1 if seconds < 3600 else 60 if seconds < 48 * 3600 else 3600
    return duration(ceil(seconds / step) * step)


def _rounded_up(value: float) -> float:
    """The next number with three significant figures, which `short` writes."""
    step = 10.0 ** (floor(log10(value)) - 2)
    return ceil(value / step) * step


def _remedy(remedy: Remedy) -> str:
    match remedy["change"]:
        case "overlap":
            return "--overlap"
        case "link":
            link = _rounded_up(remedy["link_bytes_per_s"] * 8)
            return f"a link of {short(link, 'b/s')} for each slice"
        case _:
            return f"{remedy['slices']:,} slices ({remedy['nodes']:,} nodes)"
