"""Comparisons with papers."""

from dataclasses import dataclass
from typing import Annotated

from gordon.options.kinds import DIR, Text


@dataclass(frozen=True, kw_only=True)
class Compared:
    """How much of a comparison is done."""

    figure: Annotated[str | None, Text("NAME")] = None
    """Only this table, figure or section of the paper: "table 6", "section 6.3", or 6 for Figure
    6."""
    quick: bool = False
    """Leave out repeats of runs, nine tenths of a generated load, and what is measured on a server,
    to take two minutes at most."""
    pages: Annotated[str | None, DIR] = None
    """Write a page for each table and figure, and index.html with the summary, into this folder."""
