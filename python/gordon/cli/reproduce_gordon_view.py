"""The screen of `gordon reproduce gordon`."""

from collections.abc import Sequence

from gordon.cli.terminal import Column, Output
from gordon.human import figures
from gordon.reproduce import MEAN, Row, agreement
from gordon.reproduce.designs import CLAIMS
from gordon.reproduce.row import NEAR


def show(console: Output, rows: Sequence[Row]) -> None:
    """How many figures agree, and the claims of the mean of the jobs."""
    found = agreement(rows)
    console.table(
        [
            Column("", [one.table for one in found]),
            Column("figures of the paper", [str(one.figures) for one in found], right=True),
            Column("agree", [str(one.agree) for one in found], right=True),
            Column(f"within {NEAR:g}x", [str(one.near) for one in found], right=True),
        ]
    )
    if not any(row.table == CLAIMS for row in rows):
        return
    claims = [row for row in rows if row.table == CLAIMS and row.job == MEAN]
    console.table(
        [
            Column("the mean of the jobs", [row.what for row in claims]),
            Column("paper", [f"{row.low:g} to {row.high:g}" for row in claims], right=True),
            Column("ours", [figures(row.ours) for row in claims], right=True),
            Column("agrees", ["yes" if row.agrees else "no" for row in claims]),
        ]
    )
