"""The screen of `gordon reproduce flashcache`."""

from collections.abc import Sequence

from gordon.cli.terminal import Column, Output
from gordon.human import figures
from gordon.reproduce import Row


def show(console: Output, rows: Sequence[Row], requests: int) -> None:
    """A line for each comparison, and the reason where the figures differ."""
    console.text(f"SURGE, {requests:,} requests; values are modelled unless a server is named")
    console.table(
        [
            Column("of the paper", [row.table for row in rows]),
            Column("what", [row.what for row in rows], wraps=True),
            Column("paper", [printed(row) for row in rows], right=True),
            Column("ours", [figures(row.ours) for row in rows], right=True),
            Column("agrees", ["yes" if row.agrees else "no" for row in rows]),
            Column(
                "reason", ["" if row.agrees else row.reason for row in rows], wraps=True, spare=1
            ),
        ]
    )


def printed(row: Row) -> str:
    """The paper's figure, or its bound."""
    match row.low, row.high:
        case None, high:
            return f"at most {high:g}"
        case low, None:
            return f"at least {low:g}"
        case low, high:
            return f"{low:g}" if low == high else f"{low:g} to {high:g}"
