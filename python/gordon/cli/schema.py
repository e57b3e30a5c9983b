"""`gordon schema KIND`."""

import click

from gordon.options.command import Choice

KINDS = (
    "space",
    "cpu",
    "memory",
    "network",
    "overhead",
    "machine",
    "supply",
    "flash",
    "disk",
    "drive",
    "flashcache",
    "sort",
    "jobs",
    "sweep",
)


@click.command()
@click.argument("kind", type=Choice(KINDS), metavar="KIND")
def schema(kind: str) -> None:
    """Print the JSON Schema of a kind of TOML file, for completion and checks in an editor."""
    if kind == "sweep":
        import json

        from gordon.sweep.schema import schema as of_sweep

        click.echo(json.dumps(of_sweep(), separators=(",", ":")))
        return
    from gordon import _core

    click.echo(_core.schema(kind))
