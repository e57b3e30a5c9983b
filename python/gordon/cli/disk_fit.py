"""`gordon disk probe`, `fit`."""

from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.devices import DiskFit, Probes
from gordon.options.outputs import Tables


@click.command(cls=command.Command)
@click.argument("target", required=False)
@command.of(Probes)
def probe(target: str | None, log: str, **given: Any) -> None:
    """Measure a disk with timed requests, for `gordon disk fit`.

    TARGET is a block device, or a file that fills one. It is read with direct I/O, one request at a
    time, for some minutes. Only --write writes to it. No other program should use the disk
    meanwhile.
    """
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.storage_view import warn_of_loss
    from gordon.disk import fit as fits

    if (target is None) == (given["device"] is None and given["diskspecs"] is None):
        raise click.UsageError(
            "exactly one disk is needed: TARGET, or --preset or --diskspecs for a simulated disk"
        )
    if target is not None and (given["lateness"] is not None or given["set"]):
        raise click.UsageError("--lateness and --set apply to simulated disks only")
    if target is not None:
        options.check_linux()
    output.check(files=[log], used=[target])
    if target is not None and given["write"]:
        warn_of_loss(target, None)
    with Progress("probing") as progress:
        fits.probe(target, log, progress=progress.about, **only_given(given))
    click.echo(f"wrote {log}", err=True)


@click.command(cls=command.Command)
@click.argument("log")
@command.of(DiskFit)
@options.tables_out()
def fit(log: str, out: str | None, plot: str | None, to: Tables, **given: Any) -> None:
    """Derive a disk's parameters from the log of `gordon disk probe`.

    Prints the seek curve, revolution, zones, skews, heads, read cache and interface, and how
    closely a simulated disk with these parameters follows the probed one.
    """
    from gordon.cli import output
    from gordon.cli.fit_view import draw, show
    from gordon.cli.progress import Progress
    from gordon.disk import fit as fits

    output.check(out, to=to, plot=plot, used=[log])
    with Progress("fitting") as progress:
        fitted = fits.fit(log, progress=progress.about, **only_given(given))
    plots = [(plot, lambda path: draw(path, fitted))]
    output.finish(
        lambda console: show(console, fitted), [(out, fitted.toml)], plots, to=to, result=fitted
    )
