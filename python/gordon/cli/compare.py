"""`gordon compare TRACE DEVICE...`."""

from typing import Any

import click

from gordon.cli import options
from gordon.cli.trace_input import of_trace
from gordon.options import command, completion, only_given
from gordon.options.devices import Preconditioned
from gordon.options.loads import Host
from gordon.options.outputs import Tables


@click.command(cls=command.Command)
@click.argument("trace")
@click.argument(
    "devices",
    nargs=-1,
    required=True,
    metavar="DEVICE DEVICE...",
    shell_complete=completion.presets("flash", "disk"),
)
@command.of(Preconditioned)
@command.of(Host, without=["requests_out"])
@of_trace
@options.tables_out()
@options.report_out
def compare(
    trace: str,
    devices: tuple[str, ...],
    to: Tables,
    report: str | None,
    **given: Any,
) -> None:
    """Compare flash, disks and measured storage under one trace.

    A DEVICE is a preset of flash or of a disk, a TOML file, or a result of `gordon storage
    characterise --json`. Flash and disks are simulated. Measured storage knows single requests, so
    that its time is a range.

    \b
    gordon cache generate surge --files 100MB --requests 10k -o web.parquet
    gordon compare web.parquet nvme-tlc-1tb sata-7200-1tb --report devices.html
    """
    from gordon import compare as comparison
    from gordon.cli import compare_view, output
    from gordon.cli.progress import Part
    from gordon.cli.trace_input import reading

    output.check(to=to, report=report, used=[trace, *devices])
    with reading(trace, given, objects=False), Part("simulating") as progress:
        result = comparison.run(trace, devices, progress=progress.tick, **only_given(given))
    output.finish_result(result, compare_view.show, to, report)
