"""The screens of a fitted flash device, and of one next to measured storage."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gordon.cli import warn_each
from gordon.cli.terminal import Column, Output
from gordon.human import binary, counted, figures

if TYPE_CHECKING:
    from gordon.storage.fit.report import ComparedPoint, Errors, FittedValue, FlashFit
    from gordon.storage.fit.report import FlashValidation as Validation

#: Points that are listed: those that the device follows least.
WORST = 5


def fitted(console: Output, report: "FlashFit") -> None:
    """The values with their ranges, and the errors that are left."""
    values = report["values"]
    console.text(
        f"{report['storage']}: fitted to {counted(len(report['points']), 'point')}; "
        f"start: {report['provenance']['like']}"
    )
    console.table(
        [
            Column("value", [one["key"] for one in values]),
            Column("fitted", [_text(one, one["value"]) for one in values], right=True),
            Column("range", [_range(one) for one in values]),
            Column("start", [_text(one, one["start"]) for one in values], right=True),
        ]
    )
    console.text("range: bandwidths are off by at most 1% more there, all other values unchanged")
    _errors(console, report["errors"], report["points"])
    warn_each(report["warnings"])


def validated(console: Output, report: "Validation") -> None:
    """The errors of each pattern, and the points with the largest ones."""
    console.text(
        f"{report['storage']}, measured, and {report['provenance']['device']}, simulated: "
        f"{counted(len(report['points']), 'point')}"
    )
    _errors(console, report["errors"], report["points"])
    warn_each(report["warnings"])


def _errors(console: Output, errors: "Sequence[Errors]", points: "Sequence[ComparedPoint]") -> None:
    console.table(
        [
            Column("bandwidth", [one["pattern"] for one in errors]),
            Column("points", [str(one["points"]) for one in errors], right=True),
            Column("median error", [f"{one['median']:.1%}" for one in errors], right=True),
            Column("90% below", [f"{one['p90']:.1%}" for one in errors], right=True),
            Column("largest", [f"{one['largest']:.1%}" for one in errors], right=True),
        ]
    )
    off = sorted(points, key=lambda one: max(one["ratio"], 1 / one["ratio"]), reverse=True)[:WORST]
    console.text("the largest errors:")
    console.table(
        [
            Column("requests", [one["pattern"] for one in off]),
            Column("size", [binary(one["size_bytes"]) for one in off], right=True),
            Column("depth", [str(one["queue_depth"]) for one in off], right=True),
            Column("measured MB/s", [figures(one["measured_mb_s"]) for one in off], right=True),
            Column("simulated MB/s", [figures(one["simulated_mb_s"]) for one in off], right=True),
            Column("ratio", [figures(one["ratio"]) for one in off], right=True),
        ]
    )


def _text(of: "FittedValue", value: float) -> str:
    if not of["unit"]:
        return f"{value:g}"
    scale, name = {"ns": (1e3, "us"), "B/s": (1e6, "MB/s"), "Hz": (1e6, "MHz")}[of["unit"]]
    return f"{figures(value / scale)} {name}"


def _range(of: "FittedValue") -> str:
    if not of["determined"]:
        return "not determined"
    low, high = of["low"], of["high"]
    least = "any less" if low is None else _text(of, low)
    return f"{least} to {'any more' if high is None else _text(of, high)}"
