"""The screen of `gordon doctor`."""

from itertools import groupby

from gordon.cli.terminal import Column, Output
from gordon.doctor import Examined


def show(console: Output, found: Examined) -> None:
    """Prints the findings by area, and what to do for more."""
    findings = found["findings"]
    console.table(
        [
            Column(
                "for",
                [
                    area
                    for area, same in groupby(findings, lambda one: one["area"])
                    for area in [area, *[""] * (len(list(same)) - 1)]
                ],
            ),
            Column("", [one["what"] for one in findings]),
            Column("works", [one["state"] for one in findings]),
            Column("how, or why not", [one["why"] for one in findings], wraps=True),
        ]
    )
    hints = [one for one in findings if one["hint"]]
    if hints:
        console.text("For more:")
        for one in hints:
            console.text(f"  {one['what']}: {one['hint']}")
