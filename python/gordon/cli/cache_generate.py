"""`gordon cache generate`."""

import re
from typing import Any

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all
from gordon.options import only_given

_SCALES = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}


def _count(ctx: click.Context, param: click.Parameter, text: str) -> int:
    """A number of things: `10M`, `250k`, `10_000`."""
    match = re.fullmatch(r"([0-9_]+(?:\.[0-9]+)?)([kMG]?)", text)
    number = float(match[1]) * _SCALES[match[2]] if match else 0
    if number < 1 or number != int(number):
        what = f"{text!r} is not a number of at least 1, as in 10M or 250k"
        raise click.BadParameter(what, ctx, param)
    return int(number)


@click.command()
@click.argument("workload", type=click.Choice(["surge", "specweb99"]))
@click.option(
    "-o",
    "--output",
    "--out",
    required=True,
    metavar="FILE",
    help="Trace to write, one Parquet file that must not exist.",
)
@click.option(
    "--files",
    metavar="SIZE",
    help="Total size of the files.  [default: 1.5GB for surge, 1.8GB for specweb99]",
)
@click.option(
    "--requests",
    callback=_count,
    default="1M",
    show_default=True,
    metavar="N",
    help="Number of requests: 10M, 250k.",
)
@click.option(
    "--clients",
    type=options.COUNT,
    default=24,
    show_default=True,
    metavar="N",
    help="Number of clients, each with one request at a time.",
)
@options.seed("The same seed gives the same trace.")
@options.json_out
def generate(workload: str, output: str, json_path: str | None, **given: Any) -> None:
    """Generate the requests of a web server as a block trace.

    surge: users as modelled by Barford and Crovella (SIGMETRICS 1998), with half of the requests
    for one page of 16 KiB, as in the FlashCache paper. specweb99: SPEC's files and requests, 70 %
    static and 30 % dynamic.

    Each file starts on a page of 4 KiB, and each request reads its file whole; a POST appends to a
    log that follows the files. The same seed gives the same trace. The trace is replayed like any
    block trace: in pages, or with --objects in whole files.
    """
    from gordon.cache import web
    from gordon.cli import output as outputs
    from gordon.cli import terminal
    from gordon.cli.progress import Progress
    from gordon.human import duration, short

    outputs.check(json_path, files=[output])
    with Progress("generating") as progress:
        made = web.generate(workload, output, progress=progress.tick, **only_given(given))
    if json_path is not None:
        write_all({json_path: made})
    silent = json_path == STDOUT
    console = terminal.messages() if silent else terminal.data()
    directories = f" in {made['directories']:,} directories" if made["directories"] else ""
    console.text(
        f"{workload}, seed {made['config']['seed']}: {made['files']:,} files{directories}, "
        f"{short(made['file_bytes'], 'B')}; {made['requests']:,} requests of "
        f"{made['config']['clients']} clients for {short(made['bytes'], 'B')} in "
        f"{duration(made['duration_s'])}"
    )
    console.text(
        f"{made['files_asked']:,} files requested, mean {short(made['mean_bytes'], 'B')} a "
        f"request; the most popular fifth of all files gets {made['top_fifth']:.1%} of the "
        f"requests, the most popular file {made['top_file']:.1%}"
    )
    if len(made["kinds"]) > 1:
        kinds = (f"{k['kind']} {k['requests'] / made['requests']:.2%}" for k in made["kinds"])
        console.text(", ".join(kinds))
    console.text(f"{output}: {made['rows']:,} rows, offsets up to {short(made['span_bytes'], 'B')}")
