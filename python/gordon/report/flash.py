"""Flash runs as one HTML file that works offline: one run, or several side by side.

The tables are in the HTML as it is written; the script draws the figures, which are data in it.
Same result, same bytes. A content security policy in the file forbids it to load anything.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gordon.human import duration
from gordon.report import page
from gordon.report.flash_figures import figures
from gordon.results import load_of
from gordon.survey.parameters import rows

if TYPE_CHECKING:
    from gordon.results import Run

Shown = Callable[[Any], str]

PAGES = {
    "host_read": "read for the host",
    "host_program": "programmed with host data",
    "gc_read": "read by garbage collection",
    "gc_program": "copied by garbage collection",
    "merge_read": "read to be merged",
    "wear_program": "copied by wear levelling",
    "summary_program": "summaries",
    "padding": "padding",
}


def render(runs: "list[Run]") -> str:
    """The report's HTML."""
    reports = [run.report for run in runs]
    drawn = figures(runs)
    data = {"figures": drawn, "runs": [{"name": r.name, "report": r.report} for r in runs]}
    used = {"flash": {run.name: run.report["provenance"]["config"]["device"] for run in runs}}
    return page.render(
        "flash",
        data,
        {"duration": duration},
        names=[run.name for run in runs],
        zipped=[(run.name, run.report) for run in runs],
        first=reports[0],
        load=load_of(reports[0]),
        kind="replay" if "trace" in reports[0]["provenance"]["config"]["load"] else "bench",
        figures={name: spec["layout"]["title"]["text"] for name, spec in drawn.items()},
        groups=_groups(reports),
        parts=page.grouped(rows(used)),
        settings=[_settings(report) for report in reports],
        warnings=[
            (run.name if len(runs) > 1 else "", text) for run in runs for text in _warnings(run)
        ],
    )


def _warnings(run: "Run") -> list[str]:
    found: list[str] = run.report["warnings"]
    return found


def _cause(name: str) -> str:
    return name.replace("_", " ")


def _groups(reports: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """Every figure of the runs, in groups of rows: a cell for each run, and what it is of the
    first's."""

    def row(title: str, value: Callable[[dict[str, Any]], Any], shown: Shown = page.sig) -> Any:
        values = [value(report) for report in reports]
        first = values[0]
        cells = [
            (shown(v), page.times(v / first) if first and v is not None and i else "")
            for i, v in enumerate(values)
        ]
        return {"title": title, "cells": cells, "any": any(v is not None for v in values)}

    def unit(name: str) -> Shown:
        return lambda value: page.si(value, name)

    def of(*path: str) -> Callable[[dict[str, Any]], Any]:
        def value(report: dict[str, Any]) -> Any:
            inner: Any = report
            for key in path:
                inner = inner.get(key) if inner else None
            return inner

        return value

    groups = [
        (
            "The run",
            [
                row("requests", of("requests")),
                row("simulated time, s", of("simulated_s")),
                row("bandwidth, MB/s", of("bandwidth_mb_s")),
                row("IOPS", of("iops")),
                row("outstanding, mean", of("outstanding", "mean")),
                row("outstanding, most", of("outstanding", "max")),
                *(
                    [row("failed requests", of("failed_requests"))]
                    if any(r["failed_requests"] for r in reports)
                    else []
                ),
            ],
        )
    ]
    for op in ("read", "write", "trim", "flush"):
        if any(report[op]["requests"] for report in reports):
            groups.append((op.capitalize() + "s", _op_rows(op, row, of)))
    groups += [
        (
            "Pages",
            [
                row("write amplification, pages", of("write_amplification")),
                row("write amplification, bytes", of("write_amplification_bytes")),
                *(row(title, of("pages", key)) for key, title in PAGES.items()),
                row("writes combined", of("combined")),
                row("reads bypassed", of("bypassed")),
                row("reads of unmapped pages", of("unmapped_reads")),
            ],
        ),
        (
            "Wear",
            [
                row("super-blocks erased", of("erases")),
                row("erases of the most worn", of("wear", "max_erases")),
                row("erases of the least worn", of("wear", "min_erases")),
                row("erases that each lasts for", of("wear", "erase_budget")),
                row("blocks gone bad", of("grown_bad")),
                row("lifetime at this rate", of("lifetime_years"), unit("years")),
                row("can still be programmed", of("lifetime_writes_bytes"), unit("B")),
            ],
        ),
        (
            "How busy",
            [
                row("buses", of("utilisation", "bus"), page.percent),
                row("dies", of("utilisation", "die"), page.percent),
                row("dies reading", of("utilisation", "die_read"), page.percent),
                row("dies programming, erasing", of("utilisation", "die_write"), page.percent),
                row("controller", of("utilisation", "controller"), page.percent),
            ],
        ),
        (
            "Energy",
            [
                row("in all", of("energy_j"), unit("J")),
                *(
                    row(_cause(part), of("energy_by_part_j", part), unit("J"))
                    for part in reports[0]["energy_by_part_j"]
                ),
            ],
        ),
        (
            "Tables",
            [
                row("LBA table, 4 bytes a page", of("lba_table_bytes"), unit("B")),
                row("memory of this program's tables", of("map_memory_bytes"), unit("B")),
            ],
        ),
    ]
    return [(title, [r for r in rows if r["any"]]) for title, rows in groups]


def _op_rows(op: str, row: Callable[..., Any], of: Callable[..., Any]) -> list[Any]:
    times = {"mean": "mean", "p50": "median", "p99": "99 %", "p999": "99.9 %", "max": "greatest"}
    found = [
        row("requests", of(op, "requests")),
        row("bandwidth, MB/s", of(op, "bandwidth_mb_s")),
        row("IOPS", of(op, "iops")),
        *(row(f"latency {title}, us", of(op, "latency_us", key)) for key, title in times.items()),
    ]
    for cause in ("buffer", "medium", "merge", "collection"):
        path = (op, "by_cause", cause)
        found.append(row(f"waited for the {cause}", of(*path, "requests")))
        found.append(row(f"{cause}: latency 99 %, us", of(*path, "latency_us", "p99")))
    return found


def _settings(report: dict[str, Any]) -> dict[str, Any]:
    """What was asked for beside the device."""
    config = report["provenance"]["config"]
    ((kind, load),) = config["load"].items()
    asked = {kind: load, "host": config["host"]}
    found = {
        f"{name}.{key}": value
        for name, table in asked.items()
        for key, value in table.items()
        if value not in (None, [], False)
    }
    for key in ("capacity", "precondition", "seed"):
        if config.get(key) is not None:
            found[key] = config[key]
    for key, value in (report["provenance"]["trace"] or {}).items():
        if value is not None:
            found[f"trace {key}"] = value
    return found
