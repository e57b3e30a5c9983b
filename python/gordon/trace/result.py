"""Results of recordings and conversions."""

from typing import ClassVar

from gordon import fields


class RecordResult(fields.RecordResult):
    """A recorded trace."""

    SAYS: ClassVar = ("exit_status",)


class ConvertResult(fields.ConvertResult):
    """A converted trace of requests."""

    def says(self) -> str:
        written = self["requests"] - self["not_written"]
        return f"{written} requests from {self['from']} to {self['to']}"


class ActivityResult(fields.ActivityResult):
    """Converted traces of the activity of hosts."""

    ROWS: ClassVar = "hosts"

    def says(self) -> str:
        return f"{len(self['hosts'])} hosts"


class AnonymiseResult(fields.AnonymiseResult):
    """A trace whose names were replaced."""

    def says(self) -> str:
        return f"{self['traces']} traces, {sum(self['replaced'].values())} names replaced"
