"""`gordon sort`."""

import click

from gordon.cli import WithDefault


class Sort(WithDefault):
    """A file named first is sorted."""

    default = "run"
    takes_words = True


@click.group(cls=Sort)
def sort() -> None:
    """Sort files larger than memory; make and check the files of the sort benchmark."""
