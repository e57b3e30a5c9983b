"""`gordon reproduce joulesort`."""

import click

from gordon.cli import options
from gordon.cli.sort_systems import PLOT, SET
from gordon.files import STDOUT, write_all


@click.command()
@SET
@options.json_out
@PLOT
def joulesort(set_values: tuple[str, ...], json_path: str | None, plot: str | None) -> None:
    """Compare the systems of the JouleSort paper with the model and with the paper's claims.

    Each system is modelled and compared with its measured row, the paper's estimates with the
    model, and its statements with its own tables. All values outside of the measured columns are
    modelled.
    """
    from gordon.cli import output
    from gordon.cli.reproduce_joulesort_view import show
    from gordon.cli.terminal import data, messages
    from gordon.reproduce.joulesort import report

    output.check(json_path, plot=plot)
    found = report(set_values)
    if plot is not None:
        from gordon.sort.systems.plot import draw

        draw(found, plot)
    if json_path is not None:
        write_all({json_path: found})
    show(messages() if json_path == STDOUT else data(), found)
