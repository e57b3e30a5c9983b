"""`gordon reproduce gordon`."""

import click

from gordon.cli import options
from gordon.options import command
from gordon.options.outputs import Tables
from gordon.options.papers import Compared


@click.command(cls=command.Command)
@click.argument("runs", required=False)
@command.of(Compared)
@options.tables_out()
def gordon(
    runs: str | None, figure: str | None, quick: bool, pages: str | None, to: Tables
) -> None:
    """Compare the figures of the Gordon paper with those of traced jobs.

    RUNS is a folder with runs RUNS/JOB/1 of `gordon workload run`; the default is the bundled
    traces. The figures are those of Table 2, Figures 4 and 5, section 4.2.2, Table 6, Figures 6 to
    8, the claims, Table 8, and the text of sections 3 and 6. JSON and pages have each of them with
    its reason; the last lines say what is not reproduced, and why.
    """
    from gordon import reproduce
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.reproduce_end import finish
    from gordon.cli.reproduce_gordon_view import show

    output.check(to=to, folder=pages, used=[runs])
    with Progress("replaying") as progress:
        found = reproduce.compare(
            "gordon", runs=runs, figure=figure, quick=quick, progress=progress.tick
        )
    finish(found, lambda console: show(console, found), to, pages)
