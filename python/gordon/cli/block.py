"""`gordon block create`, `serve`, `stat`, `check`, `wear`."""

import json
from typing import Any

import click

from gordon.cli import options

image = click.argument("image")
socket = click.option(
    "--socket", metavar="PATH", help="The device that `gordon block serve --socket PATH` serves."
)


@click.group(cls=options.InOrder)
def block() -> None:
    """Block devices over NBD. Flash that keeps data: an image of raw NAND under Gordon's
    translation layer; what a client has flushed outlives any power cut. Or a plain file that
    answers as slowly as a hard disk.
    """


@block.command()
@image
@options.preset
@click.option("--capacity", metavar="SIZE", help="Bytes of the device: 8GB.")
@click.option(
    "--set", "set_values", multiple=True, metavar="KEY=VALUE", help="Change a value of the device."
)
@click.option("--super-page", metavar="SIZE", help="Size of a super-page: 64KiB.")
@click.option("--write-points", type=options.COUNT, metavar="N", help="Super-pages open to writes.")
@click.option(
    "--fault",
    "faults",
    multiple=True,
    metavar="KEY=VALUE",
    help="What goes wrong: program_failures, erase_failures, bit_errors, bit_error_growth, "
    "codeword, correctable.",
)
@click.option(
    "--fill",
    type=click.Choice(["metadata"]),
    help="metadata: every block closed, with its summary; the data are holes. To try how long a "
    "mount takes.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N", help="Of faults."
)
@options.json_out
def create(image: str, json_path: str | None, **given: Any) -> None:
    """Make an image of an erased array.

    The file is sparse: flash that holds nothing takes next to no room. Small writes do not cost a
    super-page each: 4 KiB are mapped, unless super_page.unit says otherwise.
    """
    from gordon import block as blocks
    from gordon.cli import output, terminal
    from gordon.cli.block_view import created

    output.check(json_path, used=[image])
    made = blocks.create(image, **given)
    if json_path is not None:
        output.write({json_path: json.dumps(made, indent=2) + "\n"})
    created(terminal.messages() if json_path == "-" else terminal.data(), image, made)


@block.command()
@image
@click.option("--socket", "sockets", multiple=True, metavar="PATH", help="At a unix socket.")
@click.option(
    "--listen", multiple=True, metavar="HOST:PORT", help="At a TCP port: 127.0.0.1:10809."
)
@click.option("--export", default="", metavar="NAME", help="Name of the export.")
@click.option("--read-only", is_flag=True, help="Refuse writes.")
@click.option(
    "--timing",
    type=click.Choice(["full", "real"]),
    default="full",
    show_default=True,
    help="real: answer when the simulated flash or disk would.",
)
@click.option(
    "--preset",
    metavar="NAME|FILE",
    help="Where the times come from: flash, or a disk (`gordon disk presets`) for a plain file.  "
    "[default: what the image was made from]",
)
@options.diskspecs
@click.option(
    "--set", "set_values", multiple=True, metavar="KEY=VALUE", help="Change one: timing.read=50us."
)
@options.disks
@click.option(
    "--backend",
    type=click.Choice(["file", "direct"]),
    default="file",
    show_default=True,
    help="direct: past the page cache, by io_uring where the kernel has it.",
)
@click.option("--tls-certificate", metavar="FILE", help="PEM: require TLS.")
@click.option("--tls-key", metavar="FILE", help="PEM: its key.")
@click.option("--tls-clients", metavar="FILE", help="PEM: let in who has a certificate of these.")
@click.option(
    "--insecure", is_flag=True, help="Listen beyond this machine without TLS, all the same."
)
@click.option(
    "--metrics",
    multiple=True,
    metavar="HOST:PORT",
    help="Tell /metrics (Prometheus) and /status here too; it is always told at PATH.stat.",
)
@click.option(
    "--clients", type=options.COUNT, metavar="N", help="The most clients.  [default: 128]"
)
@options.json_out
def serve(image: str, json_path: str | None, **given: Any) -> None:
    """Serve an image, or a plain file as a disk, to NBD clients.

    Until SIGTERM or Ctrl-C. One process, one image. A client's flush is on the disk below when it
    is answered. Killed, or the power cut, the next start makes good what was left.

    With the preset of a disk IMAGE is any file of whole sectors (`truncate -s 8G FILE` makes one)
    or a block device. It lies on the disk from its outer edge on.
    """
    from gordon import block as blocks
    from gordon.cli import output, terminal
    from gordon.cli.block_view import ready, stopped

    output.check(json_path, used=[image])
    if not (given["sockets"] or given["listen"]):
        raise click.UsageError("where? --socket PATH or --listen HOST:PORT")
    if (given["tls_certificate"] is None) != (given["tls_key"] is None):
        raise click.UsageError("--tls-certificate and --tls-key go together")
    if given["tls_clients"] and not given["tls_key"]:
        raise click.UsageError("--tls-clients needs --tls-certificate and --tls-key")
    console = terminal.messages()
    status = blocks.serve(image, ready=lambda where: ready(console, image, where), **given)
    if json_path is not None:
        output.write({json_path: json.dumps(status, indent=2) + "\n"})
    stopped(console, status)


@block.command()
@socket
@click.option("--url", metavar="URL", help="One at --metrics: http://127.0.0.1:9100.")
@click.option("--follow", is_flag=True, help="Go on: a line for each interval.")
@click.option(
    "--interval",
    type=click.FloatRange(0.01),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="With --follow.",
)
@options.json_out
def stat(
    socket: str | None, url: str | None, follow: bool, interval: float, json_path: str | None
) -> None:
    """Show what a device being served tells of itself.

    With --follow and --json: a line of JSON for each interval.
    """
    from gordon import block as blocks
    from gordon.cli import output, terminal
    from gordon.cli.block_view import follow as following
    from gordon.cli.block_view import status as show

    output.check(json_path)
    if (socket is None) == (url is None):
        raise click.UsageError("which device? --socket PATH, or --url URL")
    if follow:
        following(lambda: blocks.stat(socket, url), interval, json_path)
        return
    found = blocks.stat(socket, url)
    if json_path is not None:
        output.write({json_path: json.dumps(found, indent=2) + "\n"})
    if json_path != "-":
        show(terminal.data(), found)


@block.command()
@image
@options.json_out
@click.pass_context
def check(ctx: click.Context, image: str, json_path: str | None) -> None:
    """Look for damage in an image that is not being served. Nothing is changed.

    Exit status 1 where something is wrong.
    """
    from gordon import block as blocks
    from gordon.cli import output, terminal
    from gordon.cli.block_view import checked

    output.check(json_path, used=[image])
    report = blocks.check(image)
    if json_path is not None:
        output.write({json_path: json.dumps(report, indent=2) + "\n"})
    if json_path != "-":
        checked(terminal.data(), image, report)
    ctx.exit(0 if report["clean"] else 1)


@block.command()
@image
@click.option("--plot", metavar="FILE", help="Draw it: .png, .svg or .pdf.")
@options.json_out
def wear(image: str, plot: str | None, json_path: str | None) -> None:
    """Show how often the blocks of an image were erased."""
    from gordon import block as blocks
    from gordon.cli import output, terminal
    from gordon.cli.block_view import plot_wear, worn

    output.check(json_path, plot=plot, used=[image])
    report = blocks.wear(image)
    if plot is not None:
        plot_wear(plot, image, report)
    if json_path is not None:
        output.write({json_path: json.dumps(report, indent=2) + "\n"})
    if json_path != "-":
        worn(terminal.data(), image, report)
