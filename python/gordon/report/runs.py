"""The report of runs on simulated devices: one HTML file that works offline.

The tables are plain HTML; a script draws the figures from data in the file. The same results give
the same bytes. A content security policy in the file keeps it from loading anything.
`report.flash` and `report.disk` add what only one kind of device has.
"""

from collections.abc import Iterator, Sequence

from gordon.human import duration, load_of
from gordon.parameters import rows
from gordon.report import page
from gordon.report.entries import Entry
from gordon.report.kinds import DeviceKind, DeviceRun, Group, Rows, Run
from gordon.report.run_entries import CAUSES, FAILED, OPS, REQUESTS, RUN, Op, at, operation
from gordon.report.run_figures import figures
from gordon.report.run_summary import TIMES as TABLE
from gordon.report.run_summary import latencies, sentence

#: Latencies that a page lists by cause.
OF_CAUSES = ("mean", "p50", "p99", "p999", "max")


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
    """Every figure of the runs, in groups of rows: a cell for each run, and its ratio to that of
    the first."""
    row = Rows(reports)
    failed = [FAILED] if any(report["failed_requests"] for report in reports) else []
    groups = [row.group("The run", [*RUN, *failed])]
    for op in OPS:
        if any(report[op]["requests"] for report in reports):
            groups.append(row.group(op.capitalize() + "s", _operation(kind, op)))
    return groups + kind.groups(reports, row)


def _operation(kind: DeviceKind[DeviceRun], op: Op) -> Iterator[Entry[DeviceRun]]:
    entries = operation(kind.unit, kind.in_us)
    yield from (at(entry, op) for entry in entries)
    for cause, name in CAUSES.items():
        path = (op, "by_cause", cause)
        yield at(REQUESTS, *path, title=f"requests limited by {name}")
        for entry in entries:
            if entry.key in OF_CAUSES:
                yield at(entry, *path, title=f"limited by {name}: {entry.title}")


def _settings(report: DeviceRun) -> dict[str, object]:
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
