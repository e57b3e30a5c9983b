"""`gordon flash`: its commands but those of a fit."""

from typing import Any

import click

from gordon.cli import flash_fit, options
from gordon.options import command, completion, only_given
from gordon.options.devices import Amplification, Checkpoints, FlashDevice, FlashPreset
from gordon.options.loads import BenchLoad, Host, Pattern, PatternOrTrace, TraceLoad
from gordon.options.outputs import FlashTables, Tables


@click.group(cls=options.InOrder)
def flash() -> None:
    """Simulate a flash device: its array, its translation layer, its wear. Every value is
    modelled.
    """


@flash.command()
@click.argument("trace")
@command.of(FlashPreset, FlashDevice, TraceLoad, Host, Checkpoints)
@options.tables_out(FlashTables)
@options.report_out
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
@command.of(Pattern, BenchLoad, FlashPreset, FlashDevice)
@command.of(Host, Checkpoints, without=["queue_by"])
@options.tables_out(FlashTables)
@options.report_out
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
@command.of(PatternOrTrace, BenchLoad, without=["order"])
@command.of(FlashDevice, TraceLoad)
@command.of(Host, without=["requests_out"])
@options.tables_out()
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
@command.of(Amplification)
@options.json_out
def wa(json_path: str | None, **given: Any) -> None:
    """Simulate the write amplification of random writes.

    The writes are of single pages, in the steady state. The translation layer itself is simulated;
    the theoretical value, if any, is printed for comparison only.
    """
    from gordon import flash
    from gordon.cli import output
    from gordon.cli.flash_view import amplified
    from gordon.cli.progress import Progress

    output.check(json_path)
    with Progress("writing") as progress:
        result = flash.wa(progress=progress.tick, **only_given(given))
    output.finish(lambda console: amplified(console, result.report), [(json_path, result)])


@flash.command()
@options.tables_out()
def presets(to: Tables) -> None:
    """List the presets of flash devices."""
    from gordon import _core, flash
    from gordon.cli import output
    from gordon.cli.terminal import Column
    from gordon.human import short
    from gordon.quantity import value

    output.check(to=to)
    loaded = {name: flash.load(name) for name in flash.names()}
    rows = [
        {"id": name, "capacity": str(value(part["capacity"])), "summary": part["summary"]}
        for name, part in loaded.items()
    ]
    columns = [
        Column("name", [row["id"] for row in rows]),
        Column(
            "exports", [short(_core.parse_bytes(row["capacity"]), "B") for row in rows], right=True
        ),
        Column("summary", [row["summary"] for row in rows], wraps=True),
    ]
    output.table(columns, "presets", rows, to)


@flash.command()
@click.argument("name", shell_complete=completion.presets("flash"))
def show(name: str) -> None:
    """Print the file of a preset, as a template for your own."""
    from gordon import flash

    click.echo(flash.text(name), nl=False)


flash.add_command(flash_fit.probe)
flash.add_command(flash_fit.fit)
flash.add_command(flash_fit.validate)
