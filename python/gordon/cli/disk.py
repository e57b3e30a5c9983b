"""`gordon disk replay`, `bench`, `presets`, `show`."""

import json
from typing import Any

import click

from gordon.cli import options

POLICIES = ("fcfs", "sstf", "look", "c-look", "v-scan", "sptf")


@click.group(cls=options.InOrder)
def disk() -> None:
    """Simulate a hard disk. Every value is modelled."""


def _all(command: Any) -> Any:
    """What both commands take."""
    for option in reversed(
        [
            click.option(
                "--preset",
                "device",
                default="sata-7200-1tb",
                show_default=True,
                metavar="NAME|FILE",
                help="The disk: a preset (`gordon disk presets`) or a TOML file.",
            ),
            click.option(
                "--diskspecs",
                metavar="FILE",
                help="A disk as DiskSim 4.0 describes it, in its place; the files that it names "
                "are found beside it.",
            ),
            click.option(
                "--set",
                "set_values",
                multiple=True,
                metavar="KEY=VALUE",
                help="Change a value of the disk: interface.queue_depth=1, cache.read_ahead=0B.",
            ),
            click.option(
                "--stripe",
                type=options.COUNT,
                metavar="N",
                help="So many of it as one (RAID-0); the copies are among them.",
            ),
            click.option(
                "--stripe-unit",
                metavar="SIZE",
                help="What lies on one of them before the next has its turn.  [default: 64KiB]",
            ),
            click.option(
                "--copies",
                type=options.COUNT,
                metavar="N",
                help="The same lies on so many of them: --copies 2 is RAID-1 of two, --stripe 4 "
                "--copies 2 RAID-10 of two pairs.  [default: 1]",
            ),
            click.option(
                "--bus-rate",
                metavar="SIZE",
                help="Bytes a second that cross the bus or host adapter that all of them share: "
                "300MB.  [default: each has its own]",
            ),
            click.option(
                "--coalesce",
                metavar="SIZE",
                help="Join requests that wait for a disk with their neighbours, up to this size.",
            ),
            click.option(
                "--scheduler",
                type=click.Choice(POLICIES),
                help="Which request comes next, where several wait: in a drive's queue, or at the "
                "host where it has none.  [default: the disk's]",
            ),
            options.host,
            options.requests_out,
            click.option(
                "--responses",
                "responses_out",
                metavar="FILE.csv",
                help="Write the response time of each request: milliseconds, a line each.",
            ),
            options.json_out,
            click.option(
                "--parquet", metavar="DIR", help="Write the tables (latencies, depths) as Parquet."
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
    at its own times (a disksim-validate trace: after its gaps) unless --closed-loop, --gaps or
    --speed says otherwise.
    """
    from gordon import disk

    _run(lambda device, rest: disk.replay(trace, device, **rest), given)


@disk.command()
@click.option("--pattern", required=True, type=click.Choice(options.PATTERNS), help="What it asks.")
@options.bench
@_all
def bench(pattern: str, **given: Any) -> None:
    """Run a pattern, without a trace.

    It is a closed loop, 32 outstanding, unless told otherwise.
    """
    from gordon import disk

    _run(lambda device, rest: disk.bench(pattern, device, **rest), given)


@disk.command()
def presets() -> None:
    """List the disks that come with gordon."""
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
    """Print a preset's file.

    A start for a disk of your own.
    """
    from gordon import disk

    click.echo(disk.text(name), nl=False)


def _run(simulate: Any, given: dict[str, Any]) -> None:
    """Runs, writes what is asked for, and shows the rest."""
    from gordon.cli import output, terminal
    from gordon.cli.disk_view import show as view
    from gordon.cli.progress import Progress

    device, parquet, json_path = given.pop("device"), given.pop("parquet"), given.pop("json_path")
    files = (given["requests_out"], given["responses_out"])
    output.check(json_path, *files)
    with Progress("simulating") as progress:
        result = simulate(device, {"progress": progress.tick} | options.given(given))
    if parquet is not None:
        result.to_parquet(parquet)
    if json_path is not None:
        output.write({json_path: json.dumps(result.report, indent=1) + "\n"})
    silent = json_path == output.STDOUT
    view(terminal.messages() if silent else terminal.data(), result)
    for path in (parquet, *files, None if silent else json_path):
        if path is not None:
            click.echo(f"wrote {path}", err=True)
