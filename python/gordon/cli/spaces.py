"""`gordon spaces`, `gordon spaces show NAME`, `gordon spaces update [NAME] -o FILE`."""

from datetime import datetime

import click

from gordon.cli import WithDefault, options
from gordon.files import STDOUT
from gordon.options import command, completion
from gordon.options.outputs import Tables
from gordon.options.surveys import PriceUpdate


class Spaces(WithDefault):
    default = "list"


@click.group(cls=Spaces)
def spaces() -> None:
    """List the shipped design spaces, show one, or update its prices."""


@spaces.command(name="list")
@options.tables_out()
def list_(to: Tables) -> None:
    """List the spaces, the day of their prices, and the families that no model covers."""
    from gordon.cli import output
    from gordon.cli.terminal import Column, data
    from gordon.survey import prices, space

    output.check(to=to)
    loaded = {name: space.load(name) for name in space.names()}
    rows = [
        {
            "id": name,
            "designs": space.count(found),
            "prices_date": prices.day(found),
            "summary": found["summary"],
            "not_modelled": found.get("not_modelled", []),
        }
        for name, found in loaded.items()
    ]
    columns = [
        Column("name", [row["id"] for row in rows]),
        Column("designs", [str(row["designs"]) for row in rows], right=True),
        Column("prices of", [row["prices_date"] or "" for row in rows]),
        Column("summary", [row["summary"] for row in rows], wraps=True),
    ]
    output.table(columns, "spaces", rows, to)
    if STDOUT in (to.json_path, to.csv_path):
        return
    for row in rows:
        for entry in row["not_modelled"]:
            families = ", ".join(entry["families"])
            data().text(f"not modelled in {row['id']}: {families} ({entry['reason']})")


@spaces.command()
@click.argument("name", shell_complete=completion.spaces)
def show(name: str) -> None:
    """Print the file of a space, as a template for your own."""
    from gordon.parts import unknown
    from gordon.survey import space

    if name not in space.names():
        raise unknown("space", name, space.names())
    click.echo(space.text(name), nl=False)


@spaces.command()
@click.argument("name", required=False, metavar="[NAME|FILE]")
@command.of(PriceUpdate)
@options.json_out
def update(
    name: str | None, source: str | None, day: datetime | None, out: str, json_path: str | None
) -> None:
    """Write a space with the prices of a public price file.

    Price files are the generated tables of karpenter-provider-aws (zz_generated.pricing_aws.go),
    karpenter-provider-azure (zz_generated.pricing.go) and karpenter-provider-gcp
    (initial-prices.json, which has no date). NAME is a shipped space, or the file of one with the
    provider's ids and a `region`; by default the space of the file's provider.
    """
    from gordon.cli import output, warn_each
    from gordon.survey import price_files, prices, space

    output.check(json_path, out, used=[name, source])
    provider = None if name is None else space.load(name)["name"]
    if source is None:
        if provider is None:
            raise click.UsageError("give a space, or a price file with --from")
        if provider not in price_files.URLS:
            raise click.UsageError(f"`{name}` has no price file of its own: give one with --from")
        source = price_files.URLS[provider]
    found = price_files.read(source)
    name = name or found.provider
    date = None if day is None else day.date().isoformat()
    done = price_files.update(space.read(name), found, date, space.origin(name), source)
    files = [(out, done.text), (json_path, done.report)]
    output.finish(lambda console: console.text(done.summary(name)), files, is_quiet=True)
    warn_each(done.warnings(source) + prices.age_warnings(name, done.date))
