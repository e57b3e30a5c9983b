"""`gordon meter list`, `watch` and `record -- CMD`."""

import sys
from pathlib import Path
from typing import Any

import click

from gordon.cli import options
from gordon.files import STDOUT
from gordon.options import command, only_given
from gordon.options.meters import MeteredRuns, Metering, Rest, Root, Watching
from gordon.options.outputs import PowerLog, Tables


@click.group(cls=options.InOrder)
def meter() -> None:
    """Measure energy with the meters of this machine.

    Meters are the counters of processors and GPUs, the battery, the management controller and wall
    meters. A machine without a meter is modelled.
    """


@meter.command(name="list")
@command.of(Root)
@options.tables_out()
@options.on_linux
def list_(root: Path | None, to: Tables) -> None:
    """List the meters of this machine.

    Prints what each measures, and why others are not available.
    """
    from gordon.cli import output
    from gordon.cli.meter_view import show_list
    from gordon.energy import find

    output.check(to=to)
    found = find.candidates(root or Root.root)
    listed = [
        {"name": c.name, "measures": c.measures, "available": c.meter is not None}
        | (c.meter.about() if c.meter is not None else {"why": c.why, "try": c.hint})
        for c in found
    ]
    output.finish(
        lambda console: show_list(console, found),
        to=to,
        result={"meters": listed},
        rows="meters",
    )


@meter.command()
@command.of(Metering, Watching, Root)
@options.on_linux
def watch(
    meters: tuple[str, ...], interval_s: float | None, count: int | None, root: Path | None
) -> None:
    """Print the current power, one line per sample, until Ctrl-C."""
    from gordon.cli.meter_view import follow
    from gordon.energy import find

    follow(find.chosen(meters, root or Root.root), interval_s or Metering.interval_s, count)


@meter.command(context_settings={"allow_interspersed_args": False})
@command.of(Metering, Rest, MeteredRuns)
@command.of(PowerLog, Root)
@options.tables_out()
@options.report_out
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- CMD...")
@options.on_linux
def record(
    words: tuple[str, ...],
    out: str | None,
    to: Tables,
    report: str | None,
    **given: Any,
) -> None:
    """Run a command and measure its energy.

    Prints the energy, the mean power and the energy above idle. The exit status is that of the
    command, or 1 if no meter gave a sample during a run. With `--json -` the command's output goes
    to stderr.
    """
    from gordon import GordonError, energy
    from gordon.cli import output, terminal, warn_each
    from gordon.cli.meter_view import show_record, warn_of
    from gordon.energy.page import render

    output.check(out, to=to, report=report)
    silent = STDOUT in (to.json_path, to.csv_path, out)
    console = terminal.messages()

    def notify(what: str) -> None:
        if console.is_terminal:
            console.text(f"metering: {what}", style="dim")

    sys.stdout.flush()
    done = energy.record(words, stdout=2 if silent else None, notify=notify, **only_given(given))
    output.finish(
        lambda _: show_record(console, done.report),
        [(out, done.log), (report, lambda: render(done))],
        to=to,
        result=done,
    )
    warn_of(done.report["meters"])
    warn_each(done.report["warnings"])
    runs = [run for meter in done.report["meters"] for run in meter["runs"]]
    silent_runs = (run["energy_j"] is None and run["samples"] == 0 for run in runs)
    if done.exit_status == 0 and all(silent_runs):
        raise GordonError(
            "nothing was measured: no meter gave a sample during a run",
            "a longer run or a shorter --interval; `gordon meter watch` shows what the meter "
            "reports",
            kind="nothing-measured",
        )
    sys.exit(done.exit_status)
