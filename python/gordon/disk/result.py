"""What a run on a simulated hard disk comes to."""

from gordon.results import Run


class Result(Run):
    """One run: `report` is the summary, tables are Arrow columns."""
