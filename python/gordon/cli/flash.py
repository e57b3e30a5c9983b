"""`gordon flash replay`, `bench`, `wa`, `compare`, `presets`, `show`."""

from typing import Any

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all


@click.group(cls=options.InOrder)
def flash() -> None:
    """Simulate a flash device: its array, its translation layer, its wear. Every value is
    modelled.
    """


@flash.command()
@click.argument("trace")
@options.preset
@options.device
@options.trace
@options.host
@options.requests_out
@options.checkpoints
@options.json_out
@options.report_out
@options.parquet_out
def replay(trace: str, **given: Any) -> None:
    """Replay a block trace.

    TRACE is a folder of `gordon trace` or a file of any of `gordon trace formats`. Requests arrive
    at the times of the trace (in a disksim-validate trace, after its gaps), unless --closed-loop,
    --gaps or --speed is given. Data that the trace reads before it writes them are mapped before
    the run.
    """
    from gordon import flash
    from gordon.cli import flash_view, runs

    runs.run(flash.replay, trace, given, flash_view.show)


@flash.command()
@click.option(
    "--pattern", required=True, type=click.Choice(options.PATTERNS), help="Access pattern."
)
@options.bench
@options.pair_order
@options.preset
@options.device
@options.host
@options.requests_out
@options.checkpoints
@options.json_out
@options.report_out
@options.parquet_out
def bench(pattern: str, **given: Any) -> None:
    """Run a pattern, without a trace.

    The default is a closed loop with 32 requests outstanding. Reads are of data written before the
    run. A write is acknowledged when it is in the write buffer of the device, if it has one, and
    otherwise when it is programmed.
    """
    from gordon import flash
    from gordon.cli import flash_view, runs

    runs.run(flash.bench, pattern, given, flash_view.show)


@flash.command()
@click.argument("words", nargs=-1, required=True, metavar="[TRACE] DEVICE DEVICE...")
@click.option(
    "--pattern", type=click.Choice(options.PATTERNS), help="Access pattern, in place of a trace."
)
@options.bench
@options.device
@options.trace
@options.host
@options.json_out
@options.report_out
def compare(words: tuple[str, ...], **given: Any) -> None:
    """Compare devices under the same load.

    A DEVICE is a preset or a TOML file; the load is a TRACE, or a pattern with --pattern. Ratios
    are to the first device. One device runs per core.
    """
    from gordon import flash
    from gordon.cli import flash_view, runs

    runs.compare(flash.compare, words, given, flash_view.compared)


@flash.command()
@click.option(
    "--policy",
    type=click.Choice(options.POLICIES),
    default="greedy",
    show_default=True,
    help="Victim selection of garbage collection.",
)
@click.option(
    "--rho",
    type=options.FRACTION,
    default=0.8,
    show_default=True,
    metavar="SHARE",
    help="Logical pages / physical pages of the closed blocks: 1 - over-provisioning.",
)
@click.option(
    "--pages-per-block",
    type=options.COUNT,
    default=64,
    show_default=True,
    metavar="N",
    help="Number of pages per block.",
)
@click.option(
    "--blocks",
    type=options.COUNT,
    default=2048,
    show_default=True,
    metavar="N",
    help="Number of closed blocks.",
)
@click.option(
    "--choices", type=options.COUNT, metavar="D", help="d-choices: number of candidate blocks."
)
@click.option(
    "--separate",
    is_flag=True,
    help="Write copies of garbage collection through a separate write point.",
)
@click.option(
    "--hot-space",
    type=options.SHARE,
    metavar="SHARE",
    help="Fraction of the pages that is hot.  [default: uniform writes]",
)
@click.option(
    "--hot-share",
    type=options.SHARE,
    metavar="SHARE",
    help="Fraction of the writes that are to hot pages.",
)
@options.seed("of the writes.")
@options.json_out
def wa(json_path: str | None, **given: Any) -> None:
    """Simulate the write amplification of random writes.

    The writes are of single pages, in the steady state. The translation layer itself is simulated;
    the theoretical value, if any, is printed for comparison only.
    """
    from gordon import flash
    from gordon.cli import output, terminal
    from gordon.cli.flash_view import amplified
    from gordon.cli.progress import Progress

    output.check(json_path)
    with Progress("writing") as progress:
        result = flash.wa(progress=progress.tick, **given)
    if json_path is not None:
        write_all({json_path: result})
    silent = json_path == STDOUT
    amplified(terminal.messages() if silent else terminal.data(), result)


@flash.command()
def presets() -> None:
    """List the presets of flash devices."""
    from gordon import flash
    from gordon.cli.terminal import Column, data
    from gordon.quantity import value

    loaded = [flash.load(name) for name in flash.names()]
    data().table(
        [
            Column("name", flash.names()),
            Column("exports", [str(value(part["capacity"])) for part in loaded], right=True),
            Column("summary", [part["summary"] for part in loaded], wraps=True),
        ]
    )


@flash.command()
@click.argument("name")
def show(name: str) -> None:
    """Print the file of a preset, as a template for your own."""
    from gordon import flash

    click.echo(flash.text(name), nl=False)
