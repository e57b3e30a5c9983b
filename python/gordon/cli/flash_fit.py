"""`gordon flash probe`, `fit`, `validate`."""

from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.devices import FlashFit, FlashProbes, RealStorage, StorageExtent
from gordon.options.outputs import Tables


@click.command(cls=command.Command)
@click.argument("target", required=False)
@command.of(FlashProbes, StorageExtent, RealStorage)
def probe(target: str | None, log: str, **given: Any) -> None:
    """Measure the bandwidth of a storage, for `gordon flash fit`.

    TARGET is a file, a block device, or a directory, in which a scratch file is made, filled and
    removed. An existing file or device is only read, unless --write. 80 points take a minute:
    sequential and random reads and writes of 4 KiB to 1 MiB, 1 to 64 of them outstanding, with
    direct I/O. No other program should use the storage meanwhile.
    """
    from gordon.cli import output, say
    from gordon.cli.progress import Progress
    from gordon.cli.storage_view import warn_of_loss
    from gordon.storage import fit as fits

    if (target is None) == (given["device"] is None):
        raise click.UsageError(
            "exactly one storage is needed: TARGET, or --preset for a simulated device"
        )
    if target is not None:
        options.check_linux()
    output.check(files=[log], used=[target])
    if target is not None and given["write"]:
        warn_of_loss(target, given["span"])
    with Progress("measuring" if given["device"] is None else "simulating") as progress:
        found = fits.probe(target, log, progress=progress.tick, **only_given(given))
    for warning in found["warnings"]:
        say(warning, kind="warning")
    click.echo(f"wrote {log}", err=True)


@click.command(cls=command.Command)
@click.argument("log")
@command.of(FlashFit)
@options.tables_out()
def fit(log: str, out: str | None, to: Tables, **given: Any) -> None:
    """Derive a flash device from the log of `gordon flash probe`.

    LOG may also be a table (CSV) with the columns pattern, size and depth and one of mb_s, iops and
    latency_us, such as those of a data sheet. The latency of the controller, the host link, the
    number of channels, and the times to read and to program a page are searched for, until a
    simulated device has the bandwidths of the log. Prints the values, their ranges, and the errors
    that are left.
    """
    from gordon.cli import output
    from gordon.cli.flash_fit_view import fitted
    from gordon.cli.progress import Progress
    from gordon.storage import fit as fits

    output.check(out, to=to, used=[log])
    with Progress("fitting") as progress:
        found = fits.fit(log, progress=progress.about, **only_given(given))
    files = [(out, found.toml)]
    output.finish(lambda console: fitted(console, found.report), files, to=to, result=found)


@click.command(cls=command.Command)
@click.argument("device", metavar="DEVICE")
@click.argument("target")
@command.of(StorageExtent, RealStorage)
@options.tables_out()
@options.on_linux
def validate(device: str, target: str, to: Tables, **given: Any) -> None:
    """Compare a simulated flash device with a storage.

    DEVICE is a preset or a TOML file, as `gordon flash fit` writes it. TARGET is measured as by
    `gordon flash probe`, and the device is simulated under the same requests.
    """
    from gordon.cli import output
    from gordon.cli.flash_fit_view import validated
    from gordon.cli.progress import Progress
    from gordon.cli.storage_view import warn_of_loss
    from gordon.storage import fit as fits

    output.check(to=to, used=[device, target])
    if given["write"]:
        warn_of_loss(target, given["span"])
    with Progress("measuring") as progress:
        found = fits.validate(device, target, progress=progress.tick, **only_given(given))
    output.finish(lambda console: validated(console, found.report), to=to, result=found)
