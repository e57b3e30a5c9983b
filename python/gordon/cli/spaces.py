"""`gordon spaces`, `gordon spaces show NAME`."""

import click

from gordon.cli import WithDefault, options


class Spaces(WithDefault):
    default = "list"


@click.group(cls=Spaces)
def spaces() -> None:
    """List the shipped design spaces, or show one space."""


@spaces.command(name="list")
@options.json_out
def list_(json_path: str | None) -> None:
    """List the spaces."""
    from gordon.cli import output
    from gordon.cli.terminal import Column
    from gordon.survey import space

    output.check(json_path)
    loaded = {name: space.load(name) for name in space.names()}
    rows = [
        {"id": name, "designs": space.count(found), "summary": found["summary"]}
        for name, found in loaded.items()
    ]
    columns = [
        Column("name", [row["id"] for row in rows]),
        Column("designs", [str(row["designs"]) for row in rows], right=True),
        Column("summary", [row["summary"] for row in rows], wraps=True),
    ]
    output.table(columns, {"spaces": rows}, json_path)


@spaces.command()
@click.argument("name")
def show(name: str) -> None:
    """Print the file of a space, as a template for your own."""
    from gordon.parts import unknown
    from gordon.survey import space

    if name not in space.names():
        raise unknown("space", name, space.names())
    click.echo(space.text(name), nl=False)
