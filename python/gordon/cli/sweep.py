"""`gordon sweep FILE`"""

from typing import Any

import click

from gordon.cli import options, say
from gordon.options import command, only_given
from gordon.options.outputs import Tables
from gordon.options.sweeps import SweepOptions


@click.command(cls=command.Command)
@click.argument("file", metavar="FILE")
@command.of(SweepOptions)
@options.report_out
@options.tables_out()
def sweep(
    file: str,
    out: str,
    report: str | None,
    to: Tables,
    **given: Any,
) -> None:
    """Run a command over many configurations.

    FILE is TOML. It names a command (flash replay, bench or wa; disk replay or bench; cache replay
    or tiered), fixed settings, and ranges. Keys are the options of the command, without dashes, and
    the keys of --set. Every combination runs, or a random sample:

    \b
    command = "flash bench"
    objectives = ["write.latency_us.p99:min", "energy_j:min"]
    sample = 1000                                  # optional
    [settings]
    pattern = "random-write"
    [ranges]
    ftl.victim = ["greedy", "cost-benefit"]
    queue_depth = { from = 1, to = 64, factor = 2 }

    Paths in FILE, also those of policies (mine.py:Mine), are relative to its folder. Configurations
    that the command refuses are rows with an error. The same FILE gives the same bytes with any
    engine and any number of workers.
    """
    from gordon import sweep as sweeps
    from gordon.cli import output, sweep_view
    from gordon.cli.progress import Progress
    from gordon.sweep import store

    partial = store.place(out)
    output.check(to=to, files=[str(partial)], tables=[out], report=report, used=[file])
    loaded = sweeps.load(file)
    output.check(to=to, files=[out], report=report, used=loaded.paths)
    try:
        with Progress("sweeping") as progress:
            result = sweeps.run(
                loaded,
                out,
                progress=progress.tick,
                notify=lambda text: say(text, kind="warning"),
                **only_given(given),
            )
    except KeyboardInterrupt:
        if partial.exists():
            click.echo(
                f"finished configurations are in {partial}: continue with --resume", err=True
            )
        raise
    output.finish_result(result, sweep_view.show, to, report, written=[out])
