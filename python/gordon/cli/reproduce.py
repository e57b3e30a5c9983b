"""`gordon reproduce`."""

from collections.abc import Mapping
from typing import ClassVar

import click

from gordon.cli import Placed


class Reproduce(Placed):
    """A command for each study."""

    places: ClassVar[Mapping[str, str]] = {
        "flashcache": "gordon.cli.reproduce_flashcache:flashcache",
        "gordon": "gordon.cli.reproduce_gordon:gordon",
        "joulesort": "gordon.cli.reproduce_joulesort:joulesort",
        "rewrite": "gordon.cli.reproduce_rewrite:rewrite",
    }


@click.group(cls=Reproduce)
def reproduce() -> None:
    """Compare results with those of the papers on which Gordon is based."""
