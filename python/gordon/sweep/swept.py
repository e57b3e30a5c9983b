"""The result of a sweep."""

from typing import ClassVar

from gordon import fields
from gordon.untyped import Spec


class SweepResult(fields.SweepResult):
    """The result of a sweep: a row for each configuration."""

    ROWS: ClassVar = "rows"

    def says(self) -> str:
        front = f", {len(self['pareto'])} on the front" if self["pareto"] else ""
        failed = f", {self['failed']} failed" if self["failed"] else ""
        return f"{self['command']}, {len(self['rows'])} configurations{front}{failed}"

    def html(self) -> str:
        from gordon.sweep.page import render

        return render(self.report)

    def _figures(self) -> dict[str, Spec]:
        from gordon.sweep.page import drawn

        return drawn(self.report)
