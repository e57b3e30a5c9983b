"""`gordon disk replay`, `bench`, `compare`, `presets`, `show`."""

from typing import Any

import click

from gordon.cli import disk_fit, options
from gordon.options import command, completion
from gordon.options.devices import Array, DiskDevice, DiskPreset, Responses
from gordon.options.loads import BenchLoad, Host, Pattern, PatternOrTrace, TraceLoad
from gordon.options.outputs import DiskTables, Tables


@click.group(cls=options.InOrder)
def disk() -> None:
    """Simulate a hard disk. Every value is modelled."""


@disk.command()
@click.argument("trace")
@command.of(TraceLoad, DiskPreset, DiskDevice, Array, Host, Responses)
@options.tables_out(DiskTables)
@options.report_out
def replay(trace: str, **given: Any) -> None:
    """Replay a block trace.

    TRACE is a folder of `gordon trace` or a file of any of `gordon trace formats`. Requests arrive
    at the times of the trace (in a disksim-validate trace, after its gaps), unless --closed-loop,
    --gaps or --speed is given.
    """
    from gordon import disk
    from gordon.cli import disk_view, runs

    runs.run(disk.replay, trace, given, disk_view.show)


@disk.command()
@command.of(Pattern, BenchLoad, without=["order"])
@command.of(DiskPreset, DiskDevice, Array)
@command.of(Host, Responses, without=["queue_by"])
@options.tables_out(DiskTables)
@options.report_out
def bench(pattern: str, **given: Any) -> None:
    """Run a pattern, without a trace.

    The default is a closed loop with 32 requests outstanding.
    """
    from gordon import disk
    from gordon.cli import disk_view, runs

    runs.run(disk.bench, pattern, given, disk_view.show)


@disk.command()
@click.argument("words", nargs=-1, required=True, metavar="[TRACE] DISK DISK...")
@command.of(PatternOrTrace, BenchLoad, without=["order"])
@command.of(TraceLoad)
@command.of(DiskDevice, Array, Host, without=["diskspecs", "requests_out"])
@options.tables_out()
@options.report_out
def compare(words: tuple[str, ...], **given: Any) -> None:
    """Compare disks under the same load.

    A DISK is a preset or a TOML file; the load is a TRACE, or a pattern with --pattern. Ratios are
    to the first disk. One disk runs per core.
    """
    from gordon import disk
    from gordon.cli import disk_view, runs

    runs.compare(disk.compare, words, given, disk_view.compared)


@disk.command()
@options.tables_out()
def presets(to: Tables) -> None:
    """List the presets of disks."""
    from gordon import disk
    from gordon.cli import output

    output.check(to=to)
    rows = [{"id": name, "summary": disk.load(name)["summary"]} for name in disk.names()]
    output.summaries("presets", rows, to)


@disk.command()
@click.argument("name", shell_complete=completion.presets("disk"))
def show(name: str) -> None:
    """Print the file of a preset, as a template for your own."""
    from gordon import disk

    click.echo(disk.text(name), nl=False)


disk.add_command(disk_fit.probe)
disk.add_command(disk_fit.fit)
