"""Results of functions on images and served devices."""

from typing import ClassVar

from gordon import fields


class CreateResult(fields.CreateResult):
    """The properties of a new image."""


class StatusResult(fields.StatusResult):
    """The status of a served device."""


class CheckResult(fields.CheckResult):
    """The check of an image."""

    SAYS: ClassVar = ("clean", "errors")


class RepairResult(fields.RepairResult):
    """The repair of an image."""


class ExportResult(fields.ExportResult):
    """The copy of the readable data of an image."""

    SAYS: ClassVar = ("bytes", "bad_bytes", "map")


class WearResult(fields.WearResult):
    """The erases of the blocks of an image."""

    ROWS: ClassVar = "blocks"
    SAYS: ClassVar = ("erases", "least", "most")
