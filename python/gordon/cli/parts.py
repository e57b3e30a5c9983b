"""`gordon parts`, `gordon parts show NAME`."""

import click

from gordon.cli import WithDefault, options
from gordon.options.outputs import Tables


class Parts(WithDefault):
    default = "list"


@click.group(cls=Parts)
def parts() -> None:
    """List the catalogue of parts, or show one part. Every number has a source."""


@parts.command(name="list")
@options.tables_out()
def list_(to: Tables) -> None:
    """List the parts by kind."""
    from gordon.cli import output
    from gordon.cli.terminal import Column
    from gordon.parts import KINDS, load, names

    output.check(to=to)
    rows = [
        {"kind": kind, "id": name, "summary": load(kind, name)["summary"]}
        for kind in KINDS
        for name in names(kind)
    ]
    columns = [
        Column("kind", [row["kind"] for row in rows]),
        Column("name", [row["id"] for row in rows]),
        Column("summary", [row["summary"] for row in rows], wraps=True),
    ]
    output.table(columns, "parts", rows, to)


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
