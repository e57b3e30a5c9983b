"""`gordon sort extrapolate`."""

import json

import click

from gordon.cli import options


@click.command()
@click.argument("systems", required=False)
@click.option(
    "--from",
    "measured",
    metavar="FILE",
    help="A sort of your own, what `--json` of it wrote: what it asked of its machine is asked of "
    "the systems.",
)
@click.option(
    "--on", "home", metavar="SYSTEM", help="The system that it ran on, if its file does not say."
)
@click.option(
    "--set",
    "set_values",
    multiple=True,
    metavar="KEY=VALUE",
    help="Change a value: system.3B.cpu=core2-duo, drive.micron.write=200MB, "
    "board.desktop.base=9W, records=1000000000.",
)
@options.json_out
@click.option(
    "--plot",
    metavar="PATH",
    help="Draw time against power, and the plateaus of records/J, as PNG, SVG or PDF.",
)
def extrapolate(
    systems: str | None,
    measured: str | None,
    home: str | None,
    set_values: tuple[str, ...],
    json_path: str | None,
    plot: str | None,
) -> None:
    """What a sort would take on other systems: time, power, records/J, and what limits it.

    Without SYSTEMS, a TOML file of parts and systems, those of the JouleSort paper, the model
    beside what was measured. All but the measured columns are modelled.
    """
    from gordon.cli import output, sort_systems_view
    from gordon.cli.terminal import data, messages
    from gordon.sort.systems import extrapolate

    output.check(json_path, plot=plot, used=[systems, measured])
    told = extrapolate(systems, measured=measured, home=home, set_values=set_values)
    if plot is not None:
        from gordon.sort.systems.plot import draw

        draw(told, plot)
    if json_path is not None:
        output.write({json_path: json.dumps(told, indent=1) + "\n"})
    sort_systems_view.show(messages() if json_path == output.STDOUT else data(), told)
