"""`gordon block create`, `serve`, `stat`, `check`, `export`, `wear`."""

from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.cli.replace import replaced
from gordon.options import command, only_given
from gordon.options.blocks import (
    Addresses,
    Following,
    Image,
    Repair,
    Served,
    Serving,
    Timing,
    TimingValues,
    WearPlot,
)
from gordon.options.devices import Array, DiskDevice, FlashPreset
from gordon.options.outputs import Force, Tables

if TYPE_CHECKING:
    from gordon.cli.terminal import Output

image = click.argument("image")


@click.group(cls=options.InOrder)
def block() -> None:
    """Create, serve and check block devices over NBD.

    A device is either a flash image, which holds raw NAND under Gordon's flash translation layer
    and keeps all flushed data over a power cut, or a plain file served with the timing of a hard
    disk.
    """


@block.command()
@image
@command.of(FlashPreset)
@command.of(Image, Force)
@options.json_out
@options.on_linux
def create(image: str, force: bool, json_path: str | None, **given: Any) -> None:
    """Create the image of an erased flash array.

    The file is sparse: erased flash takes almost no space. The mapping unit is 4 KiB unless
    super_page.unit is set, so that a small write does not cost a whole super-page.
    """
    from gordon import block as blocks
    from gordon.cli import output
    from gordon.cli.block_view import created

    output.check(json_path, used=[image])
    with replaced(image, force=force):
        made = blocks.create(image, **only_given(given))
    output.finish(lambda console: created(console, image, made.report), [(json_path, made)])


@block.command()
@image
@command.of(Addresses, Timing)
@command.of(DiskDevice, only=["diskspecs"])
@command.of(TimingValues, Array, Serving)
@options.json_out
@options.on_linux
def serve(image: str, json_path: str | None, **given: Any) -> None:
    """Serve an image, or a plain file as a disk, to NBD clients.

    Runs until SIGTERM or Ctrl-C. One process serves one image. A flush is answered when the data
    are durable in the image. After a kill or a power cut the next start recovers the image.

    With the preset of a disk IMAGE is any file of whole sectors (`truncate -s 8G FILE` makes one)
    or a block device. The file starts at the outer edge of the disk.
    """
    from gordon import block as blocks
    from gordon.cli import output, terminal
    from gordon.cli.block_view import ready, stopped

    output.check(json_path, used=[image])
    if not (given["sockets"] or given["listen"]):
        raise click.UsageError("an address is missing: give --socket PATH or --listen HOST:PORT")
    if (given["tls_certificate"] is None) != (given["tls_key"] is None):
        raise click.UsageError("--tls-certificate and --tls-key need each other")
    if given["tls_clients"] and not given["tls_key"]:
        raise click.UsageError("--tls-clients needs --tls-certificate and --tls-key")
    console = terminal.messages()
    status = blocks.serve(
        image, ready=lambda where: ready(console, image, where), **only_given(given)
    )
    output.finish(lambda _: stopped(console, status.report), [(json_path, status)])


@block.command()
@command.of(Served, Following)
@options.json_out
@options.on_linux
def stat(
    socket: str | None,
    url: str | None,
    follow: bool,
    interval: float | None,
    json_path: str | None,
) -> None:
    """Show the statistics of a device that is being served.

    With --follow and --json: one line of JSON per interval.
    """
    from gordon import block as blocks
    from gordon.cli import output
    from gordon.cli.block_view import follow as following
    from gordon.cli.block_view import status as show

    output.check(json_path)
    if (socket is None) == (url is None):
        raise click.UsageError("exactly one of --socket PATH and --url URL is needed")
    if interval is not None and not follow:
        raise click.UsageError("--interval needs --follow")
    if follow:
        seconds = interval or Following.interval
        following(lambda: blocks.stat(socket, url).report, seconds, json_path)
        return
    found = blocks.stat(socket, url)
    output.finish(lambda console: show(console, found.report), [(json_path, found)], is_quiet=True)


@block.command()
@image
@command.of(Repair)
@options.json_out
@click.pass_context
@options.on_linux
def check(ctx: click.Context, image: str, repair: bool, json_path: str | None) -> None:
    """Check an image for damage, and repair it with --repair.

    The image must not be in use by a server. Only --repair changes it. Exit status 1 if the image
    is damaged.
    """
    from gordon import block as blocks
    from gordon.cli import output
    from gordon.cli.block_view import checked, repaired

    output.check(json_path, used=[image])
    made = blocks.repair(image) if repair else None
    report = blocks.check(image).report if made is None else made["after"]
    result = report if made is None else report | {"repair": made}

    def show(console: "Output") -> None:
        if made is not None:
            repaired(console, image, made.report)
        checked(console, image, report)

    output.finish(show, [(json_path, result)], is_quiet=True)
    ctx.exit(0 if report["clean"] else 1)


@block.command()
@image
@click.argument("out")
@command.of(Force)
@options.json_out
@options.on_linux
def export(image: str, out: str, force: bool, json_path: str | None) -> None:
    """Copy an image, damaged or not, to the raw file OUT. The image is not changed.

    Data that cannot be read, or cannot be proved to be current, becomes a hole in OUT. OUT.map
    lists the holes in the format of GNU ddrescue.
    """
    from gordon import block as blocks
    from gordon.cli import output
    from gordon.cli.block_view import exported
    from gordon.cli.progress import Part

    output.check(json_path, used=[image, out])
    with replaced(out, f"{out}.map", force=force, read=[image]), Part("export") as progress:
        made = blocks.export(image, out, progress.tick)
    output.finish(lambda console: exported(console, out, made.report), [(json_path, made)])


@block.command()
@image
@command.of(WearPlot)
@options.tables_out()
@options.on_linux
def wear(image: str, plot: str | None, to: Tables) -> None:
    """Show how often the blocks of an image were erased."""
    from gordon import block as blocks
    from gordon.cli import output
    from gordon.cli.block_view import plot_wear, worn

    output.check(to=to, plot=plot, used=[image])
    report = blocks.wear(image)
    output.finish(
        lambda console: worn(console, image, report.report),
        made=[(plot, lambda path: plot_wear(path, image, report.report))],
        is_quiet=True,
        to=to,
        result=report,
    )
