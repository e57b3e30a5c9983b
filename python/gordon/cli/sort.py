"""`gordon sort`."""

import click

from gordon.cli import WithDefault
from gordon.cli.sort_systems import extrapolate


class Sort(WithDefault):
    """A file named first is sorted."""

    default = "run"
    takes_words = True


@click.group(cls=Sort)
def sort() -> None:
    """Sort files larger than memory; make and check the files of the sort benchmark."""


sort.add_command(extrapolate)
