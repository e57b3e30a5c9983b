"""The screen of a comparison of devices of all kinds."""

from typing import TYPE_CHECKING

from gordon.cli import warn
from gordon.cli.terminal import Output, of_entries
from gordon.compare.entries import COLUMNS, SPARE
from gordon.report.entries import known

if TYPE_CHECKING:
    from gordon.compare.compared import Compared


def show(console: Output, report: "Compared") -> None:
    """The sentence, a row for each device, and the warnings on stderr."""
    devices = report["devices"]
    console.text(report["sentence"])
    console.table(
        of_entries(
            known(COLUMNS, devices),
            devices,
            spare={key: order for order, key in enumerate(SPARE, 1)},
        )
    )
    warn(report["warnings"])
