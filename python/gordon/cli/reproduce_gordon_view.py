"""The screen of `gordon reproduce gordon`."""

from gordon.cli.terminal import Column, Output
from gordon.reproduce import PaperResult
from gordon.reproduce.designs import CLAIMS
from gordon.reproduce.page import ours, printed
from gordon.reproduce.row import MEAN, NEAR
from gordon.reproduce.suite import agreement


def show(console: Output, result: PaperResult) -> None:
    """How many figures agree, and the claims of the mean of the jobs."""
    items = [*result["items"], *result["not_compared"]]
    found = agreement(items)
    console.table(
        [
            Column("", [one.table for one in found]),
            Column("figures of the paper", [str(one.figures) for one in found], right=True),
            Column("agree", [str(one.agree) for one in found], right=True),
            Column(f"within {NEAR:g}x", [str(one.near) for one in found], right=True),
        ]
    )
    claims = [item for item in items if item["table"] == CLAIMS and item["job"] == MEAN]
    if not claims:
        return
    console.table(
        [
            Column("the mean of the jobs", [item["what"] for item in claims]),
            Column("paper", [printed(item) for item in claims], right=True),
            Column("ours", [ours(item) for item in claims], right=True),
            Column("agrees", ["yes" if item["agrees"] else "no" for item in claims]),
        ]
    )
