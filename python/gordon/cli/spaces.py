"""`gordon spaces`, `gordon spaces show NAME`."""

from typing import Any

import click

from gordon.cli import WithDefault


class Spaces(WithDefault):
    default = "list"


@click.group(cls=Spaces)
def spaces() -> None:
    """List the shipped design spaces, or show one space."""


@spaces.command(name="list")
def list_() -> None:
    """List the spaces."""
    from gordon.cli.terminal import Column, data
    from gordon.survey import space

    loaded = [space.load(name) for name in space.names()]
    data().table(
        [
            Column("name", space.names()),
            Column("designs", [str(_designs(s)) for s in loaded], right=True),
            Column("summary", [s["summary"] for s in loaded], wraps=True),
        ]
    )


def _designs(loaded: dict[str, Any]) -> int:
    from gordon.survey import space

    grid = len(space.expand(loaded)) if space.has_grid(loaded) else 0
    return grid + len(space.machines(loaded))


@spaces.command()
@click.argument("name")
def show(name: str) -> None:
    """Print the file of a space, as a template for your own."""
    from gordon.parts import unknown
    from gordon.survey import space

    if name not in space.names():
        raise unknown("space", name, space.names())
    click.echo(space.text(name), nl=False)
