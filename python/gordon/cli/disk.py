"""`gordon disk replay`, `bench`, `compare`, `presets`, `show`."""

from typing import Any

import click

from gordon.cli import disk_fit, options


@click.group(cls=options.InOrder)
def disk() -> None:
    """Simulate a hard disk. Every value is modelled."""


def _all(command: Any) -> Any:
    """What all runs take."""
    for option in reversed(
        [
            click.option(
                "--preset",
                "device",
                default="sata-7200-1tb",
                show_default=True,
                metavar="NAME|FILE",
                help="Disk: a preset (`gordon disk presets`) or a TOML file.",
            ),
            options.diskspecs,
            click.option(
                "--set",
                "set_values",
                multiple=True,
                metavar="KEY=VALUE",
                help="Override a value of the disk: interface.queue_depth=1, cache.read_ahead=0B.",
            ),
            options.disks,
            options.host,
            options.requests_out,
            click.option(
                "--responses",
                "responses_out",
                metavar="FILE.csv",
                help="Write the response time of each request in ms, one per line.",
            ),
            options.json_out,
            options.report_out,
            click.option(
                "--parquet",
                metavar="DIR",
                help="Write the tables (over time, latencies, depths) as Parquet.",
            ),
        ]
    ):
        command = option(command)
    return command


@disk.command()
@click.argument("trace")
@options.trace
@_all
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
@click.option(
    "--pattern", required=True, type=click.Choice(options.PATTERNS), help="Access pattern."
)
@options.bench
@_all
def bench(pattern: str, **given: Any) -> None:
    """Run a pattern, without a trace.

    The default is a closed loop with 32 requests outstanding.
    """
    from gordon import disk
    from gordon.cli import disk_view, runs

    runs.run(disk.bench, pattern, given, disk_view.show)


@disk.command()
@click.argument("words", nargs=-1, required=True, metavar="[TRACE] DISK DISK...")
@click.option(
    "--pattern", type=click.Choice(options.PATTERNS), help="Access pattern, in place of a trace."
)
@options.bench
@options.trace
@_all
def compare(words: tuple[str, ...], **given: Any) -> None:
    """Compare disks under the same load.

    A DISK is a preset or a TOML file; the load is a TRACE, or a pattern with --pattern. Ratios are
    to the first disk. One disk runs per core.
    """
    from gordon import disk
    from gordon.cli import disk_view, runs

    runs.compare(disk.compare, words, given, disk_view.compared)


# A comparison names its disks itself, and files of one run are not for several.
OF_ONE = ("device", "diskspecs", "requests_out", "responses_out", "parquet")
compare.params = [option for option in compare.params if option.name not in OF_ONE]


@disk.command()
def presets() -> None:
    """List the presets of disks."""
    from gordon import disk
    from gordon.cli.terminal import Column, data

    loaded = [disk.load(name) for name in disk.names()]
    data().table(
        [
            Column("name", disk.names()),
            Column("summary", [part["summary"] for part in loaded], wraps=True),
        ]
    )


@disk.command()
@click.argument("name")
def show(name: str) -> None:
    """Print the file of a preset, as a template for your own."""
    from gordon import disk

    click.echo(disk.text(name), nl=False)


disk.add_command(disk_fit.probe)
disk.add_command(disk_fit.fit)
