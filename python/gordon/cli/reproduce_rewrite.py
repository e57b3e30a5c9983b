"""`gordon reproduce rewrite`."""

from typing import Any

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all
from gordon.options import command


def _sizes(ctx: click.Context, param: click.Parameter, text: str) -> tuple[str, ...]:
    """Sizes with commas between."""
    return tuple(text.split(","))


@click.command()
@click.option(
    "--export",
    required=True,
    metavar="SOCKET",
    help="Socket of the device served by `gordon block serve --socket SOCKET --timing real`.",
)
@click.option(
    "--folder",
    default=".",
    show_default=True,
    metavar="DIR",
    help="Folder on the file system of that device. The files made there are removed afterwards.",
)
@click.option(
    "--records",
    type=command.Amount(1, 64),
    default="2M",
    show_default=True,
    metavar="N",
    help="Number of records of the generated file.",
)
@click.option(
    "--transfer",
    "transfers",
    default="1MiB,8MiB",
    show_default=True,
    callback=_sizes,
    metavar="SIZE,SIZE...",
    help="Transfer size of input and output.",
)
@click.option(
    "--rounds",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    metavar="N",
    help="Number of rounds; each sorts once per transfer size and way.",
)
@options.seed("of the order within a round.", default=0)
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
    """Measure the cost of overwriting an output, and its cause.

    Repeats figure 10 of the JouleSort paper on a served device, with the telemetry of its flash
    translation layer: each round overwrites the old output, deletes it without TRIM, and deletes it
    with TRIM, in random order. It needs root, as it remounts the file system to switch discards.
    """
    from gordon.cli import output, terminal
    from gordon.cli.reproduce_rewrite_view import show
    from gordon.reproduce.rewriting import rewriting

    output.check(json_path, report=report)
    messages = terminal.messages()
    found = rewriting(
        export,
        folder,
        records=records,
        transfers=transfers,
        rounds=rounds,
        seed=seed,
        notify=messages.text,
    )
    files: dict[str, Any] = {}
    if json_path is not None:
        files[json_path] = found
    if report is not None:
        from gordon.reproduce.rewriting_page import page

        files[report] = page(found)
    write_all(files)
    silent = STDOUT in (json_path, report)
    show(messages if silent else terminal.data(), found)
