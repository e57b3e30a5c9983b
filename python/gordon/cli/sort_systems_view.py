"""The screen of `gordon sort extrapolate`: a table of systems, modelled and measured."""

from typing import Any

from gordon.cli import say
from gordon.cli.terminal import Column, Output

NONE = "–"


def show(console: Output, report: dict[str, Any]) -> None:
    """A row for each system, the plateaus, and the printed rows that contradict themselves."""
    systems(console, report)
    printed(console, report)


def systems(console: Output, report: dict[str, Any]) -> None:
    """A row for each system, then the plateaus."""
    for warning in report["warnings"]:
        say(warning, kind="warning")
    rows = report["systems"]
    modelled = [row["modelled"] or {} for row in rows]
    measured = [row["measured"] or {} for row in rows]
    errors = [row.get("error") or {} for row in rows]

    def column(title: str, cells: list[Any], form: str, spare: int = 0) -> Column:
        texts = [NONE if cell is None else format(cell, form) for cell in cells]
        return Column(title, texts, right=True, spare=spare)

    columns = [
        Column("system", [row["name"] for row in rows]),
        column("passes", [row["passes"] for row in rows], "d", 3),
        column("time s", [m.get("time_s") for m in modelled], ".1f"),
        column("power W", [m.get("power_w") for m in modelled], ".1f"),
        column("records/J", [m.get("records_per_j") for m in modelled], ",.0f"),
    ]
    if any(measured):
        columns += [
            column("measured s", [m.get("time_s") for m in measured], ".1f", 2),
            column("W", [m.get("power_w") for m in measured], ".1f", 2),
            column("records/J", [m.get("records_per_j") for m in measured], ",.0f", 2),
            column("error: time", [e.get("time_s") for e in errors], "+.0%"),
            Column("power", [_power_error(e) for e in errors], right=True),
            column("records/J", [e.get("records_per_j") for e in errors], "+.0%"),
        ]
    columns.append(Column("limits", [_limits(m) for m in modelled], wraps=True, spare=1))
    about = "the run of" if report["run"] else "a sort of"
    console.text(f"{about} {report['records']:,} records; modelled, from {report['source']}")
    console.table(columns)
    for line in _notes(report, rows):
        console.text(line)
    for plateau in report["plateaus"]["plateaus"]:
        span = plateau["power_w"]
        at = f", {span[0]:.1f} to {span[1]:.1f} W" if span and span[0] < span[1] else ""
        console.text(
            f"plateau: {plateau['records_per_j']:,.0f} records/J{at}: "
            + ", ".join(plateau["systems"])
        )


def printed(console: Output, report: dict[str, Any]) -> None:
    """The printed rows whose score does not follow from their time and power."""
    for row in report["systems"]:
        check = (row["measured"] or {}).get("row")
        if check is not None and check.get("follows") is False:
            console.text(
                f"{row['name']}: the printed {check['printed_records_per_j']:,.0f} records/J do "
                "not "
                f"follow from the printed time and power, which give {check['records_per_j']:,.0f}"
            )


def _power_error(error: dict[str, Any]) -> str:
    if error.get("power_w") is None:
        return NONE
    return "fitted" if error["power_fitted_to_it"] else f"{error['power_w']:+.0%}"


def _notes(report: dict[str, Any], rows: list[dict[str, Any]]) -> list[str]:
    """Footnotes to the table."""
    found = []
    fitted = [row["name"] for row in rows if (row.get("error") or {}).get("power_fitted_to_it")]
    if fitted:
        found.append(
            f"fitted: the board power of {', '.join(fitted)} is fitted to that row alone, so the "
            "error of power is zero and that of records/J is the error of time"
        )
    sizes: dict[int, list[str]] = {}
    for row in rows:
        size = (row["measured"] or {}).get("records", report["records"])
        if size != report["records"]:
            sizes.setdefault(size, []).append(row["name"])
    for size, names in sizes.items():
        found.append(
            f"{', '.join(names)}: measured with {size:,} records; the errors are those of the "
            "model at that size"
        )
    return found


def _limits(modelled: dict[str, Any]) -> str:
    phases = modelled.get("phases", [])
    return "; ".join(f"{p['name']} {p['time_s']:.1f} s: {p['limit']}" for p in phases) or NONE
