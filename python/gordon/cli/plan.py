"""`gordon plan --node ID --link RATE`."""

from typing import Any

import click

from gordon.cli import options
from gordon.options import command, only_given
from gordon.options.costs import PlanOptions
from gordon.options.outputs import PlanTables, Tables


@click.command(cls=command.Command)
@command.of(PlanOptions)
@options.tables_out(PlanTables)
@click.pass_context
def plan(
    context: click.Context,
    /,
    to: Tables,
    **given: Any,
) -> None:
    """Plan jobs on slices of an array that load their data from a warehouse.

    The usage of section 6.3 of the Gordon paper: a job takes one slice or more, loads its data over
    their links, computes, and transfers its results back; jobs are served in the order of their
    arrival. The exit status is 1 if a job misses its deadline; printed are which jobs, by how much,
    and what would meet all deadlines.

    \b
    gordon plan --node MaxE --link 2Gb --data 10TB
    gordon plan --node MaxE --slices 4 --link 10Gb --data 8TB --overlap
    """
    from gordon.cli import output
    from gordon.cli.plan_view import show_plan
    from gordon.cost import plan as planned
    from gordon.survey.columns import rows_to_csv

    output.check(to=to, used=[given["jobs"]])
    result = planned(**only_given(given))
    output.finish_result(result, show_plan, to, rows=lambda: rows_to_csv(result["jobs"]))
    if result["late"]:
        context.exit(1)
