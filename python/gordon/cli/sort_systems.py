"""`gordon sort extrapolate`."""

from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.outputs import Tables
from gordon.options.sorting import Extrapolated, SortSystems


@click.command(cls=command.Command)
@click.argument("systems", required=False)
@command.of(Extrapolated, SortSystems)
@options.tables_out()
def extrapolate(systems: str | None, to: Tables, plot: str | None, **given: Any) -> None:
    """Model the time, power and records/J of a sort on other systems.

    SYSTEMS is a TOML file of parts and systems; the default is the systems of the JouleSort paper,
    each compared with its measured row (`gordon reproduce joulesort` also has the paper's claims).
    The limit of each phase is printed, too. All values outside of the measured columns are
    modelled.
    """
    from gordon.cli import output, sort_systems_view
    from gordon.sort.systems import extrapolate
    from gordon.sort.systems.plot import draw

    output.check(to=to, plot=plot, used=[systems, given["measured"]])
    found = extrapolate(systems, **only_given(given))
    drawn = [(plot, lambda path: draw(found.report, path))]
    output.finish_result(found, sort_systems_view.show, to, made=drawn)
