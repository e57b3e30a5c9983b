"""Comparisons with papers."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Compared:
    """How much of a comparison is done."""

    quick: bool = False
    """Leave out repeats of runs and nine tenths of a generated load, to take two minutes at
    most."""
