"""The screen of `gordon sort extrapolate`: a table of systems, modelled and measured."""

from collections.abc import Sequence
from typing import Literal

from gordon.cli import warn_each
from gordon.cli.terminal import Column, Output
from gordon.sort.systems.report import Errors, Extrapolation, Figures, Modelled, SystemRow

NONE = "–"


def show(console: Output, report: Extrapolation) -> None:
    """A row for each system, the plateaus, and the printed rows that contradict themselves."""
    systems(console, report)
    printed(console, report)


def systems(console: Output, report: Extrapolation) -> None:
    """A row for each system, then the plateaus."""
    warn_each(report["warnings"])
    rows = report["systems"]
    modelled = [row["modelled"] for row in rows]
    measured = [row["measured"] for row in rows]
    errors = [row.get("error") for row in rows]

    def column(title: str, cells: Sequence[float | None], form: str, spare: int = 0) -> Column:
        texts = [NONE if cell is None else format(cell, form) for cell in cells]
        return Column(title, texts, right=True, spare=spare)

    columns = [
        Column("system", [row["name"] for row in rows]),
        column("passes", [row["passes"] for row in rows], "d", 3),
        column("time s", _values(modelled, "time_s"), ".1f"),
        column("power W", _values(modelled, "power_w"), ".1f"),
        column("records/J", _values(modelled, "records_per_j"), ",.0f"),
    ]
    if any(measured):
        columns += [
            column("measured s", _values(measured, "time_s"), ".1f", 2),
            column("W", _values(measured, "power_w"), ".1f", 2),
            column("records/J", _values(measured, "records_per_j"), ",.0f", 2),
            column("error: time", _values(errors, "time_s"), "+.0%"),
            Column("power", [_power_error(e) for e in errors], right=True),
            column("records/J", _values(errors, "records_per_j"), "+.0%"),
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


def printed(console: Output, report: Extrapolation) -> None:
    """The printed rows whose score does not follow from their time and power."""
    for row in report["systems"]:
        check = row["measured"].get("row") if row["measured"] else None
        if check is not None and check.get("follows") is False:
            console.text(
                f"{row['name']}: the printed {check['printed_records_per_j']:,.0f} records/J do "
                "not "
                f"follow from the printed time and power, which give {check['records_per_j']:,.0f}"
            )


def _values(
    rows: Sequence[Figures | Errors | None], key: Literal["time_s", "power_w", "records_per_j"]
) -> list[float | None]:
    return [None if row is None else row[key] for row in rows]


def _power_error(error: Errors | None) -> str:
    if error is None or error["power_w"] is None:
        return NONE
    return "fitted" if error["power_fitted_to_it"] else f"{error['power_w']:+.0%}"


def _notes(report: Extrapolation, rows: list[SystemRow]) -> list[str]:
    """Footnotes to the table."""
    found = []
    errors = [(row["name"], row.get("error")) for row in rows]
    fitted = [name for name, error in errors if error and error["power_fitted_to_it"]]
    if fitted:
        found.append(
            f"fitted: the board power of {', '.join(fitted)} is fitted to that row alone, so the "
            "error of power is zero and that of records/J is the error of time"
        )
    sizes: dict[int, list[str]] = {}
    for row in rows:
        size = row["measured"]["records"] if row["measured"] else report["records"]
        if size != report["records"]:
            sizes.setdefault(size, []).append(row["name"])
    for size, names in sizes.items():
        found.append(
            f"{', '.join(names)}: measured with {size:,} records; the errors are those of the "
            "model at that size"
        )
    return found


def _limits(modelled: Modelled | None) -> str:
    phases = modelled["phases"] if modelled else []
    return "; ".join(f"{p['name']} {p['time_s']:.1f} s: {p['limit']}" for p in phases) or NONE
