"""`gordon meter list`, `watch` and `record -- CMD`."""

import sys
from pathlib import Path
from typing import Any

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all


def seconds(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    """Time as people write it, in seconds; 0 is none."""
    from gordon import _core
    from gordon.errors import GordonError

    if text is None:
        return None
    if text in ("0", "0s"):
        return 0.0
    try:
        return _core.parse_ns(text) / 1e9
    except GordonError as error:
        raise click.BadParameter(error.args[0], ctx, param) from None


def amount(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """A whole number, 1e8 too."""
    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 1 <= number <= 1e15 or number != int(number):
        raise click.BadParameter(f"`{text}` is not a whole number such as 1e8", ctx, param)
    return int(number)


def interval(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    found = seconds(ctx, param, text)
    if found is not None and found < LEAST_S:
        raise click.BadParameter(f"`{text}` is less than 10ms", ctx, param)
    return found


LEAST_S = 0.01

METERS = click.option(
    "--meter",
    "meters",
    multiple=True,
    metavar="NAME",
    help="Meter: one of `gordon meter list`, or command:CMD, redfish:URL, replay:FILE.csv, "
    "model:MACHINE; repeatable.  [default: all that are found, else model]",
)
INTERVAL = click.option(
    "--interval",
    "interval_s",
    default="1s",
    show_default=True,
    metavar="TIME",
    callback=interval,
    help="Time between samples, at least 10ms.",
)
IDLE = click.option(
    "--idle",
    "idle_s",
    default="10s",
    show_default=True,
    metavar="TIME",
    callback=seconds,
    help="Length of the idle baseline before the first run; 0: none.",
)
TAIL = click.option(
    "--tail",
    "tail_s",
    default="5s",
    show_default=True,
    metavar="TIME",
    callback=seconds,
    help="Maximum time to measure after the last run, until power is back at idle; 0: none.",
)
ROOT = click.option(
    "--root",
    default="/",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder that contains sys and proc, for files copied from another machine.  [default: /]",
)


@click.group(cls=options.InOrder)
def meter() -> None:
    """Measure energy with the meters of this machine.

    Meters are the counters of processors and GPUs, the battery, the management controller and wall
    meters. A machine without a meter is modelled.
    """


@meter.command(name="list")
@ROOT
@options.json_out
def list_(root: Path, json_path: str | None) -> None:
    """List the meters of this machine.

    Prints what each measures, and why others are not available.
    """
    from gordon.cli import output, terminal
    from gordon.cli.meter_view import show_list
    from gordon.energy import find

    output.check(json_path)
    found = find.candidates(root)
    if json_path is not None:
        listed = [
            {"name": c.name, "measures": c.measures, "available": c.meter is not None}
            | (c.meter.about() if c.meter is not None else {"why": c.why, "try": c.hint})
            for c in found
        ]
        write_all({json_path: {"meters": listed}})
    show_list(terminal.messages() if json_path == STDOUT else terminal.data(), found)


@meter.command()
@METERS
@INTERVAL
@click.option(
    "--count",
    type=options.COUNT,
    metavar="N",
    help="Number of samples to print.  [default: until Ctrl-C]",
)
@ROOT
def watch(meters: tuple[str, ...], interval_s: float, count: int | None, root: Path) -> None:
    """Print the current power, one line per sample, until Ctrl-C."""
    from gordon.cli.meter_view import follow
    from gordon.energy import find

    follow(find.chosen(meters, root), interval_s, count)


@meter.command(context_settings={"allow_interspersed_args": False})
@METERS
@INTERVAL
@IDLE
@TAIL
@click.option(
    "--runs",
    type=options.COUNT,
    default=1,
    show_default=True,
    metavar="N",
    help="Number of consecutive runs.",
)
@click.option(
    "--records",
    metavar="N",
    callback=amount,
    help="Number of records that a run processes, as 1e8, to print records per joule.",
)
@click.option("-o", "--out", metavar="LOG.csv", help="Write the samples of power as CSV.")
@ROOT
@options.json_out
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
def record(command: tuple[str, ...], out: str | None, json_path: str | None, **given: Any) -> None:
    """Run a command and measure its energy.

    Prints the energy, the mean power and the energy above idle. The exit status is that of the
    command, or 1 if no meter gave a sample during a run. With `--json -` the command's output goes
    to stderr.
    """
    from gordon import GordonError, energy
    from gordon.cli import output, say, terminal
    from gordon.cli.meter_view import show_record, warn_of

    output.check(json_path, out)
    silent = STDOUT in (json_path, out)
    console = terminal.messages()

    def notify(what: str) -> None:
        if console.is_terminal:
            console.text(f"metering: {what}", style="dim")

    sys.stdout.flush()
    done = energy.record(command, stdout=2 if silent else None, notify=notify, **given)
    files: dict[str, Any] = {}
    if json_path is not None:
        files[json_path] = done.json
    if out is not None:
        files[out] = done.log()
    write_all(files)
    show_record(console, done.json)
    warn_of(done.json["meters"])
    for warning in done.json["warnings"]:
        say(warning, kind="warning")
    runs = [run for meter in done.json["meters"] for run in meter["runs"]]
    silent_runs = (run["energy_j"] is None and run["samples"] == 0 for run in runs)
    if done.exit_status == 0 and all(silent_runs):
        raise GordonError(
            "nothing was measured: no meter gave a sample during a run",
            "a longer run or a shorter --interval; `gordon meter watch` shows what the meter "
            "reports",
            kind="nothing-measured",
        )
    sys.exit(done.exit_status)
