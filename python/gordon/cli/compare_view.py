"""The screen of a comparison of devices of all kinds."""

from typing import TYPE_CHECKING

from gordon.cli import warn
from gordon.cli.terminal import Output, of_entries
from gordon.compare.entries import COLUMNS, SPARE
from gordon.report.entries import known

if TYPE_CHECKING:
    from gordon.compare import Result


def show(console: Output, result: "Result") -> None:
    """The sentence, a row for each device, and the warnings on stderr."""
    devices = result.report["devices"]
    console.text(result.report["sentence"])
    console.table(
        of_entries(
            known(COLUMNS, devices),
            devices,
            spare={key: order for order, key in enumerate(SPARE, 1)},
        )
    )
    warn(result.report["warnings"])
