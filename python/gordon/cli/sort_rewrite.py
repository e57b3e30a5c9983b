"""`gordon sort rewrite`."""

import json

import click

from gordon.cli import options
from gordon.cli.sort_data import number


def _sizes(ctx: click.Context, param: click.Parameter, text: str) -> tuple[str, ...]:
    """Sizes with commas between."""
    return tuple(text.split(","))


@click.command()
@click.option(
    "--export",
    required=True,
    metavar="SOCKET",
    help="The device that `gordon block serve --socket SOCKET` serves; --timing real there.",
)
@click.option(
    "--folder",
    default=".",
    show_default=True,
    metavar="DIR",
    help="On the file system of that device; what is made there is gone afterwards.",
)
@click.option(
    "--records",
    callback=number(1, 64),
    default="2M",
    show_default=True,
    metavar="N",
    help="Of the file that is made to be sorted.",
)
@click.option(
    "--transfer",
    "transfers",
    default="1MiB,8MiB",
    show_default=True,
    callback=_sizes,
    metavar="SIZE,SIZE...",
    help="Transfers of input and output.",
)
@click.option(
    "--rounds", type=click.IntRange(1), default=3, show_default=True, metavar="N", help="Of all."
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Of the order.",
)
@options.json_out
@options.report_out
def rewrite(
    export: str,
    folder: str,
    records: int,
    transfers: tuple[str, ...],
    rounds: int,
    seed: int,
    json_path: str | None,
    report: str | None,
) -> None:
    """Show what overwriting an output costs on a served device, and why.

    Figure 10 of the JouleSort paper, seen from inside the translation layer: the last sort's output
    is overwritten, or deleted and made anew with the device told of it or not, in turn. As root,
    for discards are switched by remounting.
    """
    from gordon.cli import output, terminal
    from gordon.cli.sort_rewrite_view import show
    from gordon.sort.tune.rewriting import rewriting

    output.check(json_path, report)
    messages = terminal.messages()
    found = rewriting(
        export,
        folder,
        records=records,
        transfers=transfers,
        rounds=rounds,
        seed=seed,
        tell=messages.text,
    )
    files = {}
    if json_path is not None:
        files[json_path] = json.dumps(found, indent=1) + "\n"
    if report is not None:
        from gordon.report.rewriting import page

        files[report] = page(found)
    output.write(files)
    silent = output.STDOUT in (json_path, report)
    show(messages if silent else terminal.data(), found)
