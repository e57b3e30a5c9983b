"""`gordon cost petabyte`, `gordon cost inputs`."""

from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.costs import PetabyteOptions
from gordon.options.outputs import PetabyteTable


@click.group(cls=options.InOrder)
def cost() -> None:
    """Compute what an installation costs."""


@cost.command()
@command.of(PetabyteOptions)
@options.json_out
@command.of(PetabyteTable)
def petabyte(json_path: str | None, csv_path: str | None, **given: Any) -> None:
    """Compute the cost and power of storing a petabyte in DRAM, flash and disks.

    The model is that of section 6.2 of the Gordon paper: servers with as many media as they have
    slots for. Each figure of its Tables 7 and 8 is next to the one that follows from the printed
    inputs, with the reason if it does not follow. JSON and CSV have all intermediate values.
    """
    from gordon.cli import output
    from gordon.cli.cost_view import show_petabyte
    from gordon.cost import petabyte as computed
    from gordon.survey.columns import rows_to_csv

    output.check(json_path, csv_path)
    result = computed(**only_given(given))
    files = [(json_path, result), (csv_path, lambda: rows_to_csv(result["by_processors"]))]
    output.finish(lambda console: show_petabyte(console, result), files)


@cost.command()
@click.argument("name", default=PetabyteOptions.inputs)
def inputs(name: str) -> None:
    """Print a file of inputs, as a template for your own."""
    from gordon.cost import inputs as files

    click.echo(files.text(name), nl=False)
