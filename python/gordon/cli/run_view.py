"""The part of the screens that runs on all simulated devices share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gordon.cli import warn_each
from gordon.cli.terminal import Column, Output, of_entries
from gordon.human import counted, duration, figures, load_of, short
from gordon.report.entries import Entry
from gordon.report.run_entries import OPS, operation

if TYPE_CHECKING:
    from gordon.results import Comparison, DeviceRun, Run


def show(console: Output, result: "Run[DeviceRun]", device: Iterable[str], many: str = "") -> None:
    """The run's figures, those of its device, and its warnings on stderr."""
    report = result.report
    console.text(f"{many}{result.name}: {load_of(report)}; all values are modelled")
    console.text(whole(report))
    if any(report[op]["requests"] for op in OPS):
        console.table(_latencies(report))
    for line in device:
        console.text(line)
    warn_each(report["warnings"])


def compared(
    console: Output,
    comparison: "Comparison[Any]",
    entries: Iterable[Entry[Any]],
    spare: Sequence[str],
) -> None:
    """Prints a row per device, with the ratios to the first device in brackets. A narrow terminal
    lacks the entries with the keys `spare`, the last ones first."""
    rows = comparison.report["devices"]
    first = rows[0]["report"]
    console.text(
        f"{load_of(first)}: {counted(first['requests'], 'request')}; all values are modelled; "
        f"ratios to {rows[0]['name']} in brackets"
    )

    def column(entry: Entry[Any]) -> Column:
        cells = []
        for row in rows:
            text, ratio = entry.on_screen(row["report"]), row["relative"][entry.key]
            if text and ratio is not None and row is not rows[0]:
                text += f" ({figures(ratio)})"
            cells.append(text)
        order = spare.index(entry.key) + 1 if entry.key in spare else 0
        return Column(entry.short or entry.title, cells, right=True, spare=order)

    columns = [Column("device", [row["name"] for row in rows]), *map(column, entries)]
    console.table([c for c in columns if any(c.cells)])
    for row in rows:
        warn_each(row["report"]["warnings"], row["name"])


def whole(report: "DeviceRun") -> str:
    """Requests, time, rates."""
    requests = counted(report["requests"], "request")
    text = f"{requests} in {duration(report['simulated_s'])} simulated"
    if report["bandwidth_mb_s"] is not None and report["iops"] is not None:
        text += f": {rate(report['bandwidth_mb_s'])}, {figures(report['iops'])} IOPS"
    outstanding = report["outstanding"]
    if outstanding["mean"] is not None:
        mean, most = figures(outstanding["mean"]), f"{outstanding['max']:,}"
        text += f"; outstanding: mean {mean}, max {most}"
    return text


def rate(mb_s: float) -> str:
    return short(mb_s * 1e6, "B/s")


def _latencies(report: "DeviceRun") -> list[Column]:
    """A row for each operation, and below it one for each cause if there are several."""
    names: list[str] = []
    rows: list[Mapping[str, Any]] = []
    for op in OPS:
        one = report[op]
        if one["requests"]:
            names.append(op)
            rows.append(one)
            if len(one["by_cause"]) > 1:
                names += [f"  {cause}" for cause in one["by_cause"]]
                rows += one["by_cause"].values()
    entries = [entry for entry in operation() if entry.key != "p90"]
    return [Column("", names), *of_entries(entries, rows, spare={"iops": 1})]
