"""`gordon reproduce`."""

from collections.abc import Mapping
from typing import ClassVar

import click

from gordon.cli import Placed


class Reproduce(Placed):
    """A command for each study."""

    places: ClassVar[Mapping[str, str]] = {
        name: f"gordon.cli.reproduce_papers:{name}"
        for name in ("flashcache", "gordon", "joulesort", "rewrite")
    }


@click.group(cls=Reproduce)
def reproduce() -> None:
    """Compare results with those of the papers on which Gordon is based."""
