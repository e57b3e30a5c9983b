"""`gordon demo`."""

import click

from gordon.bundled import FILES

#: The commands that a person would type first, with the log that comes with gordon.
(LOG,) = FILES
STEPS = (
    ("trace", "show", LOG),
    ("survey", LOG, "--space", "ec2", "--reference", "m5.large", "--nodes", "1..8"),
)


@click.command()
def demo() -> None:
    """Survey a Spark job that comes with gordon, in seconds.

    The event log is of a sort on two machines. The demo shows its stages, and on which machines of
    EC2, and on how many, it would run faster, cheaper or with less energy.
    """
    from gordon.cli import gordon

    for words in STEPS:
        click.echo(f"$ gordon {' '.join(words)}", err=True)
        gordon.main(list(words), prog_name="gordon", standalone_mode=False)
        click.echo(err=True)
    for line in (
        f"Your own job: an event log of Spark, `sadf -j` or Prometheus in place of {LOG}; or",
        "`gordon trace -o my.trace -- COMMAND`, then `gordon survey my.trace`.",
        "A page: gordon survey my.trace -o report.html",
    ):
        click.echo(line, err=True)
