"""`gordon storage characterise`."""

from typing import Any

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all
from gordon.options import only_given


@click.group(cls=options.InOrder)
def storage() -> None:
    """Measure storage: a real path or device, or a simulated one."""


def _words(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Words with commas between."""
    return tuple(word.strip() for word in text.split(",")) if text is not None else None


def _numbers(ctx: click.Context, param: click.Parameter, text: str | None) -> Any:
    """Numbers with commas between."""
    if text is None:
        return None
    try:
        found = tuple(int(word) for word in text.split(","))
    except ValueError:
        found = ()
    if not found or min(found) < 1:
        raise click.BadParameter(
            f"`{text}` is not a list of whole numbers above zero, separated by commas", ctx, param
        )
    return found


@storage.command()
@click.argument("target", required=False)
@click.option(
    "--preset",
    metavar="NAME|FILE",
    help="Simulated storage in place of TARGET: `gordon disk presets`, `gordon flash presets`, "
    "or a TOML file.",
)
@click.option(
    "--sizes",
    metavar="SIZES",
    help="Transfer sizes: the powers of two of a range, or a list with commas.  [default: "
    "4KiB..64MiB]",
)
@click.option(
    "--depths",
    metavar="N,N...",
    callback=_numbers,
    help="Numbers of outstanding requests.  [default: 1,32]",
)
@click.option(
    "--patterns",
    metavar="P,P...",
    callback=_words,
    help="Patterns: sequential-read, random-read, sequential-write, random-write.  [default: "
    "all that are allowed]",
)
@click.option(
    "--span",
    metavar="SIZE",
    help="Size of the address range of the requests.  [default: the whole target; 1 GiB for a "
    "scratch file or empty flash]",
)
@click.option(
    "--bytes",
    metavar="SIZE",
    help="Maximum bytes moved per point, but at least one full queue.  [default: 4GiB; "
    "simulated 256MiB]",
)
@click.option(
    "--seconds", type=float, metavar="S", help="Real storage: seconds per point.  [default: 0.5]"
)
@click.option(
    "--write",
    is_flag=True,
    help="Real storage: write to an existing file or device. DESTROYS ITS DATA.",
)
@options.disks
@click.option(
    "--precondition",
    type=options.SHARE,
    metavar="FRACTION",
    help="Simulated flash: fraction of the capacity to map before the run, in the steady state "
    "of random overwrites.",
)
@click.option(
    "--set",
    "set_values",
    multiple=True,
    metavar="KEY=VALUE",
    help="Simulated: override a value of the device.",
)
@options.seed("of the request addresses.")
@options.json_out
@click.option(
    "--plot", metavar="PATH", help="Plot bandwidth against transfer size: .png, .svg or .pdf."
)
def characterise(target: str | None, json_path: str | None, plot: str | None, **given: Any) -> None:
    """Measure bandwidth against transfer size and queue depth.

    TARGET is a file, a block device, or a directory, in which a scratch file is made, filled and
    removed. An existing file or device is only read, unless --write. All I/O is direct, past the
    page cache; the time of writes includes a final flush. With --preset, storage is simulated.
    """
    from gordon import storage as api
    from gordon.cli import output, terminal
    from gordon.cli.progress import Progress
    from gordon.cli.storage_view import show, warn_of_loss

    output.check(json_path, plot=plot, used=[target])
    if target is not None and given["write"]:
        warn_of_loss(target, given["span"])
    with Progress("measuring" if given["preset"] is None else "simulating") as progress:
        result = api.characterise(target, progress=progress.tick, **only_given(given))
    if json_path is not None:
        write_all({json_path: result.report})
    silent = json_path == STDOUT
    show(terminal.messages() if silent else terminal.data(), result.report)
    if plot is not None:
        result.plot(plot)
    for path in (plot, None if silent else json_path):
        if path is not None:
            click.echo(f"wrote {path}", err=True)
