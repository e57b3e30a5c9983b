"""The report of runs on simulated devices: one HTML file that works offline.

The tables are plain HTML; a script draws the figures from data in the file. The same results give
the same bytes. A content security policy in the file keeps it from loading anything.
`report.flash` and `report.disk` add what only one kind of device has.
"""

from collections.abc import Sequence
from typing import Any, Final, Literal

from gordon.human import duration, load_of
from gordon.parameters import rows
from gordon.report import page
from gordon.report.entries import of
from gordon.report.kinds import DeviceKind, Group, Rows, Run
from gordon.report.run_figures import figures
from gordon.report.run_summary import TIMES as TABLE
from gordon.report.run_summary import latencies, sentence
from gordon.reports.devices import DiskRun, FlashRun

DeviceRun = FlashRun | DiskRun
Op = Literal["read", "write", "trim", "flush"]
OPS: Final[tuple[Op, ...]] = ("read", "write", "trim", "flush")
TIMES = {
    "mean": "mean",
    "p50": "median",
    "p90": "p90",
    "p99": "p99",
    "p999": "p99.9",
    "max": "max",
}
CAUSES = {
    "buffer": "the buffer",
    "medium": "the medium",
    "merge": "a read-modify-write",
    "collection": "garbage collection",
}


def render(runs: Sequence[Run[DeviceRun]]) -> str:
    """The report's HTML."""
    kind = runs[0].kind()
    reports = [run.report for run in runs]
    drawn = figures(runs)
    data = {"figures": drawn, "runs": [{"name": r.name, "report": r.report} for r in runs]}
    used = {kind.name: {run.name: kind.parameters(run.report) for run in runs}}
    return page.render(
        "runs",
        data,
        device=kind.name,
        names=[run.name for run in runs],
        cards=[(run.name, _card(kind, run.report)) for run in runs],
        first=reports[0],
        load=load_of(reports[0]),
        sentence=sentence(runs),
        latencies=latencies(runs),
        times=TABLE,
        unit=kind.unit,
        command="replay" if "trace" in reports[0]["provenance"]["config"]["load"] else "bench",
        simulated=duration(reports[0]["simulated_s"]),
        figures={name: spec["layout"]["title"]["text"] for name, spec in drawn.items()},
        heights={name: spec["layout"].get("height") for name, spec in drawn.items()},
        groups=_groups(kind, reports),
        parts=page.grouped(rows(used)),
        settings=[_settings(report) for report in reports],
        warnings=[
            (run.name if len(runs) > 1 else "", text)
            for run in runs
            for text in run.report["warnings"]
        ],
    )


def _card(kind: DeviceKind[DeviceRun], report: DeviceRun) -> list[tuple[str, str]]:
    """The most important figures of a run."""
    card = [
        ("simulated", duration(report["simulated_s"])),
        ("bandwidth", f"{page.sig(report['bandwidth_mb_s'])} MB/s"),
        ("requests", f"{page.sig(report['iops'])} IOPS"),
    ]
    for op, of_op in (("read", report["read"]), ("write", report["write"])):
        if of_op["requests"]:
            time = kind.time(op, "latency_us", "p99")(report)
            card.append((f"{op} p99", f"{page.sig(time)} {kind.unit}"))
    return card + kind.card(report)


def _groups(kind: DeviceKind[DeviceRun], reports: Sequence[DeviceRun]) -> list[Group]:
    """Every figure of the runs, in groups of rows: a cell for each run, and what it is of the
    first's."""
    row = Rows(reports)
    run = [
        row("requests", of("requests")),
        row("simulated time, s", of("simulated_s")),
        row("bandwidth, MB/s", of("bandwidth_mb_s")),
        row("IOPS", of("iops")),
        row("outstanding requests, mean", of("outstanding", "mean")),
        row("outstanding requests, max", of("outstanding", "max")),
    ]
    if any(report["failed_requests"] for report in reports):
        run.append(row("failed requests", of("failed_requests")))
    groups = [("The run", run)]
    for op in OPS:
        if any(report[op]["requests"] for report in reports):
            groups.append((op.capitalize() + "s", _op_rows(kind, op, row)))
    groups += kind.groups(reports, row)
    return [(title, [r for r in rows if r["any"]]) for title, rows in groups]


def _op_rows(kind: DeviceKind[DeviceRun], op: str, row: Rows[DeviceRun]) -> list[Any]:
    found = [
        row("requests", of(op, "requests")),
        row("bandwidth, MB/s", of(op, "bandwidth_mb_s")),
        row("IOPS", of(op, "iops")),
    ]
    for key, title in TIMES.items():
        found.append(row(f"latency {title}, {kind.unit}", kind.time(op, "latency_us", key)))
    for cause, name in CAUSES.items():
        path = (op, "by_cause", cause)
        found.append(row(f"requests limited by {name}", of(*path, "requests")))
        for key in ("mean", "p50", "p99", "p999", "max"):
            time = kind.time(*path, "latency_us", key)
            found.append(row(f"limited by {name}: latency {TIMES[key]}, {kind.unit}", time))
    return found


def _settings(report: DeviceRun) -> dict[str, Any]:
    """The inputs of a run other than the device."""
    config = dict(report["provenance"]["config"])
    del config["device"]
    ((kind, load),) = config.pop("load").items()
    found = {}
    for name, section in ({kind: load} | config).items():
        table = section if isinstance(section, dict) else {"": section}
        for key, value in table.items():
            if value not in (None, [], False):
                found[f"{name}.{key}".removesuffix(".")] = value
    for key, value in (report["provenance"]["trace"] or {}).items():
        if value:
            found[f"trace {key}"] = value
    return found
