"""The screen of `gordon reproduce flashcache`."""

from gordon.cli.terminal import Column, Output
from gordon.reproduce import PaperResult
from gordon.reproduce.page import ours, printed


def show(console: Output, result: PaperResult) -> None:
    """A line for each comparison, and the reason where the figures differ."""
    items = [*result["items"], *result["not_compared"]]
    console.text(
        f"SURGE, {result['requests']:,} requests; values are modelled unless a server is named"
    )
    console.table(
        [
            Column("of the paper", [item["table"] for item in items]),
            Column("what", [item["what"] for item in items], wraps=True),
            Column("paper", [printed(item) for item in items], right=True),
            Column("ours", [ours(item) for item in items], right=True),
            Column("agrees", ["yes" if item["agrees"] else "no" for item in items]),
            Column(
                "reason",
                ["" if item["agrees"] else item["reason"] for item in items],
                wraps=True,
                spare=1,
            ),
        ]
    )
