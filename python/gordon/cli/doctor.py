"""`gordon doctor`."""

import click

from gordon.cli import options
from gordon.options.outputs import Tables


@click.command()
@options.tables_out()
def doctor(to: Tables) -> None:
    """Show what this machine can measure and run, and what to install for more.

    Nothing is changed. Each line is a check by the code that would do the work: a trace of a tenth
    of a second, the meters, the engines.
    """
    from gordon.cli import output
    from gordon.cli.doctor_view import show
    from gordon.doctor import examine

    output.check(to=to)
    found = examine()
    output.finish(
        lambda console: show(console, found),
        is_quiet=True,
        to=to,
        result=found,
        rows="findings",
    )
