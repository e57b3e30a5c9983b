"""`gordon sort extrapolate`."""

import click

from gordon.cli import options
from gordon.files import STDOUT, write_all

SET = click.option(
    "--set",
    "set_values",
    multiple=True,
    metavar="KEY=VALUE",
    help="Override a value: system.3B.cpu=core2-duo, drive.micron.write=200MB, "
    "board.desktop.base=9W, records=1000000000. Measured rows keep their own size.",
)
PLOT = click.option(
    "--plot",
    metavar="PATH",
    help="Draw time against power, and the plateaus of records/J, as PNG, SVG or PDF.",
)


@click.command()
@click.argument("systems", required=False)
@click.option(
    "--from",
    "measured",
    metavar="FILE",
    help="JSON of a sort of your own, from `gordon sort --json` or `gordon joulesort --json`: its "
    "bytes and core-seconds are modelled on the systems.",
)
@click.option(
    "--on",
    "home",
    metavar="SYSTEM",
    help="System on which the sort ran, if its file does not name one.",
)
@SET
@options.json_out
@PLOT
def extrapolate(
    systems: str | None,
    measured: str | None,
    home: str | None,
    set_values: tuple[str, ...],
    json_path: str | None,
    plot: str | None,
) -> None:
    """Model the time, power and records/J of a sort on other systems.

    SYSTEMS is a TOML file of parts and systems; the default is the systems of the JouleSort paper,
    each compared with its measured row (`gordon reproduce joulesort` also has the paper's claims).
    The limit of each phase is printed, too. All values outside of the measured columns are
    modelled.
    """
    from gordon.cli import output, sort_systems_view
    from gordon.cli.terminal import data, messages
    from gordon.sort.systems import extrapolate

    output.check(json_path, plot=plot, used=[systems, measured])
    report = extrapolate(systems, measured=measured, home=home, set_values=set_values)
    if plot is not None:
        from gordon.sort.systems.plot import draw

        draw(report, plot)
    if json_path is not None:
        write_all({json_path: report})
    sort_systems_view.show(messages() if json_path == STDOUT else data(), report)
