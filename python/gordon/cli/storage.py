"""`gordon storage characterise`."""

from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.devices import (
    BandwidthPlot,
    RealStorage,
    SimulatedStorage,
    StorageLoad,
    StoragePreset,
)
from gordon.options.outputs import Tables


@click.group(cls=options.InOrder)
def storage() -> None:
    """Measure storage: a real path or device, or a simulated one."""


@storage.command()
@click.argument("target", required=False)
@command.of(StoragePreset, StorageLoad, RealStorage, SimulatedStorage)
@options.tables_out()
@options.report_out
@command.of(BandwidthPlot)
def characterise(
    target: str | None, to: Tables, report: str | None, plot: str | None, **given: Any
) -> None:
    """Measure bandwidth against transfer size and queue depth.

    TARGET is a file, a block device, or a directory, in which a scratch file is made, filled and
    removed. An existing file or device is only read, unless --write. All I/O is direct, past the
    page cache; the time of writes includes a final flush. With --preset, storage is simulated.
    """
    from gordon import storage as api
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.storage_view import show, warn_of_loss
    from gordon.storage.page import render

    if given["preset"] is None:
        options.check_linux()
    output.check(to=to, report=report, plot=plot, used=[target])
    if target is not None and given["write"]:
        warn_of_loss(target, given["span"])
    with Progress("measuring" if given["preset"] is None else "simulating") as progress:
        result = api.characterise(target, progress=progress.tick, **only_given(given))
    output.finish(
        lambda console: show(console, result.report),
        [(report, lambda: render(result.report))],
        [(plot, result.plot)],
        to=to,
        result=result,
    )
