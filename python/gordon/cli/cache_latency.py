"""`gordon cache latency`."""

from typing import TYPE_CHECKING, Any

import click

from gordon.cli import options
from gordon.cli.cache_trace import of_trace
from gordon.cli.trace_input import reading
from gordon.options import command, only_given
from gordon.options.caches import SecondLevel
from gordon.options.outputs import Tables

if TYPE_CHECKING:
    from gordon.cache.results import ByLatency
    from gordon.cli.terminal import Output


@click.command(cls=command.Command)
@click.argument("trace")
@command.of(SecondLevel)
@of_trace
@options.tables_out()
def latency(trace: str, to: Tables, **given: Any) -> None:
    """Vary the access latency of a second cache level.

    Figure 3 of the FlashCache paper: the network bandwidth of web servers with a page cache in DRAM
    and a second level, a slower memory, that holds everything else. Each request of the trace is a
    request for a file, cached by pages, or whole with --objects.
    """
    from gordon import cache
    from gordon.cli import output
    from gordon.cli.progress import Progress

    output.check(to=to, used=[trace])
    reads = reading(trace, given, objects=True)
    with reads, Progress("replaying") as progress:
        result = cache.latency(trace, progress=progress.tick, **only_given(given))
    output.finish_result(result, _show, to)


def _show(console: "Output", report: "ByLatency") -> None:
    from gordon.cli.terminal import Column, ColumnsOf
    from gordon.human import binary, counted, figures

    points = report["points"]
    console.text(
        f"{counted(report['requests'], 'request')}, {binary(report['dram_bytes'])} of DRAM, which "
        f"has all of {1 - report['dram_misses']:.2%} of them; Mbit/s sent and received, modelled"
    )
    latencies = list(dict.fromkeys(point["latency_us"] for point in points))
    columns = [Column("latency", [f"{figures(us)} us" for us in latencies], right=True)]
    for cores in dict.fromkeys(point["cores"] for point in points):
        column = ColumnsOf([point for point in points if point["cores"] == cores])
        columns += [
            column.number(
                counted(cores, "core"), lambda point: f"{point['bandwidth_bit_s'] / 1e6:,.0f}"
            ),
            column.number("less", lambda point: f"{point['loss']:.2%}"),
        ]
    console.table(columns)
