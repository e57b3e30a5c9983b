"""The screen of `gordon reproduce rewrite`."""

from gordon.cli.terminal import ColumnsOf, Output
from gordon.human import binary, figures, short, spread
from gordon.reproduce.rewriting_report import Explained, Rewritten


def show(console: Output, report: Rewritten) -> None:
    """A row for each way and size, and what follows."""
    about = report["export"]
    console.text(
        f"{short(report['bytes'], 'B')} sorted in one pass on {about['preset']} of "
        f"{short(about['capacity_bytes'], 'B')}, {report['rounds']} rounds; all values are "
        "measured "
        "except busy dies, which are modelled; values of the device are of the output phase"
    )
    column = ColumnsOf(report["rows"])
    columns = [
        column.text("output", lambda r: f"{binary(r['transfer'])}, {r['way']}"),
        column.number("s", lambda r: figures(r["time_s"])),
        column.number("output s", lambda r: spread(r["output_s"], r["output_s_deviation"])),
        column.number("WA", lambda r: figures(r["output"]["write_amplification"])),
        column.number("copied MB", lambda r: figures(r["output"]["copied_bytes"] / 1e6)),
        column.number("erases", lambda r: figures(r["output"]["erases"])),
        column.number("trimmed MB", lambda r: figures(r["output"]["host_bytes_trimmed"] / 1e6)),
        column.number("in use", lambda r: f"{r['mapped_before']:.0%} to {r['mapped_after']:.0%}"),
    ]
    if about["timed"]:
        columns.append(column.number("dies busy", lambda r: f"{r['output']['dies_busy']:.0%}"))
        columns.append(column.number("queue", lambda r: figures(r["output"]["queue_depth"])))
    console.table(columns)
    for one in report["explained"]:
        console.text(reason(one))


def percent(one: Explained) -> str:
    """The difference in percent and its deviation, which one round does not have."""
    deviation = one["longer_deviation"]
    return f"{one['longer']:+.0%}" + ("" if deviation is None else f" ± {deviation:.0%}")


def reason(one: Explained) -> str:
    """One reason, in a sentence."""
    dies = one["dies_longer_s"]
    worked = "" if dies is None else f", dies busy {figures(dies)} s longer"
    return (
        f"{binary(one['transfer'])}, {one['way']}: output phase {percent(one)} "
        f"({figures(one['longer_s'])} s) compared with deleted and trimmed{worked}; cause: "
        f"{one['why']}"
    )
