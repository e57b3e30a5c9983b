"""The part of the screens that runs on all simulated devices share."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

from gordon.cli import say
from gordon.cli.terminal import Column, Output
from gordon.human import counted, duration, figures, load_of, short
from gordon.reports.shared import LatencySummary
from gordon.results import figure

if TYPE_CHECKING:
    from gordon.results import Comparison, DeviceRun, Run

Op = Literal["read", "write", "trim", "flush"]
Time = Literal["mean", "p50", "p99", "p999", "max"]
OPS: Final[tuple[Op, ...]] = ("read", "write", "trim", "flush")
TIMES: Final[tuple[Time, ...]] = ("mean", "p50", "p99", "p999", "max")


def show(console: Output, result: "Run[DeviceRun]", device: Iterable[str], many: str = "") -> None:
    """The run's figures, those of its device, and its warnings on stderr."""
    report = result.report
    console.text(f"{many}{result.name}: {load_of(report)}; all values are modelled")
    console.text(whole(report))
    if any(report[op]["requests"] for op in OPS):
        console.table(_latencies(report))
    for line in device:
        console.text(line)
    warn(report)


def compared(
    console: Output,
    comparison: "Comparison[Any]",
    more: list[tuple[str, str, Callable[[float], str], int]],
) -> None:
    """Prints a row per device, with the ratios to the first device in brackets. `more` columns are
    (title, name in `RATIOS`, format, `Column.spare`)."""
    rows = comparison.report["devices"]
    first = rows[0]["report"]
    console.text(
        f"{load_of(first)}: {counted(first['requests'], 'request')}; all values are modelled; "
        f"ratios to {rows[0]['name']} in brackets"
    )
    paths = comparison.results[0].RATIOS

    def column(title: str, key: str, shown: Callable[[float], str], spare: int = 0) -> Column:
        cells = []
        for row in rows:
            value, ratio = figure(row["report"], paths[key]), row["relative"][key]
            text = "" if value is None else shown(value)
            if text and ratio is not None and row is not rows[0]:
                text += f" ({figures(ratio)})"
            cells.append(text)
        return Column(title, cells, right=True, spare=spare)

    columns = [
        Column("device", [row["name"] for row in rows]),
        column("simulated", "simulated_s", lambda s: f"{figures(s)} s"),
        column("bandwidth", "bandwidth_mb_s", rate),
        *(column(*one) for one in more),
    ]
    console.table([c for c in columns if any(c.cells)])
    for row in rows:
        warn(row["report"], row["name"])


def warn(report: "DeviceRun", name: str = "") -> None:
    for warning in report["warnings"]:
        say(f"{name}: {warning}" if name else warning, kind="warning")


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


class _Line(NamedTuple):
    """The requests of an operation, or those of one cause."""

    name: str
    requests: int
    latency_us: LatencySummary
    bandwidth_mb_s: float | None = None
    iops: float | None = None


def _latencies(report: "DeviceRun") -> list[Column]:
    """A row for each operation, and below it one for each cause where there are several."""
    rows: list[_Line] = []
    for op in OPS:
        one = report[op]
        if one["requests"]:
            rates = one["bandwidth_mb_s"], one["iops"]
            rows.append(_Line(op, one["requests"], one["latency_us"], *rates))
            if len(one["by_cause"]) > 1:
                rows += [
                    _Line(f"  {cause}", of["requests"], of["latency_us"])
                    for cause, of in one["by_cause"].items()
                ]
    number: dict[str, Any] = {"right": True}

    def known(value: float | None) -> str:
        return "" if value is None else figures(value)

    columns = [
        Column("", [row.name for row in rows]),
        Column("requests", [f"{row.requests:,}" for row in rows], **number),
        Column("MB/s", [known(row.bandwidth_mb_s) for row in rows], **number),
        Column("IOPS", [known(row.iops) for row in rows], **number, spare=1),
    ]
    titles = {"mean": "mean us", "p999": "p99.9"}
    for time in TIMES:
        texts = [known(row.latency_us[time]) for row in rows]
        columns.append(Column(titles.get(time, time), texts, **number))
    return columns
