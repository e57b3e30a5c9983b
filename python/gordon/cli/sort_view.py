"""The screen of `gordon sort`."""

from typing import TYPE_CHECKING, Any, Literal

from gordon.cli.terminal import Column, ColumnsOf, Output
from gordon.human import duration, figures, short
from gordon.reports.sort import Phase

if TYPE_CHECKING:
    from gordon.sort.run import TimedSort

METHODS = {
    "one-pass": "one pass, all in memory",
    "distribute": "distributed",
    "merge": "merged",
}

IO = {"uring": "io_uring", "threads": "threads"}


def show(console: Output, report: "TimedSort") -> None:
    """How it was sorted, a line for each phase, and what that comes to."""
    for line in _about(report):
        console.text(line)
    console.table(_phases(report["phases"]))
    spent, moved = report["time_s"], report["bytes"]
    cpu = report["cpu_user_s"] + report["cpu_system_s"]
    console.text(
        f"{short(moved, 'B')} in {duration(spent)}: {short(moved / spent, 'B/s')}; "
        f"CPU time {duration(cpu)}; peak memory {short(report['peak_resident_bytes'], 'B')}"
    )


def _about(report: "TimedSort") -> list[str]:
    plan = report["plan"]
    what = f"{short(report['bytes'], 'B')}, {report['records']:,} {_shape(report['shape'])}"
    how = METHODS[plan["method"]]
    if plan["method"] == "distribute":
        how += f" to {plan['buckets']} buckets"
    if plan["in_core"] == "merge":
        how += ", merged in memory"
    if report["passes"] > 1:
        how += f", {report['passes']} passes, {short(report['temp_bytes'], 'B')} of temporary files"
    if report["large_buckets"]:
        how += f", {report['large_buckets']} oversized buckets merged"
    way = "direct I/O" if report["direct"] else "I/O through the page cache"
    way += f" by {IO[report['io']]}"
    left = report["records"] - report["output_records"]
    if report["unique"]:
        what += f", {report['output_records']:,} written, {left:,} with equal keys dropped"
    return [f"{what}: {how}; {plan['threads']} threads, {way}; all values are measured"]


def _shape(shape: Any) -> str:
    if shape == "benchmark":
        return "records of 100 bytes (the default; the key is bytes 0 to 9)"
    if "fixed" in shape:
        return f"records of {shape['fixed']['record']:,} bytes"
    return "lines"


def _phases(phases: list[Phase]) -> list[Column]:
    def rate(phase: Phase, key: Literal["bytes_read", "bytes_written"]) -> str:
        return figures(phase[key] / 1e6 / phase["seconds"]) if phase["seconds"] else "-"

    column = ColumnsOf(phases)
    return [
        column.text("phase", lambda phase: phase["name"]),
        column.number("s", lambda phase: figures(phase["seconds"])),
        column.number("read MB/s", lambda phase: rate(phase, "bytes_read")),
        column.number("write MB/s", lambda phase: rate(phase, "bytes_written")),
        column.number(
            "cores busy", lambda phase: figures(phase["cpu_s"] / (phase["seconds"] or 1))
        ),
    ]
