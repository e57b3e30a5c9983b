"""`gordon parts`, `gordon parts show NAME`."""

import click

from gordon.cli import WithDefault


class Parts(WithDefault):
    default = "list"


@click.group(cls=Parts)
def parts() -> None:
    """List the catalogue of parts, or show one part. Every number has a source."""


@parts.command(name="list")
def list_() -> None:
    """List the parts by kind."""
    from gordon.cli.terminal import Column, data
    from gordon.parts import KINDS, load, names

    rows = [(kind, name, load(kind, name)["summary"]) for kind in KINDS for name in names(kind)]
    kinds, known, summaries = (list(column) for column in zip(*rows, strict=True))
    data().table(
        [Column("kind", kinds), Column("name", known), Column("summary", summaries, wraps=True)]
    )


@parts.command()
@click.argument("name")
def show(name: str) -> None:
    """Print the file of a part. To change it, copy it into a space as [parts.KIND.NAME]."""
    from gordon.parts import KINDS, names, text, unknown

    found = [kind for kind in KINDS if name in names(kind)]
    if not found:
        raise unknown("part", name, [n for kind in KINDS for n in names(kind)])
    for kind in found:
        click.echo(f"# {kind}\n{text(kind, name)}", nl=False)
