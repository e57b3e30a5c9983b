"""`gordon reproduce joulesort`."""

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
    from gordon.cli import output
    from gordon.cli.reproduce_end import finish
    from gordon.cli.reproduce_joulesort_view import show
    from gordon.reproduce.joulesort import report
    from gordon.reproduce.papers import paper
    from gordon.sort.systems.plot import draw

    output.check(to=to, plot=plot, folder=pages)
    del quick  # everything is computed in seconds
    of = paper("joulesort")
    places = of.chosen(figure)
    found = report(set)
    finish(
        of,
        places,
        found,
        lambda console: show(console, found),
        to,
        pages,
        [(plot, lambda path: draw(found, path))],
    )
