"""The commands of `gordon cost`."""

from contextlib import nullcontext
from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.costs import PetabyteOptions, PriceOptions, ReplicasOptions, TcoOptions
from gordon.options.loads import BenchLoad, PatternOrTrace, TraceLoad
from gordon.options.outputs import PetabyteTables, ReplicasTables, Tables, TcoTables


@click.group(cls=options.InOrder)
def cost() -> None:
    """Compute what an installation costs."""


@cost.command()
@command.of(PetabyteOptions)
@options.tables_out(PetabyteTables)
def petabyte(to: Tables, **given: Any) -> None:
    """Compute the cost and power of storing a petabyte in DRAM, flash and disks.

    The model is that of section 6.2 of the Gordon paper: servers with as many media as they have
    slots for. Each figure of its Tables 7 and 8 is next to the one that follows from the printed
    inputs, with the reason if it does not follow. JSON and CSV have all intermediate values.
    """
    from gordon.cli import output
    from gordon.cli.cost_view import show_petabyte
    from gordon.cost import petabyte as computed
    from gordon.survey.columns import rows_to_csv

    output.check(to=to)
    result = computed(**only_given(given))
    output.finish_result(
        result, show_petabyte, to, rows=lambda: rows_to_csv(result["by_processors"])
    )


@cost.command()
@click.argument("trace", required=False)
@command.of(ReplicasOptions)
@command.of(PatternOrTrace, BenchLoad, without=["order", "queues"])
@command.of(TraceLoad)
@options.tables_out(ReplicasTables)
def replicas(
    trace: str | None,
    to: Tables,
    **given: Any,
) -> None:
    """Compare replicas on flash, on disks, and on sleeping disks.

    Section 6.1 of the Gordon paper keeps one replica in flash and the others on disks that are spun
    down. The load is a block TRACE with times, or a pattern with --pattern and --every. Writes are
    collected on flash and written to the disks in batches. Printed are energy, price, wake-ups,
    wear, the writes that are on flash only, the limits of the rate of writes, the recovery of a
    failed node, and when sleeping disks pay.

    \b
    gordon cost replicas --pattern random-write --size 1MiB --every 1s
    gordon cost replicas --pattern zipf --every 10ms --replicas 2 --rates 1,10
    """
    from gordon.cli import output
    from gordon.cli.progress import Part
    from gordon.cli.replicas_view import show_replicas
    from gordon.cli.trace_input import reading
    from gordon.cost import replicas as simulated
    from gordon.survey.columns import rows_to_csv

    output.check(to=to, used=[trace])
    read = nullcontext() if trace is None else reading(trace, given, objects=False)
    with read, Part("simulating") as progress:
        result = simulated(trace, progress=progress.tick, **only_given(given))
    output.finish_result(result, show_replicas, to, rows=lambda: rows_to_csv(result["by_rate"]))


@cost.command()
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@command.of(TcoOptions)
@options.tables_out(TcoTables)
def tco(
    traces: tuple[str, ...],
    to: Tables,
    **given: Any,
) -> None:
    """Compute the total cost of a job or a service on nodes of a machine.

    Purchase or rent, drives and their replacement by wear and age, electricity with that of the
    building and of the time between runs, and carbon. The time is that of `gordon survey`, which
    also takes the options of how machines are used, and compares designs by their total. The range
    of the total joins those of the time and of prices, powers and use; the table has the inputs
    that move it most, with their shares of the variance. With --service the traces are records of
    a service, which runs all the time, and the cost is that of a month.

    \b
    gordon cost tco sort.trace --node framework-desktop --runs-per-day 40
    gordon cost tco spark-sort --node m5.xlarge --nodes 4 --grid DE
    gordon cost tco web1.trace --service --node m5.xlarge --requests-per-s 200
    """
    from gordon.cli import output
    from gordon.cli.progress import Progress
    from gordon.cli.tco_view import show_tco
    from gordon.cost import tco as computed
    from gordon.survey.columns import rows_to_csv

    output.check(to=to, used=output.trace_files(traces))
    with Progress("replaying the traces on each storage") as progress:
        result = computed(traces, progress=progress.tick, **only_given(given))
    output.finish_result(result, show_tco, to, rows=lambda: rows_to_csv([result]))


@cost.command()
@click.argument("name", default=PetabyteOptions.inputs)
def inputs(name: str) -> None:
    """Print a file of inputs, as a template for your own."""
    from gordon.cost import inputs as files

    click.echo(files.text(name), nl=False)


@cost.command()
@options.tables_out()
def grids(to: Tables) -> None:
    """List the carbon of electricity by country and by region of a cloud.

    Values are averages of a year. Countries have the emissions of fuels from their extraction on;
    regions of EC2 and Azure in the United States have direct emissions only.
    """
    from dataclasses import asdict

    from gordon import grids as table
    from gordon.cli import output
    from gordon.cli.terminal import Column
    from gordon.human import figures

    output.check(to=to)
    rows = list(table.grids().values())
    columns = [
        Column("id", [row.id for row in rows]),
        Column("name", [row.name for row in rows]),
        Column("g/kWh", [figures(row.grams_per_kwh) for row in rows], right=True),
        Column("year", [str(row.year) for row in rows], right=True),
        Column("source", [row.source for row in rows], wraps=True, spare=1, enough=30),
    ]
    output.table(columns, "grids", [asdict(row) for row in rows], to)


@cost.command()
@command.of(PriceOptions)
@options.tables_out()
def prices(to: Tables, year: int | None) -> None:
    """List prices of DRAM, flash, SSDs and disks by year.

    Prices are in US dollars of the year for a GB. A year that the table of a medium lacks has a
    price between those of the years around it.
    """
    from dataclasses import asdict

    from gordon.cli import output
    from gordon.cli.cost_view import show_prices
    from gordon.cost import prices as table

    output.check(to=to)
    found = table.of(year)
    media = [
        {
            "id": medium.id,
            "summary": medium.summary,
            "first_year": medium.first,
            "last_year": medium.last,
            "source": medium.source,
        }
        for medium in table.media().values()
    ]
    result = {"media": media, "prices": [asdict(price) for price in found]}
    output.finish(
        lambda console: show_prices(console, found),
        is_quiet=True,
        to=to,
        result=result,
        rows="prices",
    )
