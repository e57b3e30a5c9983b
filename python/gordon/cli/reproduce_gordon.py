"""`gordon reproduce gordon`."""

import click

from gordon.cli import options
from gordon.options import command
from gordon.options.papers import Compared


@click.command()
@click.argument("runs", required=False)
@command.of(Compared)
@options.json_out
def gordon(runs: str | None, quick: bool, json_path: str | None) -> None:
    """Compare the figures of the Gordon paper with those of traced jobs.

    RUNS is a folder with runs RUNS/JOB/1 of `gordon workload run`; the default is the bundled
    traces. The figures are those of Table 2, Figure 5, section 4.2.2, Table 6, Figures 6 to 8 and
    the claims. JSON has each of them with its reason.
    """
    from gordon import bundled, reproduce
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.reproduce_gordon_view import show

    output.check(json_path, used=[runs])
    with Progress("replaying") as progress:
        folder = bundled.FOLDER if runs is None else runs
        rows = reproduce.rows(folder, first_only=quick, progress=progress.tick)
    output.finish(lambda console: show(console, rows), [(json_path, reproduce.as_result(rows))])
