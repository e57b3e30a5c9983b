"""`gordon reproduce joulesort`."""

from typing import cast

import click

from gordon.cli import options
from gordon.options import command
from gordon.options.outputs import Tables
from gordon.options.papers import Compared
from gordon.options.sorting import SortSystems


@click.command(cls=command.Command)
@command.of(SortSystems, Compared)
@options.tables_out()
def joulesort(
    set: tuple[str, ...],
    figure: str | None,
    quick: bool,
    pages: str | None,
    to: Tables,
    plot: str | None,
) -> None:
    """Compare the systems of the JouleSort paper with the model and with the paper's claims.

    Each system is modelled and compared with its measured row, the paper's estimates with the
    model, and its statements with its own tables. All values outside of the measured columns are
    modelled.
    """
    from gordon import reproduce
    from gordon.cli import output
    from gordon.cli.reproduce_end import finish
    from gordon.cli.reproduce_joulesort_view import show
    from gordon.reproduce.joulesort.report import Study
    from gordon.sort.systems.plot import draw

    output.check(to=to, plot=plot, folder=pages)
    del quick  # everything is computed in seconds
    found = reproduce.compare("joulesort", figure=figure, set=set)
    study = cast(Study, found.report)
    finish(
        found,
        lambda console: show(console, study),
        to,
        pages,
        [(plot, lambda path: draw(study, path))],
    )
