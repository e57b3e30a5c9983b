"""`gordon workload list`."""

import click

from gordon.cli import options
from gordon.options.outputs import Tables


@click.command(name="list")
@options.tables_out()
def list_jobs(to: Tables) -> None:
    """List the jobs: those of the Gordon paper's Table 2, on Spark."""
    from dataclasses import asdict

    from gordon.cli import output
    from gordon.cli.terminal import Column
    from gordon.human import short
    from gordon.workload.jobs import JOBS

    output.check(to=to)
    found = list(JOBS.values())
    settings = [
        ", ".join(f"{name}={parameter.default}" for name, parameter in job.parameters.items())
        for job in found
    ]
    columns = [
        Column("job", [job.id for job in found]),
        Column("input", [job.data for job in found]),
        Column("paper", [short(job.paper_bytes, "B") for job in found], right=True),
        Column("summary", [job.summary for job in found], wraps=True),
        Column("parameters", settings, wraps=True),
    ]
    output.table(columns, "jobs", [asdict(job) for job in found], to)
