"""The screens of `gordon meter`."""

import time

from gordon.cli import say, warn_each
from gordon.cli.terminal import Column, Output, data
from gordon.energy.account import Account, Efficiency, Idle, Tail
from gordon.energy.find import SPELLED
from gordon.energy.meter import Candidate, Meter
from gordon.energy.record import Report
from gordon.energy.series import Summary
from gordon.energy.session import Session
from gordon.energy.work import memory
from gordon.errors import GordonError
from gordon.human import deviation, duration, figures, or_dash, short, spread


def show_list(console: Output, found: list[Candidate]) -> None:
    """Prints the meters; those that are not available have the reason and a hint."""
    rows = [_row(candidate) for candidate in found]
    rows += [(prefix, "", "", "", what) for prefix, what in SPELLED.items()]
    names, measures, kinds, updates, states = (list(column) for column in zip(*rows, strict=True))
    console.table(
        [
            Column("meter", names),
            Column("measures", measures, spare=1),
            Column("reports", kinds),
            Column("interval", updates, right=True, spare=2),
            Column("", states, wraps=True),
        ]
    )


def _row(candidate: Candidate) -> tuple[str, ...]:
    meter = candidate.meter
    if meter is None:
        state = candidate.why + (f"; try: {candidate.hint}" if candidate.hint else "")
        return (candidate.name, candidate.measures, "", "", state)
    update = "" if meter.update_s is None else f"{meter.update_s * 1000:g} ms"
    return (meter.name, meter.measures, f"{meter.kind}, {meter.how}", update, "available")


def follow(meters: list[Meter], interval_s: float, count: int | None) -> None:
    """Watts of each meter, a line each interval: the mean since the last line."""
    console = data()
    names = [f"{meter.name} W ({meter.how})" for meter in meters]
    widths = [max(12, len(name)) for name in names]
    with Session(meters, interval_s) as session:
        begin = time.monotonic()
        console.text(
            "       s  " + "  ".join(n.rjust(w) for n, w in zip(names, widths, strict=True))
        )
        line = 0
        while count is None or line < count:
            line += 1
            time.sleep(max(0.0, begin + line * interval_s - time.monotonic()))
            if len(session.failed()) == len(meters):
                raise session.failed()[0]
            cells = []
            for sampler in session.samplers:
                series = sampler.series
                failed_at = series.missed[-1][0] if series.missed else series.empty_at
                is_silent = max(failed_at, series.empty_at) > (series.times or [0.0])[-1]
                watts = None if is_silent else series.last()
                cells.append(or_dash(watts))
            at = f"{line * interval_s:8.2f}  "
            console.text(at + "  ".join(c.rjust(w) for c, w in zip(cells, widths, strict=True)))
    for sampler in session.samplers:
        warn_each(sampler.meter.warnings, sampler.meter.name)
    if not any(sampler.series.times for sampler in session.samplers):
        failures = [s.failure for s in session.samplers if s.failure is not None]
        silent = GordonError(
            f"no meter gave a sample within {line * interval_s:g} s",
            "a larger --count; check that the meter's own program prints values",
            kind="no-sample",
        )
        raise failures[0] if failures else silent


def show_record(console: Output, report: Report) -> None:
    """The run, then a row for each meter."""
    runs, wall = report["runs"], report["wall_s"]
    times = f"{duration(wall['mean'])}{deviation(wall['sd'])}"
    cpu = sum(run["user_s"] + run["sys_s"] for run in runs) / len(runs)
    moved = [
        sum(run["read_bytes"] for run in runs) / len(runs),
        sum(run["written_bytes"] for run in runs) / len(runs),
    ]
    console.text(" ".join(report["command"]), style="bold")
    console.text(
        f"{len(runs)} run{'s' * (len(runs) > 1)} of {times}, CPU time {duration(cpu)}, "
        f"{memory(runs)}, {short(moved[0], 'B')} read and {short(moved[1], 'B')} written; exit "
        f"status {report['exit_status']}"
    )
    show_meters(console, report["meters"])


def warn_of(meters: list[Account]) -> None:
    """Prints the warnings of the meters."""
    if all(meter["how"] == "modelled" for meter in meters):
        say(
            "no meter was read: energy and power are modelled",
            "`gordon meter list` for the meters of this machine",
            "warning",
        )
    for meter in meters:
        warn_each(meter["warnings"], meter["name"])
        if meter["error"]:
            say(f"{meter['name']} failed: {meter['error']}", kind="warning")


def show_meters(console: Output, meters: list[Account]) -> None:
    """Energy and power of the runs, with deviations where there are several."""
    columns = [
        Column("meter", [m["name"] for m in meters]),
        Column("source", [m["how"] for m in meters]),
        Column("energy J", [_of(m["energy_j"]) for m in meters], right=True),
        Column("mean W", [_of(m["mean_w"]) for m in meters], right=True),
        Column("idle W", [_idle(m["idle"]) for m in meters], right=True),
        Column("above idle J", [_of(m["above_idle_j"]) for m in meters], right=True),
        Column("tail", [_tail(m["tail"]) for m in meters], spare=1),
        Column("resolution", [_resolution(m["resolution_s"]) for m in meters], right=True, spare=2),
    ]
    if any(m["records_per_joule"] for m in meters):
        rates = [_rate(m["records_per_joule"]) for m in meters]
        columns.append(Column("records/J", rates, right=True))
    console.table(columns)


def _rate(rate: Efficiency | None) -> str:
    return "-" if rate is None else spread(rate["value"], rate["sd"])


def _of(summary: Summary | None) -> str:
    return "-" if summary is None else spread(summary["mean"], summary["sd"])


def _idle(idle: Idle | None) -> str:
    return "-" if idle is None else spread(idle["mean_w"], idle["sd_w"])


def _tail(tail: Tail | None) -> str:
    if tail is None:
        return "-"
    more = "" if tail["back_at_idle"] else ", not back at idle"
    return f"{figures(tail['above_idle_j'])} J above idle in {duration(tail['seconds'])}{more}"


def _resolution(seconds: float | None) -> str:
    return (
        "-"
        if seconds is None
        else f"{seconds * 1000:.3g} ms"
        if seconds < 1
        else f"{seconds:.3g} s"
    )
