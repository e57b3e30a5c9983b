"""`gordon explain RESULT`."""

import click

from gordon.cli import options
from gordon.options import command
from gordon.options.outputs import Tables
from gordon.options.surveys import ExplainOptions


@click.command(cls=command.Command)
@click.argument("result", metavar="RESULT")
@command.of(ExplainOptions)
@options.tables_out()
def explain(result: str, to: Tables, design: str | None) -> None:
    """Show where the time, the energy and the money of a design go, and what to change first.

    RESULT is a file of `gordon survey --json`, or - for standard input. The time without a part is
    what a better part saves at most, all else equal. For a service, whose designs have no time, it
    shows the use of each resource, and with how much of the recorded load the resource keeps up.

    \b
    gordon survey sort.trace --space ec2 --json sort.json
    gordon explain sort.json --design m5.xlarge
    """
    from gordon.cli import output
    from gordon.cli.explain_view import show_explanation
    from gordon.survey import explain as explained

    output.check(to=to, used=[result] if result != "-" else [])
    found = explained.explain(explained.read(result), design)
    output.finish(
        lambda console: show_explanation(console, found),
        to=to,
        result=found,
        rows="time" if "time" in found else "uses",
    )
