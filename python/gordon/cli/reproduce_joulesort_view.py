"""The screen of `gordon reproduce joulesort`."""

from gordon.cli import sort_systems_view
from gordon.cli.sort_systems_view import NONE
from gordon.cli.terminal import Column, Output
from gordon.reproduce.joulesort.report import Claimed, Estimate, Study

AGREES = {True: "yes", False: "no", None: NONE}


def show(console: Output, report: Study) -> None:
    """A row for each system, the plateaus, and the paper's claims."""
    sort_systems_view.systems(console, report)
    _claims(console, report["claims"])
    sort_systems_view.printed(console, report)


def _claims(console: Output, found: Claimed) -> None:
    """The estimates of the paper, and its statements."""
    ideal, balanced = found["ideal"], found["balanced"]
    swapped = ideal["swapped"]
    console.text(
        f"section 4.2.2, ideal system: paper about {ideal['paper_records_per_j']:,.0f} records/J; "
        f"model {_score(ideal)}; {swapped['from']} as measured with the other processor "
        f"{swapped['records_per_j']:,.0f}"
    )
    console.text(
        f'section 4.2.2, balanced system: paper "at least {balanced["paper_gain"]:.0%} better", '
        f"which gives {balanced['gain_gives_records_per_j']:,.0f} records/J, or about "
        f"{balanced['paper_records_per_j']:,.0f}, which is {balanced['gain_needed']:.0%} better; "
        f"model {_score(balanced)}"
    )
    statements = found["statements"]
    console.table(
        [
            Column("section", [one["where"] for one in statements]),
            Column("the paper says", [one["paper"] for one in statements], wraps=True),
            Column("its tables or the model say", [one["here"] for one in statements], wraps=True),
            Column("agrees", [AGREES[one["agrees"]] for one in statements]),
        ]
    )


def _score(claim: Estimate) -> str:
    score = claim["records_per_j"]
    return NONE if score is None else f"{score:,.0f}"
